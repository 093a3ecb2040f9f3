"""Followers in both languages outlive the service: it is killed, stopped and started again, and no event is missing."""

import signal
import sys

import pytest

from leadwire.infrastructure import db
from tests import make
from tests.flows.commands import COMMAND, free_port, settings_on
from tests.flows.test_sync import Running
from tests.typescript.test_client import installed
from tests.waiting import eventually

pytestmark = pytest.mark.flow

PROGRAMS = {
    "python": """
import os, sys
from leadwire_client import Leadwire, Retry
print("copied", flush=True)
with Leadwire(os.environ["KEY"], os.environ["URL"], retry=Retry(first_wait=0.01, longest_wait=0.05)) as lw:
    for event in lw.events.list(follow=True):
        print(event.id, flush=True)
""",
    "typescript": """
import { Leadwire } from "@leadwire/client";
const { KEY, URL: BASE } = process.env;
const onRetry = () => console.error("asking again");
console.log("copied");
const lw = new Leadwire(KEY, BASE, { retry: { firstWait: 10, longestWait: 50 }, onRetry });
for await (const event of lw.events.list({ follow: true })) console.log(event.id);
""",
}


@pytest.mark.parametrize("language", PROGRAMS)
async def test_a_follower_outlives_the_service(language, servers, anonymous, workspace, bot, api_key, tmp_path):
    if language == "typescript":
        await installed(anonymous, tmp_path)
    file = tmp_path / ("program.py" if language == "python" else "program.mjs")
    file.write_text(PROGRAMS[language])
    port = free_port()
    told = [f"KEY={api_key}", f"URL=http://127.0.0.1:{port}"]
    program = ["env", *told, sys.executable if language == "python" else "node", str(file)]
    running = Running({
        "serve": ([*COMMAND, "serve", "--port", str(port)], settings_on(servers), "process.started"),
        "program": (program, {}, "copied"),
    })  # fmt: skip

    async def followed():
        rows = [row["id"] for row in await db.rows("SELECT id FROM event WHERE workspace_id = $1", workspace)]
        return sorted(rows) == sorted(running["program"].out.split()[1:])

    try:
        await running.start("serve")
        await running.start("program")
        for number, ending in enumerate((signal.SIGKILL, signal.SIGTERM)):
            await make.lead(workspace, bot, email=f"before{number}@example.com")
            assert await eventually(followed)
            running["serve"].signal(ending)
            await make.lead(workspace, bot, email=f"away{number}@example.com")
            said = running["program"].err.count("asking again")
            await eventually(lambda said=said: running["program"].err.count("asking again") > said + 10)
            await running.start("serve")
            assert await eventually(followed)
        assert running["program"].running()
    finally:
        running.close()
