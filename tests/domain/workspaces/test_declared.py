"""One place to touch for a table: with a declaration beside its columns, everything that has to know it does."""

import json

import pytest
from piccolo.columns import Bytea, Text, Timestamptz
from piccolo.table import Table

from leadwire.domain.privacy import erasure, person_copy, retention
from leadwire.domain.workspaces import changes, export, import_file, move
from leadwire.infrastructure import db, secret_box
from leadwire.infrastructure.db import DB, declared
from leadwire.infrastructure.db.declared import Declared
from tests import make
from tests.domain.bots.conftest import published

MAKE = """
CREATE TABLE gift (id text PRIMARY KEY, workspace_id text NOT NULL REFERENCES workspace ON DELETE CASCADE,
    lead_id text NOT NULL, words text NOT NULL, code bytea, place int, created_at timestamptz NOT NULL DEFAULT now())"""


class Gift(Table, db=DB, tablename="gift"):
    """What somebody has got."""

    declared = Declared(
        line="gift", sealed="code", hidden="place", moved={"place": "0"},
        person="lead_id = :lead", listed="gifts", order="id", ends="created_at < now() - interval '7 days'",
    )  # fmt: skip

    id = Text(primary_key=True)
    workspace_id = Text()
    lead_id = Text()
    words = Text()
    code = Bytea(null=True)
    place = Text(null=True)
    created_at = Timestamptz()


async def rows():
    """The rows of the table, without what an export leaves out."""
    found = await db.rows("SELECT id, workspace_id, lead_id, words FROM gift ORDER BY id")
    return [tuple(row) for row in found]


@pytest.fixture
async def gifts(database, workspace, bot, monkeypatch):
    """A new table with a row of each of two workspaces' leads."""
    tables = declared.in_order([*declared.every(), Gift])
    monkeypatch.setattr(declared, "every", lambda: tables)
    await db.rows(MAKE)
    other, _ = await changes.create("Other")
    made = []
    for place, of in ((workspace, bot), (other, (await published(other)).id)):
        lead = await make.lead(place, of)
        code = secret_box.get().seal("secret", secret_box.place(Gift.code, f"gift_{place}"))
        await db.rows("INSERT INTO gift VALUES ($1, $2, $3, 'A cup', $4, 7)", f"gift_{place}", place, lead.id, code)
        made.append((f"gift_{place}", place, lead.id, "A cup"))
    yield made
    await db.rows("DROP TABLE gift")


async def test_it_is_exported_imported_and_deleted(gifts, tmp_path):
    mine, theirs = gifts
    await export.write(mine[1], path := tmp_path / "export.ndjson")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [set(line["data"]) for line in lines if line["kind"] == "gift"] == [{"id", "lead_id", "words", "created_at"}]
    assert lines[-2]["kind"] == "gift"  # behind what files of versions before have
    await changes.delete(mine[1])
    assert await rows() == [theirs]
    await import_file.read(path)
    assert await rows() == [mine, theirs]
    assert await db.rows("SELECT 1 FROM gift WHERE code IS NOT NULL AND workspace_id = $1", mine[1]) == []


async def test_it_is_in_a_persons_copy_and_erased(gifts):
    mine, theirs = gifts
    copy = json.loads(b"".join([some async for some in person_copy.as_json(mine[1], mine[2])]))
    assert [(one["id"], one["words"]) for one in copy["gifts"]] == [(mine[0], "A cup")]
    await erasure.erase_lead(mine[1], mine[2])
    assert await rows() == [theirs]


async def test_it_is_kept_for_as_long_as_it_says(gifts):
    mine, theirs = gifts
    await db.rows("UPDATE gift SET created_at = now() - interval '8 days' WHERE id = $1", mine[0])
    await retention.delete_ended(Gift)
    assert await rows() == [theirs]


async def test_it_is_emptied_between_tests(gifts):
    assert Gift in declared.emptied()


@pytest.mark.flow
async def test_it_moves_with_its_secret(pair, gifts):
    first, second = pair
    mine, _ = gifts
    async with second.inside():
        await db.rows(MAKE)
        await move.move(mine[1], first.url, first.keys)
        assert await rows() == [mine]
        code, place = await db.row("SELECT code, place FROM gift")
        assert secret_box.get().open(code, secret_box.place(Gift.code, mine[0])) == "secret"
        assert place == 0
        await db.rows("DROP TABLE gift")


def test_one_without_a_declaration_is_refused():
    class Unsaid(Table, db=DB, tablename="unsaid"):
        id = Text(primary_key=True)

    with pytest.raises(AttributeError, match="declared"):
        declared.in_order([Unsaid])
