"""The rows about a person, as their tables declare them: listed for a copy, and erased."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import Struct
from piccolo.table import Table

from leadwire.domain.conversations.table import IN_CONVERSATION
from leadwire.domain.listing.rows import select
from leadwire.infrastructure import db
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.declared import declaration, derived
from leadwire.infrastructure.db.statements import Statement, sql

# Lists that copies have had always, in their order; others follow.
_ORDER: Final = ("messages", "notes", "scores", "visits", "blocks")


class Person(Struct, frozen=True):
    """Somebody, by what names them in rows of a workspace; e-mail addresses in lower case."""

    workspace: str
    lead: str | None = None
    conversations: Sequence[str] = ()
    addresses: Sequence[str] = ()

    async def run(self, statement: Statement) -> list[db.Row]:
        """Run a statement that names some of these."""
        return await statement.rows(**{name: getattr(self, name) for name in statement.names})


class Rows(NamedTuple):
    """A table's rows in a copy: the list they are in, whether that is a conversation's, and what reads them."""

    name: str
    of_conversation: bool
    read: Statement


@derived
def lists(tables: Sequence[type[Table]]) -> list[Rows]:
    """Every list of a copy. One list may have rows of several tables."""
    parts = []
    for table in tables:
        said = declaration(table)
        if (name := said.listed or said.part) and (condition := said.shown or said.person):
            mine = condition == IN_CONVERSATION
            read = select(table, _where(table, condition), said.order, "conversation_id" if mine else "lead_id")
            parts.append(Rows(name, mine, read))
    return sorted(parts, key=lambda part: _ORDER.index(part.name) if part.name in _ORDER else len(_ORDER))


async def erase(person: Person, *, said: bool = False) -> None:
    """Erase what tables have about a person, in the open transaction; or only what repeats what was `said`."""
    for repeats, statement in _erasures():
        if repeats or not said:
            await person.run(statement)


@derived
def _erasures(tables: Sequence[type[Table]]) -> list[tuple[bool, Statement]]:
    statements = []
    for table in tables:
        if (said := declaration(table)).person:
            blank = ", ".join(f"{column} = {value}" for column, value in said.blank.items())
            change = f"UPDATE {declared.name(table)} SET {blank}" if blank else f"DELETE FROM {declared.name(table)}"
            statements.append((said.said, sql(f"{change} WHERE {_where(table, said.person)}")))
    return statements


def _where(table: type[Table], condition: str) -> str:
    return f"workspace_id = :workspace AND ({condition})" if declared.has(table, "workspace_id") else condition
