"""A role of PostgreSQL that serves everything, and takes nothing from the audit log."""

import asyncio
import json
from datetime import timedelta
from functools import partial

import asyncpg
import pytest
from msgspec import structs

from leadwire.delivery.monitoring.conditions import CONDITIONS
from leadwire.delivery.relay import partitions
from leadwire.domain.accounts.audit import reads as audit_log
from leadwire.domain.privacy import erasure
from leadwire.domain.workspaces import fence
from leadwire.infrastructure import clock, db, ids, secret_box, settings
from leadwire.infrastructure.db import locks, other
from leadwire.infrastructure.jobs.kinds import KINDS
from leadwire.infrastructure.jobs.reads import listed
from leadwire.infrastructure.secret_box import SecretBox
from leadwire.interfaces.cli.checks import postgres, work
from leadwire.processes.background import find_kinds
from tests import jobs, make
from tests.delivery.elsewhere import moved_to
from tests.delivery.test_reseal import OLD, SEALED, key
from tests.delivery.wired import endpoint
from tests.domain.accounts.audit.test_chain import chained, details, fault, noted
from tests.flows.commands import refused, run, settings_on
from tests.interfaces.web.conftest import signed_in
from tests.waiting import eventually

ROLE = "leadwire_service"
ALERTS = {condition.name for condition in CONDITIONS}  # a busy machine may bring them about


@pytest.fixture(scope="module")
async def owner(servers, connected):
    """The settings of the owner of a database's tables, who has let the role serve for 100 days of the audit log."""
    url = servers.database_url.replace("/leadwire?", "/served?")
    chosen = settings_on(servers, DATABASE_URL=url, SERVICE_ROLE=ROLE, AUDIT_RETENTION_DAYS="100")
    await db.rows("CREATE DATABASE served")
    assert f'role "{ROLE}" does not exist' in refused(await asyncio.to_thread(run, "migrate", **chosen))
    await db.rows(f"CREATE ROLE {ROLE} LOGIN")
    done = await asyncio.to_thread(run, "migrate", **chosen)
    assert done.stdout == f"nothing to do; {ROLE} may serve\n"
    yield chosen
    await db.rows("DROP DATABASE served WITH (FORCE)")
    await db.rows(f"DROP ROLE {ROLE}")


@pytest.fixture
async def service(owner, database):
    """The settings of a process that serves, as this one does. What failed for an earlier test's workspace is gone."""
    await by(owner, "DELETE FROM job")
    url = owner["DATABASE_URL"].replace("//postgres@", f"//{ROLE}@")
    async with moved_to(url, connections=10):
        assert await db.value("SELECT current_user") == ROLE
        yield owner | {"DATABASE_URL": url, "SERVICE_ROLE": ""}


async def by(settings, statement):
    connection = await asyncpg.connect(settings["DATABASE_URL"])
    await connection.execute(statement)
    await connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "TRUNCATE audit_entry",
        "UPDATE audit_entry SET action = 'bot.look_changed'",
        "UPDATE audit_entry SET at = '2000-01-01'",
        "UPDATE audit_entry SET in_count = false",
        "DELETE FROM audit_chain",
        "DELETE FROM workspace",
        "DROP TABLE audit_entry",
        "ALTER TABLE audit_entry DISABLE TRIGGER ALL",
        "ALTER TABLE audit_entry DISABLE ROW LEVEL SECURITY",
        "DROP POLICY past_retention ON audit_entry",
        "CREATE TRIGGER swallow BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION refuse_change()",
        "CREATE RULE swallow AS ON INSERT TO audit_entry DO INSTEAD NOTHING",
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "ALTER FUNCTION make_event_partitions SECURITY INVOKER",
        "CREATE TABLE mine (id int)",
        "DELETE FROM migration",
        "SET ROLE postgres",
    ],
)
async def test_nothing_is_taken_from_the_log(service, workspace, statement):
    await noted(workspace, "a")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await db.rows(statement)


async def test_what_is_past_retention_goes_and_nothing_else(service, workspace, monkeypatch):
    past = clock.ago(days=101)
    with monkeypatch.context() as patched, clock.at(past):
        patched.setattr(ids, "new", lambda kind: ids.floor(kind, past))
        await noted(workspace, "old")
    await noted(workspace, "new")
    await chained()
    assert await db.rows("DELETE FROM audit_entry WHERE detail = 'new' RETURNING id") == []

    chosen = structs.replace(settings.get(), audit_retention_days=100)
    monkeypatch.setattr(settings, "get", lambda: chosen)
    await jobs.run("audit.drop")
    assert await details(workspace) == ["new"]
    assert await fault(workspace) is None

    chosen = structs.replace(chosen, audit_retention_days=-1)
    await jobs.run("audit.drop")
    assert await details(workspace) == ["new"]
    errors = {job.key: job.error for job in await listed("audit.drop", None, 100)}
    assert "PostgreSQL keeps entries for longer" in errors[workspace]


