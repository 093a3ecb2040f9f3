"""A database that is in use is migrated step by step, beside whoever reads and changes it."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

from leadwire.infrastructure import db
from leadwire.infrastructure.db import migrations, plan, steps
from leadwire.interfaces.cli import migration_plan
from leadwire_development.embedded import Services
from tests.delivery.elsewhere import moved_to
from tests.flows.commands import Started, environment, refused, run, settings_on
from tests.rows import COLUMNS, insert
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
FIRST = "2026-11-22T02:30:00:000000"  # with it the first tables are complete
JOBS = "2026-11-23T03:10:00:000000"  # the next one adds columns to endpoints, then an index of deliveries
DELIVERY = "2026-11-23T21:00:00:000000"  # the next one adds a column to deliveries

# Days are left out: other tests drop and make those of the tests' own database. So are names of a partition's indexes,
# which PostgreSQL makes itself where the table has none yet.
_SCHEMA = r"""
SELECT * FROM (
SELECT 'column' AS kind, table_name AS name, concat_ws(' ', column_name, udt_name, column_default, is_nullable) AS made
FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT 'index', tablename, regexp_replace(indexdef, 'INDEX \w+_default_\w+', 'INDEX')
FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'constraint', conrelid::regclass::text,
    concat_ws(' ', conname, pg_get_constraintdef(oid), convalidated)
FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conrelid <> 0
UNION ALL SELECT 'trigger', tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT 'function', proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
) AS everything WHERE name !~ '_\d{8}$' ORDER BY 1, 2, 3"""

Made = Callable[[str], Awaitable[dict[str, str]]]


@pytest.fixture
async def made(servers: Services, connected: None) -> AsyncIterator[Made]:
    """Make a database with the migrations up to one. Return the settings of a process on it."""
    settings = settings_on(servers, DATABASE_URL=servers.database_url.replace("/leadwire?", "/migrated?"))
    forwards = (sys.executable, "-m", "piccolo.main", "migrations", "forwards", "leadwire", "--migration_id")
    await db.rows("CREATE DATABASE migrated")

    async def make(last: str) -> dict[str, str]:
        await asyncio.to_thread(
            subprocess.run, [*forwards, last], cwd=ROOT, env=environment(**settings), check=True, capture_output=True
        )
        return settings

    yield make
    await db.rows("DROP DATABASE migrated WITH (FORCE)")


async def migrated(settings: dict[str, str]) -> str:
    """Migrate, with the patience for a loaded machine. Return what it printed."""
    with contextlib.closing(Started("migrate", **settings)) as migrate:
        await eventually(lambda: not migrate.running())
        assert migrate.process.returncode == 0, migrate.err
        return migrate.out


@pytest.fixture
async def empty(servers: Services, connected: None) -> AsyncIterator[None]:
    """This process is on a database without tables, as `serve` is with an embedded one."""
    await db.rows("CREATE DATABASE migrated")
    async with moved_to(servers.database_url.replace("/leadwire?", "/migrated?"), "engine", restarted=False):
        yield
    await db.rows("DROP DATABASE migrated WITH (FORCE)")


async def test_a_machine_that_stalls_may_make_its_first_tables(empty: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading the migrations takes some seconds of a slow one, in the transaction that makes all tables."""
    forwards, patience = migrations._forwards, []

    async def noted() -> None:
        patience.append(await db.value("SELECT current_setting('idle_in_transaction_session_timeout')"))
        await forwards()

    monkeypatch.setattr(migrations, "_forwards", noted)
    await migrations.migrate()
    assert patience == ["0"]
    assert await migrations.lacking() == []


@pytest.mark.flow
async def test_steps_make_the_tables_that_one_transaction_makes_and_only_one_at_once_makes_them(made: Made) -> None:
    settings = await made(FIRST)
    both = await asyncio.gather(migrated(settings), migrated(settings))
    assert sorted(both)[1] == "nothing to do\n", both
    sql = await asyncpg.connect(settings["DATABASE_URL"])
    assert [tuple(row) for row in await sql.fetch(_SCHEMA)] == [tuple(row) for row in await db.rows(_SCHEMA)]
    assert not await sql.fetch("SELECT name FROM migration WHERE app_name = $1", steps.NOTED)
    await sql.close()


@pytest.mark.flow
async def test_the_plan_says_what_a_migration_would_lock_and_changes_nothing(made: Made) -> None:
    settings = await made(DELIVERY)
    for _ in range(2):
        result = await asyncio.to_thread(run, "migrate", "--plan", **settings)
        assert result.returncode == 0, result
        says = "  ALTER TABLE delivery ADD COLUMN retry_at timestamptz\n      locks delivery for a moment\n"
        assert f"2026-11-23T22:00:00:000000  retry_at\n{says}" in result.stdout


