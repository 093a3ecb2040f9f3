"""PostgreSQL has no space for another page: that is said, nothing is lost, and all goes on when there is some again."""

import asyncio
import contextlib
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from leadwire_development.embedded.directories import private
from tests.flows.commands import run
from tests.flows.outages import pids
from tests.waiting import eventually

pytestmark = pytest.mark.flow


@pytest.fixture(scope="module")
def disk() -> Iterator[Path]:
    """A file system of 100 MB."""
    directory = Path(tempfile.mkdtemp(prefix="leadwire-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=100m", "tmpfs", directory], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        directory.rmdir()
        pytest.skip(f"a file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield private(directory)
    finally:
        subprocess.run(["umount", "--lazy", directory], check=True)
        shutil.rmtree(directory)


@pytest.fixture(scope="module")
async def tablespace(servers, disk) -> AsyncIterator[str]:
    """The tables of this module's database are on it; the log of writes is not."""
    admin = await asyncpg.connect(servers.database_url)
    await admin.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
    yield "small"
    await admin.execute("DROP DATABASE IF EXISTS disk WITH (FORCE)")
    await admin.execute("DROP TABLESPACE small")
    await admin.close()


@contextlib.contextmanager
def filled(disk: Path) -> Iterator[None]:
    """No byte of it is free inside the block."""
    rest = disk / "rest"
    try:
        with rest.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
        assert shutil.disk_usage(disk).free == 0
        yield
    finally:
        rest.unlink()


async def until_refused(api, path):
    """Change a lead until that is refused. Return its last `field 0`, how often it was changed, and the refusal."""
    stored = None
    for number in range(2000):
        fields = {f"field {n}": secrets.token_hex(400) for n in range(15)}  # which cannot be compressed
        answer = await api.patch(path, json={"custom_fields": fields})
        if answer.status_code != 200:
            return stored, number, answer
        stored = fields["field 0"]
    raise AssertionError("the disk is never full")


async def test_what_cannot_be_written_is_refused_or_kept_until_it_can(outage, api, disk):
    before, deployment = pids(outage), outage.deployment
    lead = await deployment.lead()
    await deployment.write(10)
    await deployment.all_delivered(10)
    deployment.receiver.echo = True  # what it answers is written down with each attempt
    deployment.receiver.hang()
    await deployment.write(100)
    await deployment.receiver.received(10 + 8)  # so many at once at least: the others wait for their turn
    with filled(disk):
        stored, changes, refused = await until_refused(api, lead)
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert refused.headers["retry-after"] == "5"
        assert "disk" in refused.json()["detail"]
        # Still ready: what is stored can be read.
        assert await outage.says(outage.serve, 200, "writes", "DiskFullError")
        await eventually(lambda: "DiskFullError: could not extend file" in outage.serve.err)
        assert (await api.get(lead)).json()["data"]["custom_fields"].get("field 0") == stored
        deployment.receiver.release()
        await eventually(lambda: outage.says(outage.worker, 503, "writes", "DiskFullError"))
        assert (await outage.get(outage.worker, "/health/live"))[0] == 200
        await eventually(lambda: "DiskFullError: could not extend file" in outage.worker.err)
        commands = ("doctor", "status", "ledger")
        told = await asyncio.gather(*(asyncio.to_thread(run, command, **deployment.settings) for command in commands))
        assert not [one for one in told if "Traceback" in one.stderr]
        assert "the database refuses: could not" in told[0].stdout, told[0].stdout
        for _ in range(3):
            assert (await api.patch(lead, json={"custom_fields": {"field 0": "y"}})).status_code in (200, 503)
    assert (await api.patch(lead, json={"custom_fields": None, "score": 77})).status_code == 200
    events = await deployment.sql.fetchval("SELECT count(*) FROM event WHERE kind = 'lead.updated'")
    assert events >= changes + 1
    await deployment.all_delivered(110 + events)
    assert len(deployment.receiver.deliveries) == 110 + events, "nothing was sent twice"
    for process in outage.all:
        await eventually(lambda process=process: _healthy(outage, process))
    assert pids(outage) == before


async def _healthy(outage, process) -> bool:
    return (await outage.get(process, "/health/ready"))[1]["status"] == "ok"
