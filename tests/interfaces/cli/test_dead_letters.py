"""Deliveries by their numbers on the command line: a receiver that misses some finds them, and has these sent again."""

import asyncio
import json

from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import ids
from tests import make
from tests.delivery.wired import endpoint
from tests.flows.commands import run
from tests.interfaces.cli.test_endpoints import access


async def test_missing_numbers_are_shown_and_sent_again(servers, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(numbered=True))
    for _ in range(3):
        await make.lead(workspace, bot, email=f"{ids.new('x')}@example.com")
    await wire.turn()

    async def dead_letters(*words: str):
        return await asyncio.to_thread(run, "dead-letters", *words, **access(servers))

    these = ("--endpoint", made.id, "--sequence", "2-3")
    done = await dead_letters("show", *these, "--json")
    assert [(one["sequence"], one["state"]) for one in json.loads(done.stdout)] == [(2, "delivered"), (3, "delivered")]
    assert "number 2: lead.created to" in (await dead_letters("show", *these)).stdout
    done = await asyncio.to_thread(run, "redrives", "start", *these, **access(servers))
    assert f"  2 of 2  replay to {made.id} numbers 2-3  " in done.stdout
    await wire.turn()
    assert sorted(one.headers["x-service-sequence"] for one in receiver.deliveries) == ["1", "2", "2", "3", "3"]
    done = await dead_letters("show", "--endpoint", made.id, "--sequence", "9")
    assert done.returncode == 1
    assert "has such a number" in done.stderr
    for wrong in (("--sequence", "2"), ("--endpoint", made.id), ("evt_1", *these), (*these[:-1], "x")):
        assert (await dead_letters("show", *wrong)).returncode == 2
