"""The System screen: for operators alone, and right also while Redis is away."""

import re
import socket
import time

import asyncpg
import msgspec
import pytest

from leadwire.delivery.monitoring import conditions, ledger
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.changes import workspaces as quotas
from leadwire.domain.bots import changes as bots
from leadwire.domain.workspaces import changes as workspaces
from leadwire.domain.workspaces import usage
from leadwire.infrastructure import db, redis_pool, settings
from leadwire.infrastructure.jobs import queue
from tests import jobs, make
from tests.delivery.wired import endpoint
from tests.interfaces.web.conftest import PASSWORD, browser, signed_in


async def make_operator(email: str) -> None:
    """As `leadwire users operator` does, of anybody."""
    await db.rows("UPDATE user_account SET operator = true WHERE email = $1", email)


@pytest.fixture
async def operator(admin):
    """An admin who sees the whole instance."""
    await make_operator("ada@example.org")
    return admin


@pytest.fixture
def named(monkeypatch):
    """Sets LEADWIRE_OPERATORS."""
    present = settings.get()

    def name(*emails: str) -> None:
        changed = msgspec.structs.replace(present, operators=emails)
        monkeypatch.setattr(settings, "get", lambda: changed)

    return name


async def sees(person) -> bool:
    pages = [await person.get(path) for path in ("/system", "/system/ledger", "/system/workspaces")]
    (status,) = {page.status_code for page in pages}
    assert ('href="/system"' in await person.open("/")) == (status == 200)
    return status == 200


@pytest.mark.parametrize("others", [0, 1])
async def test_nobody_operates_who_was_not_made_an_operator(admin, named, others):
    for _ in range(others):
        await accounts.create_workspace("Other")
    assert not await sees(admin)
    named("ada@example.org")
    assert not await sees(admin)
    await make_operator("ada@example.org")
    assert await sees(admin)


async def test_who_is_not_named_does_not_operate_where_others_are(operator, named):
    assert await sees(operator)
    named("bo@example.org")
    assert not await sees(operator)


async def test_an_agent_is_no_operator(agent, named):
    await make_operator("grace@example.org")
    named("grace@example.org")
    assert not await sees(agent)


async def test_no_admin_of_a_workspace_makes_an_operator(operator, workspace, named):
    """Not by the address that is named, whether there is an account with it or there was one."""
    named("ada@example.org", "root@example.org")
    elsewhere = await accounts.create_workspace("Other")
    async with signed_in(elsewhere, "admin", "eve@example.org") as eve:
        await eve.open("/team")
        page = await eve.fill("/team", 201, email="root@example.org", role="admin", operator="true")
        async with browser() as theirs:
            await theirs.fill(re.search(r"(/join/[\w-]+)", page)[1], password=PASSWORD)
            assert not await sees(theirs)
    async with signed_in(workspace, "admin", "mary@example.org"):
        ada = await db.value("SELECT id FROM user_account WHERE email = 'ada@example.org'")
        await team.remove_user(workspace, ada)
    async with signed_in(elsewhere, "admin", "ada@example.org") as another:
        assert not await sees(another)


async def test_an_invitation_by_the_command_line_makes_one(workspace, stranger):
    token = await team.invite(workspace, None, "admin", operator=True)
    await stranger.fill(f"/join/{token}", email="ada@example.org", password=PASSWORD)
    assert await sees(stranger)


def test_operators_are_read_from_the_environment():
    read = settings.read({"LEADWIRE_OPERATORS": " Ada@Example.org, bo@example.org ,"})
    assert read.operators == ("ada@example.org", "bo@example.org")


async def test_what_waits_is_counted(operator, workspace, bot):
    await endpoint(workspace, "http://127.0.0.1:9001/", "conversation.started", "message.received")
    await make.conversation(workspace, bot)
    page = await operator.open("/system")
    assert "Not queued yet" in page
    assert "<dd>2<small>oldest" in page
    assert "None: nothing is being sent." in page
    assert "No worker asks for work" in page
    assert 'href="/docs/process-missing"' in page


async def test_what_is_firing_comes_first(operator, redis):
    page = await operator.open("/system")
    assert "No relay looks how delivery is doing." in page
    assert page.index("NothingKnown") < page.index("Not queued yet")
    held = conditions.Held("EntriesHeld", "stream_pending_overdue_seconds", "", 200.0, 1.0)
    await redis.set(conditions._KEY, msgspec.json.encode(conditions.Noted(time.time(), [held])))
    page = await operator.open("/system")
    assert "no other has taken it over 3 min after its lease" in page
    assert "NothingKnown" not in page
    assert 'href="/docs/entries-held"' in page


async def test_changes_that_are_refused_are_said_by_the_process_that_sees_it(operator):
    db.DB._refusals.extend((time.monotonic(), "DiskFullError") for _ in range(3))
    assert "PostgreSQL has refused 3 changes of this process within a minute: DiskFullError." in await operator.open(
        "/system"
    )


