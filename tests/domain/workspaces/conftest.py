"""Two cells for a workspace that moves."""

import pytest

from leadwire.delivery.worker import hourly_stats
from leadwire.domain.accounts import reads
from leadwire.domain.bots.changes import counts
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.domain.workspaces import copy, fence, move
from leadwire.infrastructure import db
from tests import jobs, make
from tests.delivery.test_pull import puller_of
from tests.delivery.wired import endpoint
from tests.domain.bots.conftest import published
from tests.domain.workspaces import cells
from tests.domain.workspaces.cells import Cell
from tests.interfaces.web.conftest import signed_in


@pytest.fixture(scope="module")
async def other(connected, servers):
    """The second cell."""
    return await cells.second(servers.database_url)


@pytest.fixture
async def pair(database, other, servers, monkeypatch):
    """Both cells: in the first is what a test makes, the second is empty. No worker runs unless a test lets it."""
    monkeypatch.setattr(copy, "_PAGE", 3)
    monkeypatch.setattr(move, "_PATIENCE", 0.0)
    monkeypatch.setattr(move, "_SHORT", 0.0)
    async with other.inside():
        await cells.empty()
    yield Cell(servers.database_url, cells.KEYS[0]), other
    for workspace in await reads.workspace_list():
        await fence.remove(workspace.id)


@pytest.fixture
async def worked(pair, workspace, wire, receiver, monkeypatch):
    """A workspace with something of all that counts: delivered, dead, waiting, handed out, still in the outbox."""
    async with signed_in(workspace, "admin", "ada@example.org"):
        pass
    bot = (await published(workspace)).id
    for change in ({}, {"ordered": True}, {"numbered": True, "auto_redrive": True}):
        made = await endpoint(
            workspace, f"{receiver.url}/{len(change)}{''.join(change)}", "lead.created", "lead.updated"
        )
        await webhooks.configure(workspace, made.id, EndpointChange(**change))
    fetching = await puller_of(workspace)
    for _ in range(4):
        await make.somebody(workspace, bot)
    while await wire.turn():
        pass
    await fetching.fetch(1)
    await db.rows(
        "UPDATE delivery_result SET state = 'dead', last_outcome = 'gone' WHERE event_id = (SELECT min(id) FROM event)"
    )
    receiver.answer = 500
    await make.somebody(workspace, bot)
    await wire.turn()  # which will be tried again
    receiver.answer = 204
    await make.somebody(workspace, bot)
    await wire.relay()  # which is in the streams
    await make.somebody(workspace, bot)
    await db.rows(
        "INSERT INTO job (kind, key, workspace_id, due_at, since) VALUES ('redrive', 'x', $1, 'infinity', now())",
        workspace,
    )
    await hourly_stats.flush()
    await counts.write()
    await jobs.run("audit.chain")
    return workspace