async def test_it_serves_and_delivers_and_tidies_up(service, workspace, client, bot, wire, receiver):
    await endpoint(workspace, receiver.url, "lead.created", "audit.recorded")
    async with signed_in(workspace, "admin", "ada@example.org") as web:
        lead = await make.somebody(workspace, bot)
        assert (await client.patch(f"/v1/leads/{lead.id}", json={"name": "Grace"})).status_code == 200
        await web.open(f"/leads/{lead.id}")
    find_kinds()
    await jobs.run(*KINDS)
    await wire.turn()
    assert {one.event for one in receiver.deliveries} == {"lead.created", "audit.recorded"}
    await erasure.erase_lead(workspace, lead.id)
    old = (clock.now() - timedelta(days=40)).date()
    await db.rows("SELECT make_event_partitions($1, $1)", old)
    assert await partitions.maintain(30) == ([], [old])
    assert await db.value("SELECT count(*) FROM job WHERE error IS NOT NULL") == 0
    assert await fault(workspace) is None
    new = key()
    for keys in ((new, OLD), (OLD, new)):
        assert sum([await secret_box.reseal(SecretBox(keys), column) for column in SEALED]) > 0


async def test_the_owner_moves_and_deletes_workspaces(owner, service, workspace, bot):
    await make.somebody(workspace, bot)
    await chained()
    delete = partial(run, "workspaces", "delete", workspace, "--yes", "Test")
    said = refused(await asyncio.to_thread(delete, **service))
    assert said.endswith("the database refuses: permission denied for table workspace")
    assert await audit_log.verify(workspace)

    async with other.connected(owner["DATABASE_URL"]) as theirs:
        await fence.build(theirs, workspace)
        await fence.close(theirs, workspace)
        with pytest.raises(db.Moving):
            await make.somebody(workspace, bot)
    assert (await asyncio.to_thread(delete, **owner)).returncode == 0
    assert await db.value("SELECT count(*) FROM audit_entry WHERE workspace_id = $1", workspace) == 0


async def test_the_doctor_says_who_serves(owner, service):
    says, wrong = [], []
    for environment in (owner, service):
        found = json.loads((await asyncio.to_thread(run, "doctor", "--json", **environment)).stdout)["findings"]
        says += [one["says"] for one in found if one["about"] == "role of the service"]
        wrong.append({one["about"] for one in found if one["level"] != "ok"} - ALERTS)
    assert says == [
        "postgres owns the tables, and could change the audit log",
        f"{ROLE} may only add to the audit log",
    ]  # fmt: skip
    assert (wrong[0] - wrong[1], wrong[1] - wrong[0]) == (set(), {"pg_monitor"})


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("GRANT postgres TO {}", "REVOKE postgres FROM {}"),
        ("ALTER ROLE {} BYPASSRLS", "ALTER ROLE {} NOBYPASSRLS"),
        ("ALTER ROLE {} CREATEROLE", "ALTER ROLE {} NOCREATEROLE"),
        ("GRANT CREATE ON SCHEMA public TO PUBLIC", "REVOKE CREATE ON SCHEMA public FROM PUBLIC"),
        ("GRANT TRUNCATE ON audit_entry TO PUBLIC", "REVOKE TRUNCATE ON audit_entry FROM PUBLIC"),
    ],
)
async def test_a_role_that_has_more_from_elsewhere_is_refused(owner, more, less):
    await by(owner, more.format(ROLE))
    try:
        assert f"{ROLE} could still change the audit log" in refused(await asyncio.to_thread(run, "migrate", **owner))
    finally:
        await by(owner, less.format(ROLE))


async def test_a_right_that_is_missing_is_told_with_who_gives_it(service, owner, workspace, client, bot):
    lead = await make.somebody(workspace, bot)
    assert (await postgres.role())[0].level == "ok"
    await by(owner, f"REVOKE UPDATE ON lead FROM {ROLE}")
    try:
        answer = await client.patch(f"/v1/leads/{lead.id}", json={"name": "Grace"})
        assert (answer.status_code, answer.json()["detail"][:30]) == (503, "This cannot be done until the ")
        assert db.DB.refused(600)["InsufficientPrivilegeError"] == 1
        (found, *_) = await postgres.role()
        assert (found.level, found.says) == ("error", f"{ROLE} lacks rights: UPDATE of lead")
        assert f"LEADWIRE_SERVICE_ROLE={ROLE}" in found.fix
    finally:
        await by(owner, f"GRANT UPDATE ON lead TO {ROLE}")
        db.DB._refusals.clear()
    assert (await client.patch(f"/v1/leads/{lead.id}", json={"name": "Grace"})).status_code == 200
    assert (await work.change()).level == "ok"


async def test_another_role_that_makes_it_wait_is_named_and_what_it_does_where_that_may_be_seen(service, owner):
    holder = await asyncpg.connect(owner["DATABASE_URL"], server_settings={"application_name": "psql"})
    try:
        await holder.execute("BEGIN; LOCK TABLE lead IN ACCESS EXCLUSIVE MODE")
        waiting = asyncio.create_task(db.value("SELECT count(*) FROM lead"))
        pid = holder.get_server_pid()
        said = await eventually(partial(locks.blockers, 0.0))
        hidden = "what it does is shown to members of pg_monitor alone"
        assert [one.says for one in said] == [f"pid {pid} (psql, user postgres) makes 1 wait: {hidden}"]
        assert [found.level for found in await postgres.role()] == ["ok", "warning"]
        await by(owner, f"GRANT pg_monitor TO {ROLE}")
        (one,) = await locks.blockers(0.0)
        assert one.says.startswith(f"pid {pid} (psql, user postgres, idle in transaction, open for ")
        assert one.says.endswith(" s) makes 1 wait: BEGIN; LOCK TABLE lead IN ACCESS EXCLUSIVE MODE")
        assert [found.level for found in await postgres.role()] == ["ok", "ok"]
    finally:
        await holder.close()
        await by(owner, f"REVOKE pg_monitor FROM {ROLE}")
    await waiting
