"""The wheels hold all that their programs read: what is not Python is easily left out, and missed only elsewhere."""

import json
import os
import re
import zipfile
from pathlib import Path

import leadwire
import leadwire_client
from ops import package, supply

ROOT = Path(__file__).parents[2]


def test_the_wheel_holds_every_file_of_the_product_and_nothing_else(tmp_path):
    wanted = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "leadwire").rglob("*") if path.is_file()}
    wanted |= {f"leadwire/{path.relative_to(ROOT)}" for path in (ROOT / "migrations").iterdir() if path.is_file()}
    client = [path for path in (ROOT / "src" / "leadwire_client").iterdir() if path.is_file()]
    typescript = ROOT / "src" / "leadwire_client_ts"
    client += [typescript / "package.json", typescript / "README.md", *(typescript / "lib").iterdir()]
    wanted |= {f"leadwire/clients/{path.relative_to(ROOT / 'src')}" for path in client}
    wanted = {name for name in wanted if "__pycache__" not in name} | {"leadwire/piccolo_conf.py"}
    held = set(zipfile.ZipFile(package.build("leadwire", tmp_path)).namelist())
    assert {name for name in held if ".dist-info/" not in name} == wanted
    assert {name.rpartition("/")[2] for name in held - wanted} == {
        "METADATA", "WHEEL", "RECORD", "entry_points.txt", "LICENSE",
    }  # fmt: skip
    assert {Path(name).suffix for name in wanted} >= {".py", ".toml", ".html", ".css", ".js", ".svg"}


def test_the_wheel_of_the_client_is_small_typed_and_needs_two_packages(tmp_path):
    wheel = package.build("leadwire-client", tmp_path)
    assert wheel.stat().st_size < 100_000
    archive = zipfile.ZipFile(wheel)
    held = {name for name in archive.namelist() if ".dist-info/" not in name}
    source = ROOT / "src" / "leadwire_client"
    assert held == {f"leadwire_client/{path.name}" for path in [*source.glob("*.py"), source / "py.typed"]}
    metadata = archive.read(f"leadwire_client-{leadwire_client.__version__}.dist-info/METADATA").decode().splitlines()
    needs = [line.partition(": ")[2] for line in metadata if line.startswith("Requires-Dist")]
    assert [re.split("[<>]", need)[0] for need in needs if "extra ==" not in need] == ["httpx", "msgspec"]
    assert [re.split("[<>]", need)[0] for need in needs if "extra == 'ed25519'" in need] == ["cryptography"]
    assert "License-Expression: Apache-2.0" in metadata


def test_the_wheel_for_development_holds_its_folder_and_needs_this_version(tmp_path):
    archive = zipfile.ZipFile(package.build("leadwire-development", tmp_path))
    held = {name for name in archive.namelist() if ".dist-info/" not in name}
    source = ROOT / "src" / "leadwire_development"
    wanted = [*source.rglob("*.py"), *source.glob("*/*.toml"), *source.glob("demo/site/*"), *source.rglob("*.html")]
    assert held == {str(path.relative_to(ROOT / "src")) for path in wanted}
    name = f"leadwire_development-{leadwire.__version__}.dist-info"
    assert f"Requires-Dist: leadwire=={leadwire.__version__}\n" in archive.read(f"{name}/METADATA").decode()


def test_licenses_that_bind_are_noticed():
    for name in ("MIT", "Apache-2.0 OR BSD-3-Clause", "BSD License", "Mozilla Public License 2.0 (MPL 2.0)"):
        assert supply.PERMISSIVE.search(name)
    for name in (
        "GNU General Public License v3 (GPLv3)",
        "AGPL-3.0-only",
        "LGPL-2.1",
        "SSPL-1.0",
        "unknown",
        "BUSL-1.1",
    ):
        assert not supply.PERMISSIVE.search(name)


def test_the_license_of_a_package_is_what_it_says_of_itself():
    assert "MIT" in supply.license_of("litestar")
    assert "Apache License" in supply.license_of("pyreqwest")  # which says it in its license only
    assert supply.license_of("no-such-package") == ""


def test_without_the_advisories_supply_says_what_it_did_not_check(tmp_path, monkeypatch, capsys):
    """Offline, with nothing cached, pip-audit cannot even be had. Licenses are still judged."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    for name in ("UV_CACHE_DIR", "UV_TOOL_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    assert supply.main(tmp_path / "dist") == 0
    *_, verdict, count, unchecked = capsys.readouterr().out.splitlines()
    assert verdict == "no advisory in what was checked, no license that binds"
    assert {"sbom.cdx.json", "client-sbom.cdx.json"} <= {path.name for path in (tmp_path / "dist").iterdir()}
    total = len((tmp_path / "dist" / "licenses.csv").read_text().splitlines()) - 1
    assert count == f"advisories checked for 0 of {total} packages"
    assert unchecked.startswith("not checked (pip-audit could not run: ")
    assert "litestar" in unchecked
    assert supply.main(tmp_path / "dist", strict=True) == 1


def test_an_advisory_is_a_fault_and_what_was_skipped_is_named(tmp_path, monkeypatch, capsys):
    """With an answer of pip-audit as it is written where the advisories can be reached."""
    told = [
        {"name": "litestar", "version": "2", "vulns": [{"id": "GHSA-of-nothing", "fix_versions": []}]},
        {"name": "h11", "version": "1", "vulns": []},
        {"name": "httpx", "skip_reason": "no answer"},
    ]
    tool = tmp_path / "uvx"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps({'dependencies': told})}\nEND\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert supply.main(tmp_path / "dist") == 1
    *_, fault, count, unchecked = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"litestar [\d.]+: GHSA-of-nothing", fault)
    assert count.startswith("advisories checked for 2 of ")
    assert unchecked.startswith("not checked (no answer): ")
    names = unchecked.partition("): ")[2].split(", ")
    assert ("httpx" in names, "h11" in names, "litestar" in names) == (True, False, False)
    assert " ; " not in (tmp_path / "dist" / "requirements.txt").read_text()  # releases for other platforms as well
