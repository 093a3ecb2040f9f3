"""Which payload each conversation and message event carries."""

import msgspec

from leadwire.delivery.envelope import EventKind
from leadwire.delivery.outbox import Event
from leadwire.domain.conversations.schema import (
    Conversation,
    ConversationEnded,
    ConversationHandoff,
    ConversationStarted,
    Message,
    MessageEvent,
    Metadata,
)
from leadwire.domain.leads.schema import Lead
from leadwire.infrastructure import clock


def started(workspace: str, conversation: Conversation, metadata: Metadata) -> Event:
    """A visitor sent the first message."""
    data = ConversationStarted(**msgspec.structs.asdict(conversation), metadata=metadata)
    return _event(workspace, "conversation.started", conversation.id, data)


def message(workspace: str, message: Message, conversation_id: str, bot_id: str) -> Event:
    """A message was stored: the visitor's (`message.received`), or the bot's or an operator's (`message.sent`)."""
    kind: EventKind = "message.received" if message.role == "user" else "message.sent"
    data = MessageEvent(**msgspec.structs.asdict(message), conversation_id=conversation_id, bot_id=bot_id)
    return _event(workspace, kind, conversation_id, data)


def handed_off(workspace: str, conversation: Conversation, metadata: Metadata, lead: Lead | None) -> Event:
    """A person was asked for."""
    data = ConversationHandoff(**msgspec.structs.asdict(conversation), handoff=metadata.handoff, lead=lead)  # type: ignore[arg-type]
    return _event(workspace, "conversation.handoff", conversation.id, data, lead)


def ended(workspace: str, conversation: Conversation, metadata: Metadata, lead: Lead | None) -> Event:
    """The conversation is closed for good."""
    data = ConversationEnded(
        **msgspec.structs.asdict(conversation),
        ended_at=metadata.ended_at or "",
        ended_by=metadata.ended_by or "system",
        reason=metadata.end_reason,
        lead=lead,
    )
    return _event(workspace, "conversation.ended", conversation.id, data, lead)


def _event(workspace: str, kind: EventKind, conversation_id: str, data: object, lead: Lead | None = None) -> Event:
    return Event(
        workspace=workspace,
        kind=kind,
        at=clock.now(),
        data=data,
        conversation_id=conversation_id,
        lead_id=lead.id if lead else None,
    )
