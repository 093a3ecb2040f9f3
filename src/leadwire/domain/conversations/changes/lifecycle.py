"""A conversation's life: one function for each change, one transaction, with its events.

/v1 can only end a conversation; bots, operators and the demo's visitors do the rest.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from leadwire.domain.conversations import events, pubsub, schema
from leadwire.domain.conversations.schema import ConversationEnd, ConversationNotFound, EndedBy, Origin, Visitor
from leadwire.domain.conversations.table import Conversation
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import schema as lead_schema
from leadwire.domain.leads.schema import Lead, LeadPatch, Source
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import columns, insert, param, sql, statement
from leadwire.infrastructure.errors import Conflict, DomainError

_COLUMNS: Final = f"{schema.LIST_COLUMNS}, {schema.METADATA_COLUMNS}"
_RETURNED: Final = columns(Conversation, _COLUMNS.replace(",", ""))
_LISTED: Final = len(schema.LIST_COLUMNS.split(","))
_ONE: Final = (Conversation.workspace_id == param("workspace"), Conversation.id == param("id"))

_SOURCE: Final = "source_url source_campaign source_referrer"
_BROWSER: Final = "locale timezone browser os"
_START: Final = insert(
    *columns(Conversation, f"id workspace_id bot_id flow_version created_at updated_at {_SOURCE} {_BROWSER} variables"),
    variables="{}",
    end=f"RETURNING {_COLUMNS}",
)
# Keeps what is known already where nothing new is given.
_VISITOR: Final = "visitor_email = coalesce(:email, visitor_email), visitor_name = coalesce(:name, visitor_name)"
_WHERE: Final = "WHERE workspace_id = :workspace AND id = :id"
_UPDATE_VISITOR: Final = sql(f"UPDATE conversation SET variables = :variables, {_VISITOR} {_WHERE}")
_SET_LEAD: Final = sql(f"UPDATE conversation SET lead_id = :lead_id, updated_at = :now, {_VISITOR} {_WHERE}")
_LOCK: Final = statement(Conversation.select("bot_id", *_SOURCE.split()).where(*_ONE), "FOR UPDATE")
_NOW: Final = param("now")
_HANDOFF: Final = {"status": "handoff", "handoff_reason": param("reason"), "handoff_requested_at": _NOW}
_HAND_OFF: Final = statement(
    Conversation.update(**_HANDOFF, updated_at=_NOW).where(*_ONE, Conversation.status == "active").returning(*_RETURNED)
)
_ENDED: Final = {"status": "ended", "ended_at": _NOW, "ended_by": param("by"), "end_reason": param("reason")}
_END: Final = statement(
    Conversation.update(**_ENDED, updated_at=_NOW).where(*_ONE, Conversation.status != "ended").returning(*_RETURNED)
)
_STATUS: Final = statement(Conversation.select("status", "ended_at").where(*_ONE))
# The lead that a conversation's visitor became.
_LEAD: Final = sql(f"""
SELECT {lead_schema.COLUMNS_OF_LEAD} FROM conversation c JOIN lead ON lead.id = c.lead_id
WHERE c.workspace_id = :workspace AND c.id = :id""")


async def start(workspace: str, bot_id: str, origin: Origin, flow_version: int | None = None) -> str:
    """Open a conversation with a visitor who sends the first message. Return its id."""
    conversation_id, now = ids.new("conv"), clock.now()
    values = origin.source.columns() | {name: getattr(origin, name) for name in _BROWSER.split()}
    values |= {"workspace_id": workspace, "bot_id": bot_id, "flow_version": flow_version}
    async with db.transaction():
        made = await _START.row(id=conversation_id, created_at=now, updated_at=now, **values)
        await events.started(workspace, *_split(made)).record()
    return conversation_id


async def update_visitor(
    workspace: str, conversation_id: str, variables: Mapping[str, object], visitor: Visitor
) -> None:
    """Store the flow's variables, and what the visitor has said of themselves."""
    values = {"variables": msgspec.json.encode(variables).decode(), "email": visitor.email, "name": visitor.name}
    await _UPDATE_VISITOR.rows(workspace=workspace, id=conversation_id, **values)


async def capture_lead(workspace: str, conversation_id: str, found: LeadPatch) -> Lead:
    """Store the visitor as a lead. Raise ConversationNotFound, and as `leads.changes.capture`."""
    place = {"workspace": workspace, "id": conversation_id}
    async with db.transaction():
        bot_id, *source = await _LOCK.one(ConversationNotFound(), **place)
        lead = await leads.capture(workspace, bot_id, conversation_id, found, Source(*source))
        # As the visitor typed it, not what is known of the lead: it may be somebody else's address.
        email, name = (value if isinstance(value, str) else None for value in (found.email, found.name))
        await _SET_LEAD.rows(**place, lead_id=lead.id, email=email, name=name, now=clock.now())
    return lead


async def hand_off(workspace: str, conversation_id: str, reason: str) -> None:
    """Ask for a person; a second time changes nothing. Raise ConversationNotFound, AlreadyEnded."""
    async with db.transaction():
        row = await _HAND_OFF.row(workspace=workspace, id=conversation_id, reason=reason, now=clock.now())
        if row is not None:
            lead = await _lead_of(workspace, conversation_id)
            await events.handed_off(workspace, *_split(row), lead).record()
            pubsub.publish(workspace, conversation_id)
            return
        error = await why_not(workspace, conversation_id)
        if error.code != "already_handed_off":
            raise error


async def end(workspace: str, conversation_id: str, by: EndedBy, reason: str | None = None) -> ConversationEnd:
    """End a conversation. Return its first end also when it has ended before. Raise ConversationNotFound."""
    if not ids.is_id("conv", conversation_id):
        raise ConversationNotFound
    place = {"workspace": workspace, "id": conversation_id}
    async with db.transaction():
        row = await _END.row(**place, now=clock.now(), by=by, reason=reason)
        if row is not None:
            await events.ended(workspace, *_split(row), await _lead_of(workspace, conversation_id)).record()
            pubsub.publish(workspace, conversation_id)
    found = row or await _STATUS.one(ConversationNotFound(), **place)
    return ConversationEnd(conversation_id, "ended", clock.iso(found["ended_at"]))


def _split(row: Any) -> tuple[schema.Conversation, schema.Metadata]:
    values = tuple(row)
    return schema.from_row(values[:_LISTED]), schema.metadata_from_row(values[_LISTED:])


async def _lead_of(workspace: str, conversation_id: str) -> Lead | None:
    row = await _LEAD.row(workspace=workspace, id=conversation_id)
    return lead_schema.from_row(row) if row else None


async def why_not(workspace: str, conversation_id: str) -> DomainError:
    """Return the error for a conversation that could not be changed."""
    found = await _STATUS.row(workspace=workspace, id=conversation_id)
    if found is None:
        return ConversationNotFound()
    if found["status"] == "ended":
        return schema.AlreadyEnded()
    return Conflict("A person has been asked for already.", code="already_handed_off")
