"""What the inbox lists, and what it says of the conversation that is open. Rows are for templates.

Each list is read in the order of an index and stops after some rows, however many conversations are open.
"""

import functools
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from leadwire.domain.conversations.schema import ConversationNotFound
from leadwire.domain.leads.schema import TEXTS
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import Statement, parts, sql

Place = Literal["mentions", "waiting", "mine", "theirs", "bot", "snoozed"]
COUNTED: Final = 1_000
"""Conversations of a list that are counted, besides those that are shown: `inbox_reads.sql` says so, too."""
MOST_UNREAD: Final = 10
"""Messages of a conversation that are counted as not read: `inbox_reads.sql` says so, too."""
_SHOWN: Final = 40  # of each list
_SHOWN_ALONE: Final = 200  # of a list that is looked at alone

_PARTS: Final = parts(__file__)
_CHANGED: Final = "c.updated_at DESC, c.id DESC"
# The condition of each list, and its order.
_LISTS: Final[dict[Place, tuple[str, str]]] = {
    "waiting": (_PARTS["waiting"], "c.handoff_requested_at, c.id"),
    "mine": (_PARTS["mine"], _CHANGED),
    "theirs": ("c.workspace_id = :workspace AND c.status = 'handoff' AND c.assigned_to = u.id", _CHANGED),
    "bot": ("c.workspace_id = :workspace AND c.status = 'active'", "c.created_at DESC, c.id DESC"),
    "snoozed": (_PARTS["snoozed"], "c.snoozed_until"),
    "mentions": ("c.workspace_id = :workspace", "m.mentioned_at DESC"),
}
_FROM: Final[dict[Place, str]] = {
    "mentions": "FROM conversation_read m JOIN conversation c ON c.id = m.conversation_id"
    " AND m.user_id = :user_id AND m.mentioned_at IS NOT NULL",
}
_FILTERS: Final = {"bot_id": "c.bot_id = :bot_id", "tag": "c.tags @> ARRAY[:tag]::text[] AND c.tags <> '{}'"}
# One place, or colleagues' one after the other, each in the order of the index; how many there are is counted to a
# bound.
_SOME: Final = """
SELECT '{place}' AS place, c.*, (SELECT count(*) FROM (SELECT 1 {source} WHERE {where} LIMIT {counted}) AS all_of_it)
    AS total
{source} WHERE {where} ORDER BY {order} LIMIT {most}"""
_OF_COLLEAGUES: Final = """
FROM user_account u, LATERAL (SELECT * FROM conversation c WHERE {where} ORDER BY {order} LIMIT {most}) AS c"""


class Wanted(Struct, frozen=True):
    """Which conversations a person wants to see. `longest`: those of a list that wait longest come first."""

    place: Place | None = None
    bot_id: str = ""
    tag: str = ""
    longest: bool = False


class Threads(Struct, frozen=True):
    """Open conversations by place, and of each place how many more there are, at most `COUNTED`."""

    places: dict[Place, list[db.Row]]
    more: Mapping[str, int]


@functools.cache
def _statement(place: Place, filters: frozenset[str], *, longest: bool, most: int) -> Statement:
    """What lists a place. How many rows it reads is part of the text: the planner has to know."""
    where, order = _LISTS[place]
    if longest and "updated_at" in order:
        order = order.replace(" DESC", "")
    where = " AND ".join([where, *(text for name, text in _FILTERS.items() if name in filters)])
    source = _FROM.get(place, "FROM conversation c")
    if place == "theirs":
        each = _OF_COLLEAGUES.format(where=where, order=order, most=_SHOWN)
        where, source = "u.workspace_id = :workspace AND u.id <> :user_id", each
    values = {"place": place, "source": source, "where": where, "order": order, "most": most}
    some = _SOME.format(**values, counted=COUNTED + most)
    again = order.replace("m.", "r.")  # a join keeps no order
    return sql(f"{_PARTS['shown']} FROM ({some}) AS c {_PARTS['joined']} ORDER BY {again}")


async def threads(workspace: str, user_id: str, wanted: Wanted) -> Threads:
    """Return the open conversations of a workspace as one person sees them. A conversation that they were mentioned in
    is under `mentions` only if no other list has it.
    """
    filters = frozenset(name for name in _FILTERS if getattr(wanted, name))
    values: dict[str, Any] = {name: getattr(wanted, name) for name in filters}
    values |= {"workspace": workspace, "user_id": user_id}
    most = _SHOWN_ALONE if wanted.place else _SHOWN
    places: dict[Place, list[db.Row]] = {}
    more: dict[str, int] = {}
    for place in _LISTS:
        if wanted.place not in (None, place):
            continue
        statement = _statement(place, filters, longest=wanted.longest, most=most)
        now = {"now": clock.now()} if "now" in statement.names else {}
        rows = await statement.rows(**values, **now, texts=list(TEXTS))
        places[place] = rows
        more[place] = min(rows[0]["total"] - len(rows), COUNTED) if rows else 0
    ids = {row["id"] for place, rows in places.items() if place != "mentions" for row in rows}
    if "mentions" in places:
        places["mentions"] = [row for row in places["mentions"] if row["id"] not in ids]
    if wanted.longest:
        for rows in places.values():
            rows.sort(key=lambda row: row["waits_since"] is None)
    return Threads(places, more)


@query(AssertionError)
async def counts(workspace: str, user_id: str) -> db.Row:
    """How many conversations are `mine`, and how many are `waiting` for anybody: up to `COUNTED` of each."""


@query(ConversationNotFound)
async def one(workspace: str, conversation_id: str, user_id: str) -> db.Row:
    """Return what the inbox says of the conversation that is open. Raise ConversationNotFound."""
