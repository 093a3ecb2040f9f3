"""10,000 leads are copied by the programs of the documents while they change and the service is killed and replaced."""

import asyncio
import contextlib
import json
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import Origin
from leadwire.domain.leads.schema import LeadPatch
from leadwire.infrastructure import db
from leadwire_client import AsyncLeadwire
from ops.bench.api import data
from ops.drills.integrator import Integrator, Program
from ops.drills.proxy import Proxy
from ops.drills.sandbox import Sandbox

RUNBOOK = "src/leadwire/docs/sync.md"
ENDPOINTS: tuple[str, ...] = ()
SETTINGS: dict[str, str] = {}
_LEADS: Final = 10_000
_WITHIN: Final = 15 * 60.0  # seconds, from an address and a key to an exact copy

# What somebody adds to the programs of the page: a call of what it defines, or that the map is written to a file.
_PYTHON: Final = """
import os

with Leadwire(os.environ["KEY"], os.environ["URL"]) as lw:
    if not database.execute("SELECT 1 FROM caught_up").fetchone():
        copy(lw)
    follow(lw)
"""
_TYPESCRIPT: Final = """
import { renameSync, writeFileSync } from "node:fs";

setInterval(() => {
  const rows = [...leads.values()].flatMap((lead) => (lead ? [[lead.id, lead.email, lead.name, lead.score]] : []));
  writeFileSync("copy.part", JSON.stringify(rows));
  renameSync("copy.part", "copy.json");
}, 1000);
"""
Copy = Mapping[str, tuple[Any, ...]]


async def run(sandbox: Sandbox) -> None:
    """Both copies are exact: none is missing, none differs, and none is there that was deleted."""
    workspace = sandbox.workload.workspace
    await data.fill_workspace(workspace, _LEADS, messages=1)
    sandbox.say(f"{await db.value('SELECT count(*) FROM lead WHERE workspace_id = $1', workspace)} leads are there")
    began, enough = time.monotonic(), asyncio.Event()
    async with Proxy(sandbox.ports) as proxy:
        own = Integrator(sandbox, proxy.url)
        changing = asyncio.create_task(_change(sandbox.workload.workspace, sandbox.workload.key, proxy.url, enough))
        try:
            await own.install()
            python, typescript = await own.program("sync", "python"), await own.program("sync", "ts")
            await own.typed({"copy_leads.py": python + _PYTHON, "copy_leads.mts": _TYPESCRIPT + typescript})
            programs = [
                await own.start("python", "python", "copy_leads.py"),
                await own.start("typescript", "node", "copy_leads.mjs"),
            ]
            await _restart(sandbox)
            enough.set()
            sandbox.say(f"there were {await changing} changes")
            await _compare(sandbox, own.folder, programs)
            spent = time.monotonic() - began
            sandbox.claim(f"from an address to both copies in {spent:.0f} s, within {_WITHIN:g}", spent <= _WITHIN)
        finally:
            changing.cancel()
            await own.close()


async def _change(workspace: str, key: str, url: str, enough: asyncio.Event) -> Mapping[str, int]:
    """Update, delete and capture leads, one after the other. Return how many of each."""
    rows = await db.rows("SELECT id FROM lead WHERE workspace_id = $1 ORDER BY id", workspace)
    bot = await db.value("SELECT min(id) FROM bot WHERE workspace_id = $1", workspace)
    leads, seeded, done = [row["id"] for row in rows], random.Random(7), Counter[str]()
    async with AsyncLeadwire(key, url) as lw:
        while not enough.is_set():
            what = seeded.choice(["update", "update", "delete", "capture"])
            if what == "capture":
                talk = await conversations.start(workspace, bot, Origin())
                email = f"new{done[what]}@example.com"
                leads.append((await conversations.capture_lead(workspace, talk, LeadPatch(email=email))).id)
            elif what == "update":
                await lw.leads.update(seeded.choice(leads), score=seeded.randrange(100), name=f"N {done[what]}")
            else:
                await lw.leads.delete(leads.pop(seeded.randrange(len(leads))))
            done[what] += 1
            await asyncio.sleep(0.02)
    return done


async def _restart(sandbox: Sandbox) -> None:
    """Kill the processes of the API while the copies begin and follow, and replace them one after the other."""
    for pause in (0.5, 3.0, 8.0):
        await asyncio.sleep(pause)
        await asyncio.gather(*(process.kill(1.0) for process in sandbox.serves))
        sandbox.say("every process of the API was killed, and is started again")
    for process in sandbox.processes:
        await sandbox.restarted(process)
    sandbox.say("every process is replaced")
    await asyncio.sleep(5)


async def _compare(sandbox: Sandbox, folder: Path, programs: Sequence[Program]) -> None:
    """Check that each copy becomes exact, and that its program lives."""
    rows = await db.rows("SELECT id, email, name, score FROM lead WHERE workspace_id = $1", sandbox.workload.workspace)
    ours = {row["id"]: tuple(row)[1:] for row in rows}
    for program, read in zip(programs, (_of_python, _of_typescript), strict=True):
        copy: Copy = {}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(120):
                while (copy := read(folder)) != ours:
                    await asyncio.sleep(0.5)
        missing, more = len(ours.keys() - copy.keys()), len(copy.keys() - ours.keys())
        differ = sum(copy[one] != ours[one] for one in ours.keys() & copy.keys())
        found = f"{program.name}: of {len(ours)} leads {missing} missing, {differ} different, {more} that are deleted"
        sandbox.claim(found, program.lives and copy == ours)


def _of_python(folder: Path) -> Copy:
    with contextlib.closing(sqlite3.connect(folder / "leads.db")) as database:
        return {
            row[0]: row[1:] for row in database.execute("SELECT id, email, name, score FROM lead WHERE NOT deleted")
        }


def _of_typescript(folder: Path) -> Copy:
    file = folder / "copy.json"
    return {row[0]: tuple(row[1:]) for row in json.loads(file.read_text())} if file.exists() else {}
