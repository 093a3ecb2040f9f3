"""Programs of Node.js for tests: installed and built once, in a cache that is named by what they are made of."""

import asyncio
import fcntl
import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

INSTALL = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")


async def folder(files: Mapping[str, bytes], *steps: Sequence[str]) -> Path:
    """A folder with these files in which `npm ci`, then the steps, have been run. Skips the test without npm."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("needs Node.js and npm: apt-get install nodejs npm")
    digest = hashlib.sha256(repr((sorted(files.items()), steps)).encode()).hexdigest()[:16]
    place = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leadwire-tests" / digest
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
        if not (place / "done").exists():
            for name, content in files.items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(content)
            code, said = await run(place, *INSTALL)
            if code:
                pytest.skip(f"npm cannot install: {said[-300:]}")
            for step in steps:
                code, said = await run(place, *step)
                assert code == 0, said
            (place / "done").touch()
    return place


async def run(place: Path, *command: str, **settings: str) -> tuple[int, str]:
    """Run a command there. Return its exit code, and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=place, env=os.environ | settings, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode or 0, said.decode()