async def failed(kind: str) -> None:
    await queue.add(kind, "one", "ws_of_another")
    await db.rows("UPDATE job SET tries = 10, failed_at = now(), error = 'KeyError: 1'")


async def test_jobs_that_were_given_up_are_tried_again(operator):
    await failed("search")
    page = await operator.open("/system")
    assert "1 given up" in page
    assert "No background process runs" in page
    assert "KeyError" not in page
    assert "1 job is tried again now." in await operator.fill("/system/jobs/retry", kind="search")
    assert await db.value("SELECT failed_at IS NULL AND tries = 0 FROM job")


async def test_kinds_of_jobs_with_nothing_to_do_are_not_listed(operator):
    await queue.add("search", "conv_1", "ws_1")
    await queue.add("mail", "mail_1", "ws_1")
    await db.rows("UPDATE job SET due_at = now() + interval '1 hour' WHERE kind = 'mail'")
    page = await operator.open("/system")
    assert '<th scope="row">search</th>' in page
    assert '<th scope="row">mail</th>' not in page
    await db.rows("DELETE FROM job")
    assert "Nothing waits, and nothing has failed." in await operator.open("/system")


async def test_only_operators_try_jobs_again(operator, named):
    await failed("search")
    await operator.open("/system")
    named("bo@example.org")
    await operator.fill("/system/jobs/retry", 403, kind="search")
    assert await db.value("SELECT failed_at IS NOT NULL FROM job")


async def test_it_answers_while_redis_is_away(operator, monkeypatch):
    monkeypatch.setattr(redis_pool, "client", lambda: None)
    assert "Redis cannot be reached" in await operator.open("/system")
    assert "Redis was away" in await checked(operator)


async def test_a_redis_that_says_nothing_is_not_taken_for_the_database(operator, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = redis_pool.create_client(f"redis://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr(redis_pool, "client", lambda: client)
        page = await operator.open("/system")
        await client.aclose()
    assert ["RedisDown" in page, "DatabaseDown" in page] == [True, False]


async def test_customers_are_shown_with_what_they_have(operator, workspace, bot, monkeypatch):
    gone, _ = await workspaces.create("Gone <b>")
    await workspaces.delete(gone)
    other, _ = await workspaces.create("Other <i>")
    await workspaces.suspend(other)
    await quotas.set_quota(workspace, "bots", 1)
    await make.lead(workspace, bot)
    page = await operator.open("/system/workspaces")
    assert [text in page for text in (workspace, other, "Other &lt;i&gt;", "Suspended", "1 of 1 bots")] == [True] * 5
    assert ["Gone &lt;b&gt;" in page, page.count("workspace.deleted")] == [True, 1]
    monkeypatch.setattr(usage.page, "__defaults__", ("", 1))
    page = await operator.open("/system/workspaces")
    assert ("Other &lt;i&gt;" in page, f"?after={workspace}" in page) == (False, True)
    page = await operator.open(f"/system/workspaces?after={workspace}")
    assert ("Other &lt;i&gt;" in page, "First page" in page) == (True, True)
    assert "None after this one." in await operator.open("/system/workspaces?after=zzz")


async def test_under_a_lock_it_tells_what_to_do(operator, servers):
    holder = await asyncpg.connect(servers.database_url)
    async with holder.transaction():
        await holder.execute("LOCK TABLE webhook_endpoint IN ACCESS EXCLUSIVE MODE")
        page = await operator.open("/system")
    await holder.close()
    assert ["DatabaseDown" in page, "/docs/database-down" in page, "leadwire doctor" in page] == [True, True, True]
    assert ["Nothing is firing" in page, "Deliveries under way" in page] == [False, False]
    page = await operator.open("/system")
    assert ["DatabaseDown" in page, "Deliveries under way" in page] == [False, True]


async def checked(operator):
    """The page after a relay has made the check that is asked for."""
    await operator.fill("/system/ledger")
    await jobs.run("ledger")
    return await operator.open("/system/ledger")


async def test_the_ledger_tells_what_the_last_check_has_found(operator, workspace):
    page = await operator.open("/system/ledger")
    assert ["Not checked yet" in page, "under way" in page, "Balanced" in page] == [True, True, False]
    page = await checked(operator)
    assert ["Not checked yet" in page, "under way" in page, "Balanced" in page] == [False, False, True]
    other = await bots.create(workspace, "Bot")
    await make.conversation(workspace, other)
    await make.ended(await db.value("SELECT id FROM event LIMIT 1"), "we_x", "delivered")
    assert "Not balanced" not in await operator.open("/system/ledger")
    page = await checked(operator)
    assert "Not balanced" in page
    assert "deliveries marked delivered without a 2xx attempt" in page


async def test_opening_the_ledger_checks_nothing(operator, monkeypatch):
    monkeypatch.setattr(ledger, "check", None)
    await operator.open("/system/ledger")
    assert "under way" in await operator.fill("/system/ledger")
