"""Conversations as the screens list them: filtered, and walked by key."""

from datetime import timedelta
from typing import Annotated, Final

from msgspec import Meta, Struct

from leadwire.domain.conversations import reads
from leadwire.domain.conversations.reads import ConversationQuery
from leadwire.domain.conversations.schema import LIST_COLUMNS, Conversation, Status, from_row
from leadwire.domain.listing.keyset import Keyset
from leadwire.domain.listing.page_query import BotId, Moment
from leadwire.infrastructure import db

_DAY: Final = timedelta(days=1)
_JUST_BEFORE: Final = timedelta(milliseconds=1)
_LIST: Final = Keyset(
    table="conversation",
    columns=LIST_COLUMNS,
    key={"created_at": "timestamptz", "id": "text"},
    text="""concat_ws(' ', visitor_name, visitor_email,
        (SELECT concat_ws(' ', name, email) FROM lead WHERE lead.id = looked_at.lead_id))""",
)
_OPENER: Final = """
SELECT id, (SELECT coalesce(l.name, l.email) FROM conversation c JOIN lead l ON l.id = c.lead_id WHERE c.id = asked.id)
    AS lead, (SELECT left(content, 200) FROM message WHERE conversation_id = asked.id AND role = 'user'
    ORDER BY conversation_id, seq LIMIT 1) AS said
FROM unnest($1::text[]) AS asked (id)"""


class ConversationSearch(Struct, frozen=True, kw_only=True):
    """What is looked for. `since` and `until` are days (UTC), both included."""

    q: Annotated[str, Meta(max_length=200)] = ""
    status: Status | None = None
    bot_id: BotId | None = None
    since: Moment | None = None
    until: Moment | None = None
    after: Annotated[str, Meta(max_length=100)] = ""


class Found(Struct, frozen=True):
    """One page, newest first. `openers` has what each visitor said first, `leads` the names of those who became leads;
    `after` and `stopped` as for leads.
    """

    conversations: list[Conversation]
    openers: dict[str, str]
    leads: dict[str, str]
    after: str | None
    stopped: bool


async def page(workspace: str, search: ConversationSearch, limit: int = 50) -> Found:
    """One page. Raises InvalidParameter for a strange `after`."""
    given = {
        "status = {}": search.status,
        "bot_id = {}": search.bot_id,
        "created_at >= {}": search.since,
        "created_at < {}": search.until and search.until + _DAY,
    }
    conditions = {condition: value for condition, value in given.items() if value is not None}
    found = await _LIST.page(workspace, conditions, search.after, limit, search.q)
    talks = [from_row(row) for row in found.rows]
    more = await db.rows(_OPENER, [talk.id for talk in talks])
    openers = {row["id"]: row["said"] or "" for row in more}
    leads = {row["id"]: row["lead"] for row in more if row["lead"]}
    return Found(talks, openers, leads, found.after, found.stopped)


async def total(workspace: str, search: ConversationSearch) -> int | None:
    """How many conversations match, exactly; None where that would take looking at each."""
    if search.q:
        return None
    asked = ConversationQuery(
        limit=1,
        status=search.status,
        bot_id=search.bot_id,
        since=search.since and search.since - _JUST_BEFORE,
        until=search.until and search.until + _DAY,
    )
    return (await reads.page(workspace, asked))[1]
