"""A suspended workspace: nothing is added, its deliveries wait, and nothing of it is lost."""

import asyncio

import pytest

from leadwire.delivery.monitoring import ledger, status
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.changes import workspaces as accounts
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks import reads as webhooks_reads
from leadwire.domain.workspaces import changes
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound, WorkspaceSuspended
from tests import make
from tests.delivery.wired import endpoint
from tests.domain.accounts.test_quotas import ADDITIONS, URL
from tests.interfaces.web.conftest import PASSWORD


async def actions(workspace: str | None) -> list[str]:
    entries = "SELECT action FROM audit_entry WHERE workspace_id IS NOT DISTINCT FROM $1 ORDER BY at, id"
    return [row["action"] for row in await db.rows(entries, workspace)]


async def test_a_new_workspace_has_a_link_for_its_first_admin(database):
    made, token = await changes.create("  Acme ", "ada@example.org")
    assert await db.value("SELECT name FROM workspace WHERE id = $1", made) == "Acme"
    await team.accept(token, "", PASSWORD, Browser("a"))
    found = await db.rows("SELECT workspace_id, email, role FROM user_account")
    assert [tuple(row) for row in found] == [(made, "ada@example.org", "admin")]
    assert await actions(made) == ["workspace.created", "user.invited", "user.joined"]


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\0b", "a\nb", "a\u202eb"])
async def test_a_name_that_cannot_be_shown_makes_nothing(database, name):
    with pytest.raises(Invalid):
        await changes.create(name)
    assert await db.value("SELECT count(*) FROM workspace") == 0


async def test_suspending_and_resuming_twice_is_one_entry_each(workspace):
    assert [await changes.suspend(workspace), await changes.suspend(workspace)] == [True, False]
    assert [await changes.resume(workspace), await changes.resume(workspace)] == [True, False]
    assert await actions(workspace) == ["workspace.suspended", "workspace.resumed"]
    for change in (changes.suspend, changes.resume, changes.delete):
        with pytest.raises(NotFound):
            await change("ws_nothing")


@pytest.mark.parametrize("quota", ADDITIONS)
async def test_nothing_is_added(workspace, bot, quota):
    add, table = ADDITIONS[quota]
    await changes.suspend(workspace)
    with pytest.raises(WorkspaceSuspended):
        await add(workspace, bot, 0)
    assert await db.value(f"SELECT count(*) FROM {table}") == (1 if table == "bot" else 0)
    await changes.resume(workspace)
    await add(workspace, bot, 0)


async def test_an_endpoint_that_is_added_meanwhile_is_held_or_refused(workspace):
    adding = [webhooks.create(workspace, URL, ["lead.created"]) for _ in range(8)]
    results = await asyncio.gather(*adding[:4], changes.suspend(workspace), *adding[4:], return_exceptions=True)
    assert all(isinstance(one, WorkspaceSuspended) for one in results if isinstance(one, BaseException))
    held = await db.rows("SELECT paused_until = 'infinity' AS held FROM webhook_endpoint")
    assert all(row["held"] for row in held)
    assert len(held) == sum(not isinstance(one, BaseException) for one in results) - 1


async def test_deliveries_wait_and_none_is_lost(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    for number in range(2):  # one that is queued before, one that comes while it is suspended
        await make.somebody(workspace, bot)
        if not number:
            await changes.suspend(workspace)
        for _ in range(3):
            assert await wire.turn() == []
    assert receiver.deliveries == []
    assert [row["state"] for row in await db.rows("SELECT state FROM delivery")] == ["waiting", "waiting"]
    (shown,) = await webhooks_reads.endpoints(workspace)
    assert shown.paused_until >= "9999"

    await changes.resume(workspace)
    assert {one.outcome for one in await wire.turn()} == {"delivered"}
    assert len({one.webhook_id for one in receiver.deliveries}) == 2
    assert await db.value("SELECT count(*) FROM delivery") == 0


async def test_a_request_with_a_key_that_is_still_known_waits_as_well(client, workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url, "lead.updated")
    lead = await make.lead(workspace, bot)
    assert (await client.get(f"/v1/leads/{lead.id}")).status_code == 200
    await wire.turn()
    await changes.suspend(workspace)
    assert (await client.patch(f"/v1/leads/{lead.id}", json={"name": "Grace"})).status_code == 200
    assert await wire.turn() == []
    assert await wire.turn() == []
    await changes.resume(workspace)
    assert len(await wire.turn()) == 1


async def test_what_waits_is_neither_overdue_nor_wrong_however_long(workspace, bot, wire, receiver, db_clock):
    await endpoint(workspace, receiver.url)
    await make.somebody(workspace, bot)
    await changes.suspend(workspace)
    await wire.turn()
    await db_clock.forward(86_400)
    await wire.turn()
    checks, _ = await ledger.check(wire.redis, wire.settings)
    assert [check.name for check in checks if check.broken] == []
    seen = await status.read(wire.redis, wire.settings.stream_shards, finished=False)
    assert (seen.overdue.deliveries, seen.paused_endpoints) == (0, 1)
    await changes.resume(workspace)
    assert len(await wire.turn()) == 1


async def test_changing_an_endpoint_opens_nothing(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await changes.suspend(workspace)
    await webhooks.disable(workspace, made.id)
    await webhooks.enable(workspace, made.id)
    await make.somebody(workspace, bot)
    assert await wire.turn() == []
    assert await wire.turn() == []
    await changes.resume(workspace)
    assert len(await wire.turn()) == 1


async def test_a_receiver_that_asks_for_a_pause_does_not_end_the_suspension(workspace, bot, wire, receiver):
    receiver.answer, receiver.extra_headers = 429, "Retry-After: 1\r\n"
    await endpoint(workspace, receiver.url)
    await make.somebody(workspace, bot)
    await wire.relay()
    done = await wire.post(await wire.claim())
    await changes.suspend(workspace)
    await wire.settle(done)
    assert await db.value("SELECT paused_until = 'infinity' FROM webhook_endpoint")
    await changes.resume(workspace)
    assert await db.value("SELECT paused_until IS NULL FROM webhook_endpoint")


async def test_other_workspaces_go_on(workspace, bot, wire, receiver):
    other, _ = await changes.create("Other")
    await endpoint(workspace, receiver.url)
    await changes.suspend(other)
    await make.somebody(workspace, bot)
    assert len(await wire.turn()) == 1


async def test_what_is_being_deleted_stays_closed(workspace):
    await accounts.begin_deletion(workspace)
    with pytest.raises(Conflict):
        await changes.resume(workspace)
    assert await changes.suspend(workspace) is False
