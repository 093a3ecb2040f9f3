"""Which payload each conversation and message event carries."""

from msgspec.structs import asdict

from leadwire.delivery.envelope import EventKind
from leadwire.delivery.outbox import Event
from leadwire.domain.conversations import schema
from leadwire.domain.conversations.schema import Conversation, Message, Metadata
from leadwire.domain.leads.schema import Lead
from leadwire.infrastructure import clock


def started(workspace: str, conversation: Conversation, metadata: Metadata) -> Event:
    """A visitor sent the first message."""
    data = schema.ConversationStarted(**asdict(conversation), metadata=metadata)
    return _event(workspace, "conversation.started", conversation.id, data)


def message(workspace: str, message: Message, conversation_id: str, bot_id: str) -> Event:
    """A message was stored: the visitor's (`message.received`), or the bot's or an operator's (`message.sent`)."""
    kind: EventKind = "message.received" if message.role == "user" else "message.sent"
    data = schema.MessageEvent(**asdict(message), conversation_id=conversation_id, bot_id=bot_id)
    return _event(workspace, kind, conversation_id, data)


def handed_off(workspace: str, conversation: Conversation, metadata: Metadata, lead: Lead | None) -> Event:
    """A person was asked for."""
    data = schema.ConversationHandoff(**asdict(conversation), handoff=metadata.handoff, lead=lead)  # type: ignore[arg-type]
    return _event(workspace, "conversation.handoff", conversation.id, data, lead)


def ended(workspace: str, conversation: Conversation, metadata: Metadata, lead: Lead | None) -> Event:
    """The conversation is closed for good."""
    end = {"ended_at": metadata.ended_at, "ended_by": metadata.ended_by, "reason": metadata.end_reason}
    data = schema.ConversationEnded(**asdict(conversation), **end, lead=lead)  # type: ignore[arg-type]
    return _event(workspace, "conversation.ended", conversation.id, data, lead)


def _event(workspace: str, kind: EventKind, conversation_id: str, data: object, lead: Lead | None = None) -> Event:
    about = {"conversation_id": conversation_id, "lead_id": lead.id if lead else None}
    return Event(workspace=workspace, kind=kind, at=clock.now(), data=data, **about)
