"""An upgrade under load: from the wheel of the release before to the wheel of this checkout."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import httpx
import msgspec

from ops import package
from ops.chaos import load
from ops.drills import rolling_restart
from ops.drills.sandbox import Sandbox

RUNBOOK = "ops/deploy/README.md#upgrade-without-downtime"
ENDPOINTS = ("shop",)
SETTINGS: dict[str, str] = {}
LATE = 60.0  # seconds: where the versions name their streams differently, reconcile finds what the other one queued

# Run by the version before, in its checkout: its tables, filled by its code.
_PREPARE: Final = """
import asyncio, os, sys, msgspec
from leadwire.infrastructure import db
from leadwire.infrastructure.db.migrations import migrate
from ops.chaos import load
async def main():
    await db.open_pool(os.environ["LEADWIRE_DATABASE_URL"], 4)
    await migrate()
    made = await load.create_data(msgspec.json.decode(sys.argv[1]), int(sys.argv[2]))
    await db.close_pool()
    sys.stdout.buffer.write(msgspec.json.encode(made))
asyncio.run(main())
"""


class Version(NamedTuple):
    """A checkout, and the interpreter of an environment with nothing but its wheel and what that needs."""

    checkout: Path
    python: str

    def create_data(self, urls: dict[str, str], events: int) -> load.Workload:
        """Migrate the database to this version and create the rows to change."""
        command = [self.python, "-c", _PREPARE, msgspec.json.encode(urls).decode(), str(events)]
        made = subprocess.run(command, cwd=self.checkout, stdout=subprocess.PIPE, check=True)
        return msgspec.json.decode(made.stdout, type=load.Workload)


def begin(directory: Path) -> Version:
    """Install the last release. As long as there is none: the commit before the last migration."""
    tag = git("describe", "--tags", "--abbrev=0", "HEAD~", check=False)
    commit = (tag or git("log", "-1", "--format=%h~", "--", "migrations")).decode().strip()
    return install_commit(commit, directory)


def install_commit(commit: str, directory: Path) -> Version:
    """Install the wheel of a commit."""
    checkout = directory / "before"
    checkout.mkdir()
    subprocess.run(["tar", "-x", "-C", checkout], input=git("archive", commit), check=True)
    print(f"   from the wheel of {commit}", flush=True)
    return _install(checkout, directory / "wheel-before")


async def run(sandbox: Sandbox) -> None:
    """No event is lost, no request fails, and nobody is signed out. Secrets were sealed by the version before: the
    receiver refuses what is not signed by them.
    """
    made = await asyncio.to_thread(_install, package.ROOT, sandbox.directory / "wheel")
    person = {"email": "ada@example.com", "password": "four quiet grey horses"}
    address = f"http://127.0.0.1:{sandbox.ports[0]}"
    async with (
        httpx.AsyncClient(base_url=address, trust_env=False, timeout=30) as before,
        httpx.AsyncClient(base_url=address, trust_env=False, timeout=30) as after,
    ):
        _, told = await sandbox.command("users", "invite", "--workspace", sandbox.workload.workspace)
        (link,) = re.findall(r"/join/\S+", told)
        joined = await before.post(link, data=person)
        sandbox.claim("somebody has joined", joined.status_code == httpx.codes.SEE_OTHER)
        sandbox.python = made.python
        await rolling_restart.replace(sandbox, LATE)
        sandbox.claim("and is signed in still", (await before.get("/account")).is_success)
        await after.post("/sign-in", data=person)
        sandbox.claim("and elsewhere again", (await after.get("/account")).is_success)


def _install(checkout: Path, directory: Path) -> Version:
    directory.mkdir()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    wheel = package.build("leadwire", directory, checkout)
    programs = package.install([wheel], python, directory / "environment", "--package", "leadwire", root=checkout)
    return Version(checkout, str(programs / "python"))


def git(*arguments: str, check: bool = True) -> bytes:
    """What git says about this checkout."""
    done = subprocess.run(
        ["git", *arguments], cwd=package.ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=check
    )
    return done.stdout
