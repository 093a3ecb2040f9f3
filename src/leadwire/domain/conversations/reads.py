"""Looking conversations up, and what the inbox shows. Every query takes the workspace first. Rows are for templates."""

import re
from operator import attrgetter
from typing import Any, Final, Literal

import msgspec
from msgspec import structs

from leadwire.delivery.feed import StoredEvent, about
from leadwire.domain.conversations import schema
from leadwire.domain.conversations.plan import COLUMNS, Known
from leadwire.domain.conversations.schema import MAX_MESSAGES, Conversation, ConversationDetail, Status, StoredMessage
from leadwire.domain.leads import schema as leads
from leadwire.domain.leads.reads import stored as stored_lead
from leadwire.domain.listing.keyset import BY_BOT_AND_TIME, BY_TIME, BY_UPDATE, UPDATED, Keyset
from leadwire.domain.listing.listing import Figures, Listing
from leadwire.domain.listing.queries import PageQuery, SearchQuery
from leadwire.domain.search import reads as documents
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named, sql
from leadwire.infrastructure.ids import is_id


class ConversationQuery(PageQuery, frozen=True, kw_only=True):
    """The filters of the list."""

    status: Status | None = None
    """Only conversations in this state."""
    sort: Literal["created_at", "-created_at", "updated_at", "-updated_at"] | None = None


class ConversationSearch(SearchQuery, frozen=True, kw_only=True):
    """What is looked for on the screen."""

    status: Status | None = None


# A conversation with everything it has. One statement, so one snapshot; nested rows arrive as records and are not
# parsed from JSON.
_DETAIL: Final = sql(f"""
SELECT id, bot_id, status, visitor_email, visitor_name, created_at, updated_at,
    ARRAY(SELECT (m.id, m.role, m.content, m.created_at) FROM message m WHERE m.conversation_id = c.id ORDER BY m.seq),
    (SELECT ({leads.COLUMNS}) FROM lead WHERE lead.id = c.lead_id),
    {schema.METADATA_COLUMNS}
FROM conversation c WHERE workspace_id = :workspace AND id = :id""")
_LOCK: Final = sql(f"""
SELECT {", ".join(COLUMNS)}, xmin FROM conversation WHERE workspace_id = :workspace AND id = :id FOR UPDATE""")
_NEWEST: Final = Keyset(
    make=schema.from_row,
    table="conversation",
    columns=schema.LIST_COLUMNS,
    filters={"status": "status = :status", **BY_BOT_AND_TIME, **UPDATED},
    key=BY_TIME,
    text="""concat_ws(' ', visitor_name, visitor_email,
        (SELECT concat_ws(' ', name, email) FROM lead WHERE lead.id = looked_at.lead_id))""",
)


_OPEN: Final = ("active", "handoff")  # an operator gives a conversation back without an event; few are open at a time
_LIST: Final = Listing(
    _NEWEST,
    lambda *query: documents.having("conversation", *query),
    ("conversation.started", "conversation.deleted"),
    {"status": ("conversation.ended",)},
    {"status": _OPEN, **dict.fromkeys(("ids", *UPDATED))},
    sorts={"created_at": _NEWEST, "updated_at": structs.replace(_NEWEST, key=BY_UPDATE)},
)
page, search, total, export = _LIST.page, _LIST.search, _LIST.total, _LIST.export
filters, source = _NEWEST.used, _NEWEST.source
(_OF_LEAD,) = named(__file__, "of_lead")
_MINE: Final = "SELECT count(*) FROM conversation WHERE workspace_id = :workspace {bot}"
# How many conversations began on each day (UTC); in how many a person was asked for. Each from one index.
by_day: Final = Figures(f"{_MINE} AND {{on}}", by_day=True).rows
handed_off: Final = Figures(f"{_MINE} AND created_at >= :since AND handoff_requested_at IS NOT NULL").rows


async def lock(workspace: str, conversation_id: str, *, lead: bool = False) -> Known:
    """A conversation, locked until the open transaction ends; with `lead`, that of its visitor as well, in this order.
    Raise ConversationNotFound.
    """
    *values, version = await _LOCK.one(schema.ConversationNotFound(), workspace=workspace, id=conversation_id)
    row = dict(zip(COLUMNS, values, strict=True))
    stored = await stored_lead(workspace, row["lead_id"], lock=True) if lead and row["lead_id"] else None
    return Known(workspace, row, version, stored)