def test_the_plan_says_how_much_is_read_of_what_is_large() -> None:
    sizes = {"lead": 5 * 2**30, "bot": 2**13}
    reads = frozenset({"lead", "bot", "made_by_another_migration"})
    goes_on, waits = (plan.Step("", frozenset(), reads, stops=stops) for stops in (False, True))
    assert list(migration_plan._effects(goes_on, sizes)) == ["reads 5.0 GB of lead; changes go on"]
    assert list(migration_plan._effects(waits, sizes)) == ["reads 5.0 GB of lead; changes wait until that is done"]


async def test_the_plan_says_for_how_long_leads_are_copied() -> None:
    _, script = (await plan.scripts())["2026-11-22T12:10:00:000000"]
    (copies,) = (step for step in plan.effects(script) if step.copies)
    says = "copies 5.0 GB of lead in batches, for up to 21 min; changes go on"
    assert list(migration_plan._effects(copies, {"lead": 5 * 2**30})) == [says]


@pytest.mark.flow
async def test_a_step_gives_way_to_changes_while_a_dump_reads_and_says_who_it_waits_for(made: Made) -> None:
    settings = await made(DELIVERY)
    dump, change = [await asyncpg.connect(settings["DATABASE_URL"]) for _ in range(2)]
    await dump.execute("SET application_name = 'pg_dump'; BEGIN ISOLATION LEVEL REPEATABLE READ")
    await dump.execute("LOCK TABLE delivery IN ACCESS SHARE MODE")
    with contextlib.closing(Started("migrate", **settings)) as migrate:
        await eventually(lambda: "ALTER TABLE delivery ADD COLUMN retry_at timestamptz: has no lock" in migrate.err)
        await eventually(
            lambda: f"pid {dump.get_server_pid()} (pg_dump, user postgres, idle in transaction" in migrate.err
        )
        await change.execute("DELETE FROM delivery")  # it would wait forever behind a migration that waits
        await dump.execute("COMMIT")
        await eventually(lambda: not migrate.running())
        assert migrate.process.returncode == 0, migrate.err
    assert await change.fetchval("SELECT count(retry_at) FROM delivery") == 0
    await dump.close()
    await change.close()


@pytest.mark.flow
async def test_a_migration_that_was_killed_goes_on_where_it_was(made: Made) -> None:
    settings = await made(JOBS)
    writer, look = [await asyncpg.connect(settings["DATABASE_URL"]) for _ in range(2)]
    await writer.execute("BEGIN; LOCK TABLE delivery IN ROW EXCLUSIVE MODE")
    with contextlib.closing(Started("migrate", **settings)) as migrate:  # SIGKILL
        await eventually(lambda: f"pid {writer.get_server_pid()} (" in migrate.err)
    invalid = "SELECT count(*) FROM pg_index WHERE indexrelid = to_regclass('delivery_by_position') AND NOT indisvalid"
    assert await look.fetchval(invalid) == 1
    await writer.execute("ROLLBACK")
    await eventually(lambda: look.fetchval("SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory'"))
    await migrated(settings)
    assert await look.fetchval(invalid) == 0
    await writer.close()
    await look.close()


@pytest.mark.flow
async def test_a_copy_has_what_is_changed_while_it_is_made(made: Made) -> None:
    settings = await made(FIRST)
    writer = await asyncpg.connect(settings["DATABASE_URL"])
    for text in ("first", "second"):
        await insert(writer, await writer.fetch(COLUMNS), text)
    await writer.execute("BEGIN; SELECT FROM lead WHERE id = 'first' FOR UPDATE")  # lets triggers of the table be made
    with contextlib.closing(Started("migrate", **settings)) as migrate:
        await eventually(lambda: "DO $$ DECLARE after text" in migrate.err)
        await writer.execute("UPDATE lead SET score = 9, updated_at = updated_at - interval '1 day' WHERE id = 'first'")
        await writer.execute("COMMIT")
        await eventually(lambda: not migrate.running())
        assert migrate.process.returncode == 0, migrate.err
    copied, leads = [
        await writer.fetch(f"SELECT workspace_id, updated_at, id, bot_id, score FROM {table} ORDER BY id")
        for table in ("lead_by_update", "lead")
    ]
    assert [row["score"] for row in leads] == [9, 0]
    assert copied == leads
    await writer.close()


