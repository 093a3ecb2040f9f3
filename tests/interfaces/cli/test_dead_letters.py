"""`leadwire dead-letters show` and `redrive`, of one event."""

import asyncio
import json

from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import ids
from tests import make
from tests.delivery.wired import endpoint
from tests.flows.commands import run
from tests.interfaces.cli.test_endpoints import access


async def test_one_event_is_shown_with_its_numbers_and_sent_again(servers, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(numbered=True))
    receiver.answer = 410
    for _ in range(2):
        await make.lead(workspace, bot, email=f"{ids.new('x')}@example.com")
    await wire.turn()
    await changes.enable(workspace, made.id)
    receiver.answer = 204
    event = next(one.webhook_id for one in receiver.deliveries if one.headers["x-service-sequence"] == "2")

    async def dead_letters(*words: str):
        return await asyncio.to_thread(run, "dead-letters", *words, **access(servers))

    done = await dead_letters("show", event, "--json")
    assert [(one["sequence"], one["state"]) for one in json.loads(done.stdout)] == [(2, "dead")]
    assert f"number 2: lead.created to {made.id}" in (await dead_letters("show", event, "--endpoint", made.id)).stdout
    assert (await dead_letters("redrive", event)).stdout == "1 dead letter sent again.\n"
    await wire.turn()
    assert [one.webhook_id for one in receiver.deliveries].count(event) == 2
    done = await dead_letters("show", ids.new("evt"))
    assert done.returncode == 1
    assert "There is no delivery" in done.stderr
    assert (await dead_letters("redrive")).returncode == 2
