"""Deliveries on the command line: those with some numbers are sent again, and one is shown."""

import asyncio

from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import ids
from tests import make
from tests.delivery.wired import endpoint
from tests.flows.commands import run
from tests.interfaces.cli.test_endpoints import access


async def test_missing_numbers_are_sent_again(servers, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(numbered=True))
    for _ in range(3):
        await make.lead(workspace, bot, email=f"{ids.new('x')}@example.com")
    await wire.turn()

    done = await asyncio.to_thread(
        run, "redrives", "start", "--endpoint", made.id, "--sequence", "2-3", **access(servers)
    )
    assert f"  2 of 2  replay to {made.id} numbers 2-3  " in done.stdout
    await wire.turn()
    assert sorted(one.headers["x-service-sequence"] for one in receiver.deliveries) == ["1", "2", "2", "3", "3"]
    shown = await asyncio.to_thread(
        run, "dead-letters", "show", receiver.deliveries[0].headers["webhook-id"], **access(servers)
    )
    assert f"lead.created to {made.id} ({receiver.url}): delivered" in shown.stdout
