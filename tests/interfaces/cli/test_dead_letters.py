"""Deliveries on the command line: those with some numbers are sent again, and one is shown."""

import asyncio

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db, ids
from tests import make
from tests.delivery.wired import endpoint
from tests.flows.commands import run
from tests.interfaces.cli.test_endpoints import access


async def test_missing_numbers_are_sent_again(servers, workspace, bot, wire, receiver):
    """The endpoint says which of several workspaces is meant."""
    await accounts.create_workspace("Other")
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(numbered=True))
    for _ in range(3):
        await make.lead(workspace, bot, email=f"{ids.new('x')}@example.com")
    await wire.turn()

    done = await asyncio.to_thread(
        run, "redrives", "start", "--endpoint", made.id, "--sequence", "2-3", **access(servers)
    )
    assert f"  2 of 2  replay to {made.id} numbers 2-3  " in done.stdout
    job = done.stdout.split()[0]
    await db.rows("UPDATE redrive_job SET state = 'running'")
    stopped = await asyncio.to_thread(run, "redrives", "cancel", job, **access(servers))
    assert f"{job}  cancelled  " in stopped.stdout
    noted = await db.rows(
        "SELECT action, subject, detail FROM audit_entry WHERE workspace_id = $1 AND actor = 'operator'"
        " AND action LIKE 'redrive.%' ORDER BY id", workspace,
    )  # fmt: skip
    assert [tuple(row) for row in noted] == [("redrive.started", job, "2 deliveries"), ("redrive.cancel", job, "")]
    await wire.turn()
    assert sorted(one.headers["x-service-sequence"] for one in receiver.deliveries) == ["1", "2", "2", "3", "3"]
    shown = await asyncio.to_thread(
        run, "dead-letters", "show", receiver.deliveries[0].headers["webhook-id"], **access(servers)
    )
    assert f"lead.created to {made.id} ({receiver.url}): delivered" in shown.stdout