async def detail(workspace: str, conversation_id: str) -> ConversationDetail:
    """Return a conversation with its messages, lead and metadata. Raise ConversationNotFound."""
    missing = schema.ConversationNotFound()
    if not is_id("conv", conversation_id):
        raise missing
    row = await _DETAIL.one(missing, workspace=workspace, id=conversation_id)
    id_, bot_id, status, email, name, created_at, updated_at, rows, lead, *rest = row
    visitor, times = schema.Visitor(email, name), (clock.iso(created_at), clock.iso(updated_at))
    captured, metadata = leads.from_row(lead) if lead else None, schema.metadata_from_row(rest)
    return ConversationDetail(id_, bot_id, status, visitor, *times, _messages(rows), captured, metadata)


def visitor_of(conversation: ConversationDetail) -> str | None:
    """Return the visitor's name or else e-mail address: the lead's, which people correct, before what they typed."""
    lead, visitor = conversation.lead, conversation.visitor
    return (lead and (lead.name or lead.email)) or visitor.name or visitor.email


async def of_lead(workspace: str, lead_id: str) -> list[Conversation]:
    """Return the conversations of a lead, newest first."""
    rows = await _OF_LEAD.rows(workspace=workspace, lead_id=lead_id)
    return sorted((schema.from_row(row) for row in rows), key=attrgetter("created_at", "id"), reverse=True)


async def events(workspace: str, conversation_id: str) -> list[StoredEvent]:
    """Return the latest events about a conversation, newest first."""
    return await about(workspace, "conversation_id", conversation_id)


def variables(conversation: ConversationDetail) -> dict[str, Any]:
    """Return the flow's variables, parsed if they still are the database's text."""
    values = conversation.metadata.variables
    return msgspec.json.decode(values) if isinstance(values, msgspec.Raw) else values


@query()
async def messages(workspace: str, conversation_id: str, after: int, until: int = MAX_MESSAGES) -> list[StoredMessage]:
    """Return the messages after the place `after` and up to `until`, in order."""


@query(schema.ConversationNotFound)
async def _counted(workspace: str, conversation_id: str, after: int, until: int) -> tuple[list[db.Row], int]: ...


async def messages_page(
    workspace: str, conversation_id: str, page: int, limit: int
) -> tuple[list[schema.Message], int]:
    """Return a page of messages, oldest first, and how many there are. Raise ConversationNotFound.

    Messages have the places 1 to n and are only ever added, so pages do not shift.
    """
    rows, total = await _counted(workspace, conversation_id, (page - 1) * limit, page * limit)
    return _messages(rows), total


def _messages(rows: list[db.Row]) -> list[schema.Message]:
    return [schema.Message(message_id, role, content, clock.iso(at)) for message_id, role, content, at in rows]


@query()
async def authors(workspace: str, conversation_id: str) -> dict[str, str]:
    """Return what the people are called who wrote messages, by the id of the message."""


@query(schema.ConversationNotFound)
async def rating(workspace: str, conversation_id: str) -> tuple[int | None, str | None, Status]:
    """Return the visitor's rating, its comment, and the conversation's state. Raise ConversationNotFound."""


@query()
async def notes(workspace: str, conversation_id: str) -> list[db.Row]:
    """Return what operators noted in a conversation for each other, oldest first. Never part of an event or of /v1."""


@query()
async def notes_of_lead(workspace: str, lead_id: str) -> list[db.Row]:
    """Return the notes of all conversations of a lead, newest first."""


@query()
async def saved_replies(workspace: str) -> list[db.Row]:
    """Return the workspace's saved replies by name."""


@query()
async def _places(workspace: str, conversation_id: str, client_message_id: str) -> tuple[int, int | None] | None: ...


async def reply_to(workspace: str, conversation_id: str, client_message_id: str) -> list[StoredMessage] | None:
    """Return a visitor's message and all up to their next one; None when it has not been stored."""
    places = await _places(workspace, conversation_id, client_message_id)
    if places is None:
        return None
    seq, following = places
    return await messages(workspace, conversation_id, seq - 1, following - 1 if following else MAX_MESSAGES)


@query()
async def openers(ids: list[str]) -> dict[str, tuple[str | None, str]]:
    """Return by id the name of the lead that the visitor became, if any, and the visitor's first message."""


def fill_in(content: str, name: str | None) -> str:
    """Return a saved reply for a visitor called `name`; without one, `{{name}}` and the space or comma before it go."""
    return content.replace("{{name}}", name) if name else re.sub(r"(, | )?{{name}}", "", content)
