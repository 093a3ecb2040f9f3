"""A release: wheels and sdists, the TypeScript package, bills of materials, checksums and where it came from.

    uv run --group test python -m ops.release v0.2.0            # the tag of this commit; into dist/
    uv run --group test python -m ops.release v0.2.0 --no-tag   # to try it, from HEAD

The version is the tag's. Everything is built from what git has under it, in a directory of its own, and then installed
into empty environments. Needs uv, git, Node.js and npm. `provenance.json` is an in-toto statement (SLSA provenance v1);
it is not signed: sign `SHA256SUMS` with a key of yours.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ops import package, supply

_TAG: Final = re.compile(r"v(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)")
_VERSION: Final = (  # where a version is written down
    ("pyproject.toml", 'version = "{}"'),
    ("src/leadwire/__init__.py", '__version__ = "{}"'),
    ("src/leadwire_client/pyproject.toml", 'version = "{}"'),
    ("src/leadwire_client/client.py", '__version__: Final = "{}"'),
    ("src/leadwire_client_ts/package.json", '"version": "{}"'),
    ("src/leadwire_development/pyproject.toml", 'version = "{}"'),
    ("src/leadwire_development/pyproject.toml", '"leadwire=={}"'),
)
_CHANGELOG: Final = "src/leadwire/docs/changelog.md"
_TYPESCRIPT: Final = """if True:
    import asyncio, httpx, pathlib
    from leadwire.app import create_app
    from leadwire.interfaces.docs import clients

    async def served():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(create_app()), base_url="http://build") as client:
            return (await client.get(clients.PREFIX + clients.TARBALL)).content

    pathlib.Path(clients.TARBALL).write_bytes(asyncio.run(served()))"""


def run(*command: str | Path, cwd: Path = package.ROOT, **settings: str) -> bytes:
    """Return what a command prints. Raise CalledProcessError."""
    return subprocess.run(command, check=True, cwd=cwd, env=os.environ | settings, stdout=subprocess.PIPE).stdout


def checkout(commit: str, version: str, directory: Path) -> Path:
    """Lay out what git has under a commit, with the version. Raise SystemExit where the changelog does not know it."""
    archive = directory / "source.tar"
    archive.write_bytes(run("git", "archive", commit))
    source = directory / "source"
    with tarfile.open(archive) as files:
        files.extractall(source, filter="data")
    for name, form in _VERSION:
        text = (source / name).read_text()
        pattern = re.escape(form).replace(r"\{\}", r"[^\"]+")
        (source / name).write_text(re.sub(pattern, form.format(version), text, count=1))
    if f"\n## {version}\n" not in (source / _CHANGELOG).read_text():
        raise SystemExit(f"{_CHANGELOG} has no chapter {version}")
    return source


def build(source: Path, directory: Path) -> None:
    """Make the wheels, the sdists and the TypeScript package."""
    run("uv", "build", "--all-packages", "--quiet", "--out-dir", directory, source)
    (directory / ".gitignore").unlink(missing_ok=True)
    run(sys.executable, "-c", _TYPESCRIPT, cwd=directory, PYTHONPATH=str(source / "src"))


def provenance(tag: str, commit: str, began: datetime, files: dict[str, str]) -> dict[str, Any]:
    """Where these files (name -> SHA-256) came from, as https://slsa.dev/spec/v1.0/provenance has it."""
    lock = hashlib.sha256((package.ROOT / "uv.lock").read_bytes()).hexdigest()
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in files.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:leadwire:ops.release",
                "externalParameters": {"tag": tag},
                "resolvedDependencies": [
                    {"uri": "git+.", "digest": {"gitCommit": commit}},
                    {"uri": "uv.lock", "digest": {"sha256": lock}},
                ],
            },
            "runDetails": {
                "builder": {"id": "urn:leadwire:ops.release", "version": {"python": sys.version.split()[0]}},
                "metadata": {"startedOn": began.isoformat(), "finishedOn": datetime.now(UTC).isoformat()},
            },
        },
    }


def digests(directory: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(directory.iterdir())}


def main(tag: str, directory: Path, *, tagged: bool) -> int:
    if not (match := _TAG.fullmatch(tag)):
        raise SystemExit(f"{tag} is no tag of a release: v1.2.3, or v1.2.3rc1")
    began = datetime.now(UTC)
    commit = run("git", "rev-parse", f"{tag}^{{commit}}" if tagged else "HEAD").decode().strip()
    directory.mkdir(parents=True)  # a release is never mixed with another
    with tempfile.TemporaryDirectory(prefix="leadwire-release-") as work:
        build(checkout(commit, match[1], Path(work)), directory)
    supply.bills(directory)
    files = digests(directory)
    (directory / "provenance.json").write_text(json.dumps(provenance(tag, commit, began, files), indent=2) + "\n")
    lines = [f"{digest}  {name}\n" for name, digest in digests(directory).items()]
    (directory / "SHA256SUMS").write_text("".join(lines))
    print("".join(lines), end="", flush=True)
    return package.try_out(directory, package.PYTHONS[:1])


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m ops.release")
    options.add_argument("tag")
    options.add_argument("--no-tag", action="store_true", help="from HEAD, whatever its tag is")
    options.add_argument("--out", type=Path, default=package.ROOT / "dist")
    given = options.parse_args()
    sys.exit(main(given.tag, given.out.absolute(), tagged=not given.no_tag))
