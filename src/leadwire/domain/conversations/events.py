"""Which payload each conversation and message event carries: what its struct has fields for."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from leadwire.delivery import outbox
from leadwire.delivery.envelope import EventKind
from leadwire.delivery.outbox import Event
from leadwire.domain.conversations.schema import PAYLOADS, Conversation, Metadata, StoredMessage
from leadwire.domain.leads.schema import Lead
from leadwire.infrastructure import clock


def changed(
    workspace: str, kind: EventKind, conversation: Conversation, metadata: Metadata, lead: Lead | None = None
) -> Event:
    """A conversation began, was handed off or ended."""
    known = {**asdict(metadata), **asdict(conversation), "metadata": metadata, "reason": metadata.end_reason}
    return _event(workspace, kind, conversation.id, {**known, "lead": lead}, lead)


async def record_messages(workspace: str, messages: Sequence[StoredMessage], conversation_id: str, bot_id: str) -> None:
    """Record in the open transaction that messages were stored: the visitor's (`message.received`), or the bot's or an
    operator's (`message.sent`).
    """
    await outbox.record([_message(workspace, one, conversation_id, bot_id) for one in messages])


def _message(workspace: str, message: StoredMessage, conversation_id: str, bot_id: str) -> Event:
    kind: EventKind = "message.received" if message.role == "user" else "message.sent"
    known = {**asdict(message), "conversation_id": conversation_id, "bot_id": bot_id}
    return _event(workspace, kind, conversation_id, known)


def deleted(workspace: str) -> Event:
    """Conversations are no longer kept. Names none, and nobody is told."""
    return Event(workspace=workspace, kind="conversation.deleted", at=clock.now(), data={})


def _event(
    workspace: str, kind: EventKind, conversation_id: str, known: dict[str, Any], lead: Lead | None = None
) -> Event:
    payload = PAYLOADS[kind]
    data = payload(**{name: known[name] for name in payload.__struct_fields__})
    about = {"conversation_id": conversation_id, "lead_id": lead.id if lead else None}
    return Event(workspace=workspace, kind=kind, at=clock.now(), data=data, **about)
