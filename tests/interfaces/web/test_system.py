"""The System screen: for operators alone, and right also while Redis is away."""

import socket
import time

import asyncpg
import msgspec
import pytest

from leadwire.delivery.monitoring import conditions, invariants
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import workspaces as quotas
from leadwire.domain.bots import changes as bots
from leadwire.domain.workspaces import changes as workspaces
from leadwire.domain.workspaces import usage
from leadwire.infrastructure import db, redis_pool, settings
from leadwire.infrastructure.jobs import queue
from tests import jobs, make
from tests.delivery.wired import endpoint


@pytest.fixture
def operators(monkeypatch):
    """Sets LEADWIRE_OPERATORS."""
    present = settings.get()

    def name(*emails: str) -> None:
        changed = msgspec.structs.replace(present, operators=emails)
        monkeypatch.setattr(settings, "get", lambda: changed)

    return name


async def test_the_admin_of_the_only_workspace_operates_it(admin, agent):
    assert 'href="/system"' in await admin.open("/")
    await admin.open("/system")
    assert 'href="/system"' not in await agent.open("/")
    await agent.open("/system", 403)


async def test_with_several_workspaces_nobody_does_who_is_not_named(admin, operators):
    await accounts.create_workspace("Other")
    for path in ("/system", "/system/ledger", "/system/workspaces"):
        await admin.open(path, 403)
    assert 'href="/system"' not in await admin.open("/")
    operators("ada@example.org")
    for path in ("/system", "/system/ledger", "/system/workspaces"):
        await admin.open(path)


async def test_who_is_not_named_does_not_operate_even_alone(admin, operators):
    operators("bo@example.org")
    await admin.open("/system", 403)


async def test_a_named_agent_is_still_no_admin(agent, operators):
    operators("grace@example.org")
    await agent.open("/system", 403)


def test_operators_are_read_from_the_environment():
    read = settings.read({"LEADWIRE_OPERATORS": " Ada@Example.org, bo@example.org ,"})
    assert read.operators == ("ada@example.org", "bo@example.org")


async def test_what_waits_is_counted(admin, workspace, bot):
    await endpoint(workspace, "http://127.0.0.1:9001/", "conversation.started", "message.received")
    await make.conversation(workspace, bot)
    page = await admin.open("/system")
    assert "Not queued yet" in page
    assert "<dd>2<small>oldest" in page
    assert "None: nothing is being sent." in page
    assert "No worker asks for work" in page
    assert 'href="/docs/process-missing"' in page


async def test_what_is_firing_comes_first(admin, redis):
    page = await admin.open("/system")
    assert "No relay looks how delivery is doing." in page
    assert page.index("NothingKnown") < page.index("Not queued yet")
    held = conditions.Held("EntriesHeld", "stream_pending_idle_seconds", "", 200.0, 1.0)
    await redis.set(conditions._KEY, msgspec.json.encode(conditions.Noted(time.time(), [held])))
    page = await admin.open("/system")
    assert "has held an entry for 3 min" in page
    assert "NothingKnown" not in page
    assert 'href="/docs/entries-held"' in page


async def test_changes_that_are_refused_are_said_by_the_process_that_sees_it(admin):
    db.DB._refusals.extend((time.monotonic(), "DiskFullError") for _ in range(3))
    assert "PostgreSQL has refused 3 changes of this process within a minute: DiskFullError." in await admin.open(
        "/system"
    )


async def failed(kind: str) -> None:
    await queue.add(kind, "one", "ws_of_another")
    await db.rows("UPDATE job SET tries = 10, failed_at = now(), error = 'KeyError: 1'")


async def test_jobs_that_were_given_up_are_tried_again(admin):
    await failed("search")
    page = await admin.open("/system")
    assert "1 given up" in page
    assert "No background process runs" in page
    assert "KeyError" not in page
    assert "1 job is tried again now." in await admin.fill("/system/jobs/retry", kind="search")
    assert await db.value("SELECT failed_at IS NULL AND tries = 0 FROM job")