@pytest.mark.flow
async def test_a_database_of_another_history_is_left_as_it_is(made: Made) -> None:
    settings = await made(FIRST)
    sql = await asyncpg.connect(settings["DATABASE_URL"])
    await sql.execute("INSERT INTO migration (app_name, name) VALUES ('leadwire', '2026-11-22T00:00:01:000000')")
    says = "the database has 1 migrations of another history, from 2026-11-22T00:00:01:000000, and lacks "
    migrated = refused(await asyncio.to_thread(run, "migrate", **settings))
    assert says in migrated
    assert migrated.endswith("go on with the version that made it, or begin with an empty database")
    examined = await asyncio.to_thread(run, "doctor", **settings)
    assert f"ERROR    migrations: {says}" in examined.stdout, examined
    assert "Traceback" not in examined.stderr
    await sql.close()


async def test_a_step_that_gets_no_lock_gives_up_in_words(database: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "PATIENCE", 0.0)
    holder = await asyncpg.connect(db.DB.config["dsn"])
    async with holder.transaction():
        await holder.execute("LOCK TABLE discard IN ACCESS SHARE MODE")
        with pytest.raises(steps.OperatorError, match=r"^DROP TABLE discard: no lock within 0 s; run it again later$"):
            await steps.run("test", "", "DROP TABLE discard")
    await holder.close()


async def test_an_index_of_a_table_with_partitions_is_built_for_each_and_goes_on_where_it_was(database: None) -> None:
    outside = await asyncpg.connect(db.DB.config["dsn"])  # a transaction of its own for each statement
    await outside.execute("CREATE TABLE made (a int) PARTITION BY RANGE (a)")
    try:
        for number in range(3):
            await outside.execute(
                f"CREATE TABLE made_{number} PARTITION OF made FOR VALUES FROM ({number}) TO ({number + 1})"
            )
        await outside.execute("INSERT INTO made VALUES (0), (1), (1), (2)")
        for _ in range(2):  # the second time it goes on
            with pytest.raises(steps.OperatorError, match="could not create unique index"):
                await steps.run("test", "", "CREATE UNIQUE INDEX made_by_a ON made (a)")
            assert await _valid(outside) == {"made_by_a": False, "made_0_by_a": True, "made_1_by_a": False}
        await outside.execute("DELETE FROM made WHERE a = 1")
        await outside.execute("CREATE TABLE made_3 PARTITION OF made FOR VALUES FROM (3) TO (4)")
        await steps.run("test", "", "CREATE UNIQUE INDEX made_by_a ON made (a)")
        await outside.execute("CREATE TABLE made_4 PARTITION OF made FOR VALUES FROM (4) TO (5)")
        names = ("made_by_a", "made_0_by_a", "made_1_by_a", "made_2_by_a", "made_3_a_idx", "made_4_a_idx")
        assert await _valid(outside) == dict.fromkeys(names, True)
    finally:
        await steps.forget()
        await outside.execute("DROP TABLE made")
        await outside.close()


async def test_a_partition_that_is_dropped_meanwhile_needs_no_index(
    database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relay drops the days that are past retention, also while indexes of all days are built."""
    outside = await asyncpg.connect(db.DB.config["dsn"])
    await outside.execute("CREATE TABLE made (a int) PARTITION BY RANGE (a)")
    index = steps._index

    async def dropped(step: str, name: str) -> None:
        if name == "made_0_by_a":
            await outside.execute("DROP TABLE made_0")
        await index(step, name)

    try:
        for number in range(2):
            await outside.execute(
                f"CREATE TABLE made_{number} PARTITION OF made FOR VALUES FROM ({number}) TO ({number + 1})"
            )
        monkeypatch.setattr(steps, "_index", dropped)
        await steps.run("test", "", "CREATE INDEX made_by_a ON made (a)")
        assert await _valid(outside) == {"made_by_a": True, "made_1_by_a": True}
    finally:
        await steps.forget()
        await outside.execute("DROP TABLE made")
        await outside.close()


async def _valid(connection: asyncpg.Connection) -> dict[str, bool]:
    """Whether each index of the table `made`, and of its partitions, is valid."""
    query = "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON indexrelid = oid WHERE relname LIKE 'made%'"
    return dict(await connection.fetch(query))


def test_a_script_is_split_at_what_ends_a_statement_and_nothing_else() -> None:
    script = """
    -- It's a comment; with both.
    CREATE TABLE made (a text DEFAULT 'a;b'); CREATE INDEX of_made ON made (a); -- behind; one
    CREATE FUNCTION f() RETURNS int AS $$ BEGIN; RETURN 1; END $$ LANGUAGE plpgsql;
    CREATE UNIQUE INDEX of_lead ON lead (id) -- at the end;
    """
    assert [steps.line(step) for step in steps.split(script)] == [
        "CREATE TABLE made (a text DEFAULT 'a;b')",
        "CREATE INDEX of_made ON made (a)",
        "CREATE FUNCTION f() RETURNS int AS $$ BEGIN; RETURN 1; END $$ LANGUAGE plpgsql",
        "CREATE UNIQUE INDEX CONCURRENTLY of_lead ON lead (id)",
    ]
