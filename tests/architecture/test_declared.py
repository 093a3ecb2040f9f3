"""What tables declare is true: of their columns, and of what the database does."""

import re

import pytest

from leadwire.infrastructure import db
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.declared import declaration, every, name

TABLES = {name(table): table for table in every()}
NAMES_A_PERSON = {"lead_id", "conversation_id", "event_id", "about", "recipient", "address"}
STAYS = {
    "conversation_read",  # how far an operator has read
    "blocked_visitor",  # who was blocked stays so, by a hash, as long as the conversation
    "audit_entry", "user_session", "mail_suppression",  # addresses of the workspace's own people; by its own condition
}  # fmt: skip
BY_TRIGGER = {"lead_by_update": "lead"}
FOREIGN_KEYS = """
SELECT conrelid::regclass::text AS "table", confrelid::regclass::text AS other, confdeltype = 'c' AS cascades
FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace AND conparentid = 0"""


async def test_every_table_has_one(database):
    stored = await db.rows(
        """SELECT relname FROM pg_class WHERE relkind IN ('r', 'p', 'v') AND NOT relispartition
           AND relnamespace = 'public'::regnamespace AND relname <> 'migration'"""
    )
    assert {row["relname"] for row in stored} == set(TABLES)
    for table in TABLES.values():
        declaration(table)


@pytest.mark.parametrize("table", TABLES.values(), ids=name)
def test_it_names_columns_and_tables_that_are_there(table):
    said = declaration(table)
    columns = {column._meta.name for column in table._meta.columns}
    stored = {column._meta.db_column_name for column in table._meta.columns}
    wanted = " ".join((said.hidden, said.sealed, said.anew, said.key if said.line else "")).split()
    assert set(wanted) <= columns
    assert {*said.moved, *said.made, *said.blank} <= stored
    assert {said.of, *said.refers.split()} - {""} <= set(TABLES)
    assert said.of in ("", "workspace") or declared.belongs_by(said) in stored
    assert set(said.by_hand.split()) <= {"deletion", "erasure"}
    assert bool(said.part or said.listed) == bool(said.order)


async def test_it_says_what_rows_refer_to_and_go_with(database):
    keys = await db.rows(FOREIGN_KEYS)
    for table, other, _ in keys:
        said = declaration(TABLES[table])
        assert other in ("workspace", said.of, *said.refers.split()), f"{table} refers to {other}"
    cascading = {(row["table"], row["other"]) for row in keys if row["cascades"]} | set(BY_TRIGGER.items())
    for table, said in ((table, declaration(TABLES[table])) for table in TABLES):
        if said.of and not (declared.alone(TABLES[table]) or said.view or "deletion" in said.by_hand):
            assert (table, said.of) in cascading or table == "login", f"{table} does not go with {said.of}"


def test_what_others_refer_to_comes_first():
    seen = {""}
    for table in every():
        said = declaration(table)
        assert {said.of, *said.refers.split()} - seen <= {name(table)}
        seen.add(name(table))


@pytest.mark.parametrize("table", TABLES.values(), ids=name)
def test_what_names_a_person_is_erased(table):
    columns = {column._meta.db_column_name for column in table._meta.columns}
    said = declaration(table)
    if columns & NAMES_A_PERSON and not said.view and name(table) not in STAYS:
        assert said.person or "erasure" in said.by_hand


def test_every_secret_is_hidden():
    """By its type: what is a secret is bytes, or hidden by name."""
    for table in every():
        said = declaration(table)
        if said.line or said.part or said.listed:
            shown = {column._meta.name for column in table._meta.columns if column.value_type is not bytes}
            secret = {one for one in shown if re.search(r"hash|secret|password|totp|^token$", one)}
            assert secret <= set(said.hidden.split()), name(table)