async def test_kinds_of_jobs_with_nothing_to_do_are_not_listed(admin):
    await queue.add("search", "conv_1", "ws_1")
    await queue.add("mail", "mail_1", "ws_1")
    await db.rows("UPDATE job SET due_at = now() + interval '1 hour' WHERE kind = 'mail'")
    page = await admin.open("/system")
    assert '<th scope="row">search</th>' in page
    assert '<th scope="row">mail</th>' not in page
    await db.rows("DELETE FROM job")
    assert "Nothing waits, and nothing has failed." in await admin.open("/system")


async def test_only_operators_try_jobs_again(admin, operators):
    await failed("search")
    await admin.open("/system")
    operators("bo@example.org")
    await admin.fill("/system/jobs/retry", 403, kind="search")
    assert await db.value("SELECT failed_at IS NOT NULL FROM job")


async def test_it_answers_while_redis_is_away(admin, monkeypatch):
    monkeypatch.setattr(redis_pool, "client", lambda: None)
    assert "Redis cannot be reached" in await admin.open("/system")
    assert "Redis was away" in await checked(admin)


async def test_a_redis_that_says_nothing_is_not_taken_for_the_database(admin, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = redis_pool.create_client(f"redis://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr(redis_pool, "client", lambda: client)
        page = await admin.open("/system")
        await client.aclose()
    assert ["RedisDown" in page, "DatabaseDown" in page] == [True, False]


async def test_customers_are_shown_with_what_they_have(admin, operators, workspace, bot, monkeypatch):
    operators("ada@example.org")
    gone, _ = await workspaces.create("Gone <b>")
    await workspaces.delete(gone)
    other, _ = await workspaces.create("Other <i>")
    await workspaces.suspend(other)
    await quotas.set_quota(workspace, "bots", 1)
    await make.lead(workspace, bot)
    page = await admin.open("/system/workspaces")
    assert [text in page for text in (workspace, other, "Other &lt;i&gt;", "Suspended", "1 of 1 bots")] == [True] * 5
    assert ["Gone &lt;b&gt;" in page, page.count("workspace.deleted")] == [True, 1]
    monkeypatch.setattr(usage.page, "__defaults__", ("", 1))
    page = await admin.open("/system/workspaces")
    assert ("Other &lt;i&gt;" in page, f"?after={workspace}" in page) == (False, True)
    page = await admin.open(f"/system/workspaces?after={workspace}")
    assert ("Other &lt;i&gt;" in page, "First page" in page) == (True, True)
    assert "None after this one." in await admin.open("/system/workspaces?after=zzz")


async def test_under_a_lock_it_tells_what_to_do(admin, servers):
    holder = await asyncpg.connect(servers.database_url)
    async with holder.transaction():
        await holder.execute("LOCK TABLE webhook_endpoint IN ACCESS EXCLUSIVE MODE")
        page = await admin.open("/system")
    await holder.close()
    assert ["DatabaseDown" in page, "/docs/database-down" in page, "leadwire doctor" in page] == [True, True, True]
    assert ["Nothing is firing" in page, "Deliveries under way" in page] == [False, False]
    page = await admin.open("/system")
    assert ["DatabaseDown" in page, "Deliveries under way" in page] == [False, True]


async def checked(admin):
    """The page after a relay has made the check that is asked for."""
    await admin.fill("/system/ledger")
    await jobs.run("ledger")
    return await admin.open("/system/ledger")


async def test_the_ledger_tells_what_the_last_check_has_found(admin, workspace):
    page = await admin.open("/system/ledger")
    assert ["Not checked yet" in page, "under way" in page, "Balanced" in page] == [True, True, False]
    page = await checked(admin)
    assert ["Not checked yet" in page, "under way" in page, "Balanced" in page] == [False, False, True]
    other = await bots.create(workspace, "Bot")
    await make.conversation(workspace, other)
    await make.ended(await db.value("SELECT id FROM event LIMIT 1"), "we_x", "delivered")
    assert "Not balanced" not in await admin.open("/system/ledger")
    page = await checked(admin)
    assert "Not balanced" in page
    assert "deliveries marked delivered without a 2xx attempt" in page


async def test_opening_the_ledger_checks_nothing(admin, monkeypatch):
    monkeypatch.setattr(invariants, "check", None)
    await admin.open("/system/ledger")
    assert "under way" in await admin.fill("/system/ledger")
