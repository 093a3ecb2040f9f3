"""A conversation's life: one function for each change, one transaction, with its events.

/v1 can only end a conversation; bots, operators and the demo's visitors do the rest.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from leadwire.domain.conversations import events, pubsub
from leadwire.domain.conversations.schema import (
    LIST_COLUMNS,
    METADATA_COLUMNS,
    AlreadyEnded,
    Conversation,
    ConversationEnd,
    ConversationNotFound,
    EndedBy,
    Metadata,
    Origin,
    from_row,
    metadata_from_row,
)
from leadwire.domain.conversations.table import Conversation as Table
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import schema as lead_schema
from leadwire.domain.leads.schema import Lead, LeadPatch, Source
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import insert, param, sql, statement
from leadwire.infrastructure.errors import Conflict, DomainError
from leadwire.infrastructure.ids import is_id

_COLUMNS: Final = f"{LIST_COLUMNS}, {METADATA_COLUMNS}"
_RETURNED: Final = [Table._meta.get_column_by_name(name) for name in _COLUMNS.split(", ")]
_LISTED: Final = len(LIST_COLUMNS.split(","))
_ONE: Final = (Table.workspace_id == param("workspace"), Table.id == param("id"))

_ORIGIN: Final = ("locale", "timezone", "browser", "os")
_START: Final = insert(
    *map(Table._meta.get_column_by_name, ("id", "workspace_id", "bot_id", "flow_version", "created_at", "updated_at")),
    *map(Table._meta.get_column_by_name, ("source_url", "source_campaign", "source_referrer", *_ORIGIN, "variables")),
    variables="{}",
    end=f"RETURNING {_COLUMNS}",
)
# Keeps what is known already where nothing new is given.
_UPDATE_VISITOR: Final = sql("""
UPDATE conversation SET variables = :variables, lead_id = coalesce(:lead_id, lead_id),
    visitor_email = coalesce(:email, visitor_email), visitor_name = coalesce(:name, visitor_name)
WHERE workspace_id = :workspace AND id = :id""")
_SET_LEAD: Final = sql("""
UPDATE conversation SET lead_id = :lead_id, visitor_email = coalesce(:email, visitor_email),
    visitor_name = coalesce(:name, visitor_name), updated_at = :now
