"""`leadwire endpoints test`, on a real server; completion by the shell."""

import asyncio
import json
import subprocess

from leadwire.delivery.relay.loop import Relay
from leadwire.delivery.worker.loop import Deliverer
from tests.delivery.wired import endpoint
from tests.flows.commands import COMMAND, environment


async def test_a_sample_goes_to_the_endpoint_and_its_answer_is_shown(workspace, wire, receiver, command):
    wanted = await endpoint(workspace, receiver.url, "lead.created")
    stop = asyncio.Event()
    working = [
        asyncio.create_task(Relay(wire.redis, wire.settings).run(stop)),
        asyncio.create_task(Deliverer(wire.redis, wire.transport, wire.settings).run(stop)),
    ]
    try:
        done = await command("endpoints", "test", wanted.id, "--json")
    finally:
        stop.set()
        await asyncio.gather(*working)
    assert done.stdout, done.stderr
    sent = json.loads(done.stdout)
    assert (sent["attempt"]["outcome"], done.returncode) == ("delivered", 0)
    assert [(one.event, one.headers["x-service-test"]) for one in receiver.deliveries] == [("lead.created", "true")]


def test_commands_complete():
    asked = environment() | {"_LEADWIRE_COMPLETE": "bash_complete", "COMP_WORDS": "leadwire endpo", "COMP_CWORD": "1"}
    done = subprocess.run(COMMAND, env=asked, capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout == "plain,endpoints\n"
