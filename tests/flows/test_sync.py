"""Copies kept by each client are exact after a run in which every process is killed: ours, and the program itself."""

import contextlib
import random
import signal
import sys
from pathlib import Path

import httpx
import pytest

from leadwire.infrastructure import db
from leadwire_client import AsyncLeadwire
from tests import make
from tests.delivery.wired import endpoint
from tests.flows.commands import COMMAND, Started, free_port, settings_on
from tests.interfaces.docs.test_samples import programs
from tests.typescript.test_client import installed
from tests.waiting import eventually

pytestmark = pytest.mark.flow

HERE = Path(__file__).parent
CHANGES = 90


async def command_of(language, anonymous, directory):
    """The command line of the program in a language. Skips the test without Node.js."""
    if language == "python":
        file = directory / "program.py"
        code = [f"import os\nos.chdir({str(directory)!r})", *programs("sync"), (HERE / "sync_program.py").read_text()]
        file.write_text("\n".join(code))
        return [sys.executable, str(file)]
    await installed(anonymous, directory)
    file = directory / "program.mjs"
    file.write_text((HERE / "sync_program.mjs").read_text())
    return ["node", str(file)]


class Running:
    """Processes by name, each of which can be killed and started again."""

    def __init__(self, commands):
        self._commands, self._started = commands, {}

    def __getitem__(self, name):
        return self._started[name]

    async def start(self, name):
        words, settings, told = self._commands[name]
        kind = type("Ours", (Started,), {"command": words[:1]})
        process = self._started[name] = kind(*words[1:], **settings)
        await eventually(lambda: told in process.out + process.err or not process.running())
        assert process.running(), process.err

    async def kill(self, name):
        self._started.pop(name).signal(signal.SIGKILL)
        await self.start(name)

    def close(self):
        for process in self._started.values():
            process.close()


@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_a_copy_is_exact_after_every_process_was_killed(
    language, servers, anonymous, workspace, bot, api_key, tmp_path
):
    program = await command_of(language, anonymous, tmp_path)
    api, port = free_port(), free_port()
    url = f"http://127.0.0.1:{api}"
    made = await endpoint(workspace, f"http://127.0.0.1:{port}/", "lead.created", "lead.updated", "lead.deleted")
    told = {"KEY": api_key, "URL": url, "SECRET": made.secret, "PORT": str(port)}
    ours = settings_on(servers, RETRY_SCHEDULE="1,3,10,30", LEASE="6", DELIVERY_TIMEOUT="5", RECONCILE_AFTER="5")
    running = Running({
        "serve": ([*COMMAND, "serve", "--port", str(api)], ours, "process.started"),
        "relay": ([*COMMAND, "relay"], ours, "process.started"),
        "deliver": ([*COMMAND, "deliver"], ours, "process.started"),
        "program": (["env", *(f"{name}={value}" for name, value in told.items()), *program], {}, "copied"),
    })  # fmt: skip
    leads = [(await make.lead(workspace, bot, email=f"{number}@example.com")).id for number in range(20)]
    try:
        for name in ("serve", "relay", "deliver", "program"):
            await running.start(name)
        async with AsyncLeadwire(api_key, url) as lw, httpx.AsyncClient(trust_env=False, timeout=240) as http:
            seeded = random.Random(7)
            for number in range(CHANGES):
                what = seeded.choice(["capture", "update", "update", "delete"])
                if what == "capture":
                    leads.append((await make.lead(workspace, bot, email=f"new{number}@example.com")).id)
                elif what == "update":
                    await lw.leads.update(seeded.choice(leads), score=seeded.randrange(100))
                else:
                    await lw.leads.delete(leads.pop(seeded.randrange(len(leads))))
                if number % 15 == 14:
                    await running.kill(["deliver", "program", "relay", "serve"][number // 15 % 4])

            async def exact():
                with contextlib.suppress(httpx.TransportError):
                    await http.get(f"http://127.0.0.1:{port}/catch-up")
                    copied = (await http.get(f"http://127.0.0.1:{port}/copy")).json()
                    rows = await db.rows("SELECT id, email, score FROM lead WHERE workspace_id = $1", workspace)
                    return copied == {row["id"]: [row["email"], row["score"]] for row in rows}

            assert await eventually(exact)
            assert len(leads) > 10
    finally:
        running.close()
