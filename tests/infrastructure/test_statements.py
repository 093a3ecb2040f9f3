"""Statements: what is read at import, and what is sent when they run."""

from pathlib import Path

import asyncpg
import pytest

from leadwire.delivery.monitoring import gauges
from leadwire.delivery.worker.health import FAILING_DAYS
from leadwire.domain.bots.table import Bot
from leadwire.domain.conversations import inbox_reads
from leadwire.domain.leads.table import Lead
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.statements import columns, insert, load, parts, sql
from leadwire.infrastructure.errors import NotFound

SOURCE = Path(__file__).parents[2] / "src" / "leadwire"


def test_a_file_of_sql_has_statements_by_name(tmp_path):
    (tmp_path / "reads.sql").write_text("""-- What is read here.

-- newest: the newest events
-- Materialized: else all are read.
SELECT :most

-- with_2xx: those that were answered
SELECT 2
""")
    found = load(str(tmp_path / "reads.py"))
    assert {name: (one.about, one.text) for name, one in found.items()} == {
        "newest": ("the newest events", "SELECT $1"),
        "with_2xx": ("those that were answered", "SELECT 2"),
    }


def test_a_part_stands_wherever_it_is_named(tmp_path):
    (tmp_path / "parts.sql").write_text("-- {other}: of no package\nfalse\n")
    (tmp_path / "domain" / "bots").mkdir(parents=True)
    (tmp_path / "domain" / "parts.sql").write_text("-- {mine}: of a workspace\nworkspace_id = :workspace\n")
    for package in ("domain", "domain/bots"):
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "domain" / "bots" / "reads.sql").write_text("""-- {one}
{mine} AND id = :id

-- one
SELECT '{}' FROM bot WHERE {one}
""")
    module = str(tmp_path / "domain" / "bots" / "reads.py")
    assert load(module)["one"].text == "SELECT '{}' FROM bot WHERE workspace_id = $1 AND id = $2"
    assert parts(module) == {"mine": "workspace_id = :workspace", "one": "workspace_id = :workspace AND id = :id"}


def test_a_part_that_is_not_there_fails_at_import(tmp_path):
    (tmp_path / "reads.sql").write_text("-- one\nSELECT {one}\n")
    with pytest.raises(KeyError):
        load(str(tmp_path / "reads.py"))


async def test_postgresql_knows_all_that_files_of_sql_name(database):
    """Columns, tables and functions; and the type of each value."""
    files = [path for path in sorted(SOURCE.rglob("*.sql")) if path.name != "parts.sql"]
    for path in files:
        for name, one in load(str(path)).items():
            assert one.text, f"{path}: {name}"
            async with db.transaction():
                try:
                    await DB.current_transaction.get().connection.prepare(one.text)
                except asyncpg.PostgresError as error:
                    raise AssertionError(f"{path}: {name}") from error


def test_text_has_places_by_name_and_keeps_its_casts():
    made = sql("SELECT :a::text, b::int FROM t WHERE at > :at AND x = :a")
    assert (made.text, made.names) == ("SELECT $1::text, b::int FROM t WHERE at > $2 AND x = $1", ("a", "at"))


def test_an_insert_names_its_columns_and_leaves_the_others_to_the_database():
    made = insert(Lead.id, Lead.name, end="ON CONFLICT DO NOTHING")
    assert made.text == "INSERT INTO lead (id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING"
    assert made.names == ("id", "name")


def test_columns_are_named_in_their_order_and_one_that_is_not_there_fails_at_import():
    assert columns(Lead, "score id") == [Lead.score, Lead.id]
    with pytest.raises(ValueError, match="nope"):
        columns(Lead, "id nope")


@pytest.mark.parametrize("values", [{}, {"b": 1}, {"a": 1, "b": 2}])
def test_values_that_do_not_fit_are_refused_before_anything_is_sent(values):
    with pytest.raises((KeyError, TypeError)):
        sql("SELECT :a").arguments(values)


async def test_a_statement_runs_in_the_open_transaction_and_answers_rows_a_row_or_a_value(workspace):
    add = insert(Bot.id, Bot.workspace_id, Bot.name, Bot.created_at, end="RETURNING id")
    assert await add.value(id="bot_x", workspace_id=workspace, name="Ada", created_at=clock.now()) == "bot_x"
    found = sql("SELECT id, name FROM bot WHERE workspace_id = :workspace AND id = :id LIMIT :limit")
    sought = {"workspace": workspace, "id": "bot_x"}
    async with db.transaction():
        assert [tuple(row) for row in await found.rows(**sought, limit=5)] == [("bot_x", "Ada")]
    assert tuple(await found.row(**sought, limit=1)) == ("bot_x", "Ada")
    assert await found.row(workspace="ws_other", id="bot_x", limit=1) is None
    assert tuple(await found.one(NotFound("no bot"), **sought, limit=1)) == ("bot_x", "Ada")
    with pytest.raises(NotFound, match="no bot"):
        await found.one(NotFound("no bot"), workspace="ws_other", id="bot_x", limit=1)


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("delivery/monitoring/gauges.sql", [f"LIMIT {gauges.CAPPED})"]),
        (
            "domain/conversations/inbox_reads.sql",
            [f"LIMIT {inbox_reads.COUNTED})", f"LIMIT {inbox_reads.MOST_UNREAD})"],
        ),
        ("domain/notices/reads.sql", [f"interval '{FAILING_DAYS - days} days'" for days in (0, 1)]),
    ],
)
def test_a_limit_that_people_are_told_is_the_one_of_the_statement(path, texts):
    text = (SOURCE / path).read_text()
    assert [one for one in texts if one not in text] == []
