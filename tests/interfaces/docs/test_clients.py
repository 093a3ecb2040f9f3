"""The client that is served is installed where nothing of this checkout is, and works."""

import asyncio
import csv
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from base64 import urlsafe_b64encode
from email import message_from_bytes

import msgspec

import leadwire_client
from leadwire.infrastructure import settings
from leadwire.interfaces.docs import build, clients
from ops import package
from tests.client.conftest import base_url  # noqa: F401 - a fixture

ADDRESS = clients.PREFIX + clients.WHEEL


async def test_the_wheel_is_what_would_be_built(anonymous, tmp_path):
    """The same files, and the same words about them, as the client's own build has."""
    served = zipfile.ZipFile(io.BytesIO((await anonymous.get(ADDRESS)).content))
    built = zipfile.ZipFile(package.build("leadwire-client", tmp_path))
    assert sorted(served.namelist()) == sorted(built.namelist())
    for name in served.namelist():
        if name.rpartition("/")[2] not in ("METADATA", "WHEEL", "RECORD"):
            assert served.read(name) == built.read(name), name
    info = f"leadwire_client-{leadwire_client.__version__}.dist-info"
    ours, theirs = (message_from_bytes(one.read(f"{info}/METADATA")) for one in (served, built))
    assert ours.get_payload() == theirs.get_payload()
    names = ("Name", "Version", "Summary", "License-Expression", "Requires-Python", "Description-Content-Type")
    assert [ours[name] for name in names] == [theirs[name] for name in names]
    assert len(ours.get_all("Requires-Dist")) == len(theirs.get_all("Requires-Dist")) == 3
    assert ours.get_all("Provides-Extra") == theirs.get_all("Provides-Extra") == ["ed25519"]
    for name, digest, _ in csv.reader(served.read(f"{info}/RECORD").decode().splitlines()):
        found = urlsafe_b64encode(hashlib.sha256(served.read(name)).digest()).rstrip(b"=").decode()
        assert digest == (f"sha256={found}" if not name.endswith("RECORD") else "")
    assert leadwire_client.__version__ in clients.WHEEL


async def test_no_other_file_is_served(anonymous):
    for name in ("nothing", "leadwire_client-9.9.9-py3-none-any.whl", "..%2fpyproject.toml", "pyproject.toml"):
        assert (await anonymous.get(clients.PREFIX + name)).status_code == 404
    assert (await anonymous.head(ADDRESS)).headers["cache-control"] == "no-cache"


async def test_it_is_installed_from_the_service_and_called(base_url, api_key, tmp_path):  # noqa: F811
    """Its dependencies come from this environment, so that no registry is asked."""

    async def run(*command, **more):
        process = await asyncio.create_subprocess_exec(
            *command, env=os.environ | more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        said, _ = await process.communicate()
        assert process.returncode == 0, said.decode()
        return said.decode()

    target = tmp_path / "there"
    pip = ("uv", "pip", "install", "--no-config", "--no-deps", "--no-cache", "--target", str(target))
    await run(*pip, base_url + ADDRESS)
    program = """if True:
        import os, leadwire_client
        with leadwire_client.Leadwire(os.environ["KEY"], os.environ["URL"]) as lw:
            print(leadwire_client.__file__, lw.me.get().workspace.id)"""
    said = await run(sys.executable, "-c", program, PYTHONPATH=str(target), KEY=api_key, URL=base_url)
    assert said.startswith(f"{target}/leadwire_client/")


async def test_the_pages_print_the_line_that_installs_it(anonymous, monkeypatch):
    """With the address of the site where it is set, whatever host is asked; else with that of the page's first step."""
    document = (await anonymous.get("/schema")).json()
    known = msgspec.structs.replace(settings.get(), public_url="https://leads.example.com")
    for shown in ("$URL", "https://leads.example.com"):
        pages = {name: content for name, (content, _) in build(document).items()}
        for name in ("clients", "start"):
            assert f"pip install &quot;{shown}{ADDRESS}&quot;" in pages[name].decode()
        first = "http://localhost:8000" if shown == "$URL" else shown
        for name in ("start", "start.md"):
            assert f"export URL={first}\n" in pages[name].decode()
        assert f"npm install &quot;{shown}{clients.PREFIX}{clients.TARBALL}&quot;" in pages["clients"].decode()
        monkeypatch.setattr(settings, "get", lambda: known)