WHERE workspace_id = :workspace AND id = :id""")
_LOCK: Final = statement(
    Table.select(Table.bot_id, Table.source_url, Table.source_campaign, Table.source_referrer).where(*_ONE),
    "FOR UPDATE",
)
_NOW: Final = param("now")
_HAND_OFF: Final = statement(
    Table.update(
        {"status": "handoff", "handoff_reason": param("reason"), "handoff_requested_at": _NOW, "updated_at": _NOW}
    )
    .where(*_ONE, Table.status == "active")
    .returning(*_RETURNED)
)
_END: Final = statement(
    Table.update(
        {
            "status": "ended",
            "ended_at": _NOW,
            "ended_by": param("by"),
            "end_reason": param("reason"),
            "updated_at": _NOW,
        }
    )
    .where(*_ONE, Table.status != "ended")
    .returning(*_RETURNED)
)
_STATUS: Final = statement(Table.select(Table.status, Table.ended_at).where(*_ONE))
# The lead that a conversation's visitor became.
_LEAD: Final = sql(f"""
SELECT {lead_schema.COLUMNS_OF_LEAD} FROM conversation c JOIN lead ON lead.id = c.lead_id
WHERE c.workspace_id = :workspace AND c.id = :id""")


async def start(workspace: str, bot_id: str, origin: Origin, flow_version: int | None = None) -> str:
    """Open a conversation with a visitor who sends the first message. Return its id."""
    now = clock.now()
    async with db.transaction():
        made = await _START.row(
            id=ids.new("conv"),
            workspace_id=workspace,
            bot_id=bot_id,
            flow_version=flow_version,
            created_at=now,
            updated_at=now,
            **origin.source.columns(),
            **{name: getattr(origin, name) for name in _ORIGIN},
        )
        conversation, metadata = _split(made)
        await events.started(workspace, conversation, metadata).record()
    return conversation.id


async def update_visitor(
    workspace: str,
    conversation_id: str,
    *,
    variables: Mapping[str, object],
    lead_id: str | None,
    email: str | None = None,
    name: str | None = None,
) -> None:
    """Store the flow's variables, the lead that the visitor became, and the visitor's own e-mail address and name."""
    await _UPDATE_VISITOR.rows(
        workspace=workspace,
        id=conversation_id,
        variables=msgspec.json.encode(variables).decode(),
        lead_id=lead_id,
        email=email,
        name=name,
    )


async def capture_lead(workspace: str, conversation_id: str, found: LeadPatch) -> Lead:
    """Store the visitor as a lead. Raise ConversationNotFound, and as `leads.changes.capture`."""
    async with db.transaction():
        row = await _LOCK.row(workspace=workspace, id=conversation_id)
        if row is None:
            raise ConversationNotFound
        bot_id, *source = row
        lead = await leads.capture(workspace, bot_id, conversation_id, found, Source(*source))
        # As the visitor typed it, not what is known of the lead: it may be somebody else's address.
        email, name = (value if isinstance(value, str) else None for value in (found.email, found.name))
        await _SET_LEAD.rows(
            workspace=workspace, id=conversation_id, lead_id=lead.id, email=email, name=name, now=clock.now()
        )
    return lead


async def hand_off(workspace: str, conversation_id: str, reason: str) -> None:
    """Ask for a person; a second time changes nothing. Raise ConversationNotFound, AlreadyEnded."""
    async with db.transaction():
        row = await _HAND_OFF.row(workspace=workspace, id=conversation_id, reason=reason, now=clock.now())
        if row is None:
            error = await why_not(workspace, conversation_id)
            if error.code == "already_handed_off":
                return
            raise error
        conversation, metadata = _split(row)
        lead = await _lead_of(workspace, conversation_id)
        await events.handed_off(workspace, conversation, metadata, lead).record()
        pubsub.publish(workspace, conversation_id)


async def end(workspace: str, conversation_id: str, by: EndedBy, reason: str | None = None) -> ConversationEnd:
    """End a conversation. Return its first end also when it has ended before. Raise ConversationNotFound."""
    if not is_id("conv", conversation_id):
        raise ConversationNotFound
    async with db.transaction():
        row = await _END.row(workspace=workspace, id=conversation_id, now=clock.now(), by=by, reason=reason)
        if row is not None:
            conversation, metadata = _split(row)
            lead = await _lead_of(workspace, conversation_id)
            await events.ended(workspace, conversation, metadata, lead).record()
            pubsub.publish(workspace, conversation_id)
            return ConversationEnd(conversation.id, "ended", metadata.ended_at or "")
    found = await _STATUS.row(workspace=workspace, id=conversation_id)
    if found is None:
        raise ConversationNotFound
    return ConversationEnd(conversation_id, "ended", clock.iso(found["ended_at"]))


def _split(row: Any) -> tuple[Conversation, Metadata]:
    columns = tuple(row)
    return from_row(columns[:_LISTED]), metadata_from_row(columns[_LISTED:])


async def _lead_of(workspace: str, conversation_id: str) -> Lead | None:
    row = await _LEAD.row(workspace=workspace, id=conversation_id)
    return lead_schema.from_row(row) if row else None


async def why_not(workspace: str, conversation_id: str) -> DomainError:
    """Return the error for a conversation that could not be changed."""
    found = await _STATUS.row(workspace=workspace, id=conversation_id)
    if found is None:
        return ConversationNotFound()
    if found["status"] == "ended":
        return AlreadyEnded()
    return Conflict("A person has been asked for already.", code="already_handed_off")
