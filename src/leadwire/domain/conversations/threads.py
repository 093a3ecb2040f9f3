"""What the inbox lists, and what it says of the conversation that is open. Rows are for templates.

Each list is read in the order of an index and stops after some rows, however many conversations are open.
"""

import functools
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from leadwire.domain.conversations.schema import ConversationNotFound
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.statements import Statement, sql
from leadwire.infrastructure.ids import is_id

Place = Literal["mentions", "waiting", "mine", "theirs", "bot", "snoozed"]
COUNTED: Final = 1_000
"""Conversations of a list that are counted, besides those that are shown."""
MOST_UNREAD: Final = 10
"""Messages of a conversation that are counted as not read."""
_SHOWN: Final = 40  # of each list
_SHOWN_ALONE: Final = 200  # of a list that is looked at alone

_WHERE: Final[dict[Place, str]] = {
    "waiting": "c.workspace_id = :workspace AND c.status = 'handoff' AND c.assigned_to IS NULL",
    "mine": "c.workspace_id = :workspace AND c.status = 'handoff' AND c.assigned_to = :user_id"
    " AND (c.snoozed_until IS NULL OR c.snoozed_until <= :now)",
    "theirs": "c.workspace_id = :workspace AND c.status = 'handoff' AND c.assigned_to = u.id",
    "bot": "c.workspace_id = :workspace AND c.status = 'active'",
    "snoozed": "c.workspace_id = :workspace AND c.status = 'handoff' AND c.assigned_to = :user_id"
    " AND c.snoozed_until > :now",
    "mentions": "c.workspace_id = :workspace",
}
_ORDER: Final[dict[Place, str]] = {
    "waiting": "c.handoff_requested_at, c.id",
    "mine": "c.updated_at DESC, c.id DESC",
    "theirs": "c.updated_at DESC, c.id DESC",
    "bot": "c.created_at DESC, c.id DESC",
    "snoozed": "c.snoozed_until",
    "mentions": "m.mentioned_at DESC",
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
# The last message that is not the bot's.
_LAST: Final = """LEFT JOIN LATERAL (
    SELECT m.role, m.created_at FROM message m WHERE m.conversation_id = c.id AND m.role <> 'bot'
    ORDER BY m.conversation_id DESC, m.seq DESC LIMIT 1) AS last ON true"""
# Since when the visitor waits for a person: they asked for one, or wrote again after an answer. NULL if they do not.
_WAITS_SINCE: Final = """CASE WHEN c.status <> 'handoff' THEN NULL
    WHEN c.assigned_to IS NULL THEN c.handoff_requested_at
    WHEN last.role IS DISTINCT FROM 'user' THEN NULL WHEN c.first_response_at IS NULL THEN c.handoff_requested_at
    ELSE (SELECT w.created_at FROM message w WHERE w.conversation_id = c.id AND w.role = 'user' AND w.seq > (
        SELECT a.seq FROM message a WHERE a.conversation_id = c.id AND a.role = 'agent'
        ORDER BY a.conversation_id DESC, a.seq DESC LIMIT 1) ORDER BY w.conversation_id, w.seq LIMIT 1) END"""
_WORDS: Final = "(SELECT m.content FROM message m WHERE m.conversation_id = c.id AND m.role = 'user'"
_LATEST: Final = "ORDER BY m.conversation_id DESC, m.seq DESC LIMIT 1)"
# For each conversation its visitor's name and last words, other than their name or address, and what the person has
# not read.
_THREADS: Final = """
SELECT c.place, c.total, c.id, c.bot_id, coalesce((SELECT coalesce(l.name, l.email) FROM lead l WHERE l.id = c.lead_id),
        c.visitor_name, c.visitor_email) AS name,
    c.assigned_to, coalesce(c.handoff_requested_at, c.created_at) AS since, c.snoozed_until, c.end_due_at, c.tags,
    left(coalesce({words} AND coalesce(m.answers, '') <> ALL ('{{name,email,phone,company}}') {latest},
        {words} {latest}), 160) AS words,
    last.created_at AS last_at, {waits_since} AS waits_since, c.source_url, c.timezone,
    r.mentioned_at IS NOT NULL AS mentioned, c.status,
    CASE WHEN c.place IN ('waiting', 'mine') THEN (SELECT count(*) FROM (
        SELECT 1 FROM message m WHERE m.conversation_id = c.id AND m.seq > coalesce(r.seq, 0) AND m.role = 'user'
        LIMIT {most_unread}) AS new) ELSE 0 END AS unread
FROM ({some}) AS c
LEFT JOIN conversation_read r ON r.user_id = :user_id AND r.conversation_id = c.id
{last}
ORDER BY {again}"""
_BOUNDED: Final = "(SELECT count(*) FROM (SELECT 1 FROM conversation c WHERE {} LIMIT {}) AS bounded) AS {}"
_COUNTS: Final = sql(
    "SELECT " + ", ".join(_BOUNDED.format(_WHERE[place], COUNTED, place) for place in ("mine", "waiting"))
)
# What the inbox needs to know of the conversation that is open.
_ONE: Final = sql(f"""
SELECT status, assigned_to, tags, snoozed_until, end_due_at, first_response_at, handoff_requested_at,
    seen_by_visitor_seq, messages_count, rating, rating_comment,
    CASE WHEN status = 'ended' THEN 'ended' WHEN status = 'active' THEN 'bot' WHEN assigned_to IS NULL THEN 'waiting'
        WHEN assigned_to <> :user_id THEN 'theirs' WHEN snoozed_until > :now THEN 'snoozed' ELSE 'mine' END AS place,
    (SELECT seq FROM conversation_read r WHERE r.user_id = :user_id AND r.conversation_id = c.id) AS read_seq,
    (SELECT mentioned_at FROM conversation_read r WHERE r.user_id = :user_id AND r.conversation_id = c.id)
        AS mentioned_at, {_WAITS_SINCE} AS waits_since
FROM conversation c {_LAST} WHERE workspace_id = :workspace AND id = :id""")


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
    where, order = _WHERE[place], _ORDER[place]
    if longest and "updated_at" in order:
        order = order.replace(" DESC", "")
    where = " AND ".join([where, *(text for name, text in _FILTERS.items() if name in filters)])
    source = _FROM.get(place, "FROM conversation c")
    if place == "theirs":
        each = _OF_COLLEAGUES.format(where=where, order=order, most=_SHOWN)
        where, source = "u.workspace_id = :workspace AND u.id <> :user_id", each
    parts = {"place": place, "source": source, "where": where, "order": order, "most": most}
    some = _SOME.format(**parts, counted=COUNTED + most)
    again = order.replace("m.", "r.")  # a join keeps no order
    said = {"last": _LAST, "waits_since": _WAITS_SINCE, "words": _WORDS, "latest": _LATEST}
    return sql(_THREADS.format(most_unread=MOST_UNREAD, some=some, again=again, **said))


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
    for place in _ORDER:
        if wanted.place not in (None, place):
            continue
        statement = _statement(place, filters, longest=wanted.longest, most=most)
        now = {"now": clock.now()} if "now" in statement.names else {}
        found = await statement.rows(**values, **now)
        places[place] = found
        more[place] = min(found[0]["total"] - len(found), COUNTED) if found else 0
    shown = {one["id"] for place, found in places.items() if place != "mentions" for one in found}
    if "mentions" in places:
        places["mentions"] = [one for one in places["mentions"] if one["id"] not in shown]
    if wanted.longest:
        for found in places.values():
            found.sort(key=lambda one: one["waits_since"] is None)
    return Threads(places, more)


async def counts(workspace: str, user_id: str) -> db.Row:
    """How many conversations are `mine`, and how many are `waiting` for anybody: up to `COUNTED` of each."""
    return await _COUNTS.one(AssertionError(), workspace=workspace, user_id=user_id, now=clock.now())


async def one(workspace: str, conversation_id: str, user_id: str) -> db.Row:
    """Return what the inbox says of the conversation that is open. Raise ConversationNotFound."""
    if not is_id("conv", conversation_id):
        raise ConversationNotFound
    values = {"workspace": workspace, "id": conversation_id, "user_id": user_id, "now": clock.now()}
    return await _ONE.one(ConversationNotFound(), **values)
