"""What a webhook carries, by its kind."""

from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from leadwire_client.types import (
    AuditRecorded,
    Conversation,
    DeliveryDead,
    EndpointDisabled,
    EndpointFailing,
    EndpointRecovered,
    Handoff,
    Lead,
    LeadDeleted,
    Message,
    Metadata,
)


class LeadUpdated(Lead, frozen=True, kw_only=True):
    """`lead.updated`: the lead as it was then, and the old value of each attribute that changed."""

    previous_attributes: dict[str, Any]


class ConversationStarted(Conversation, frozen=True, kw_only=True):
    """`conversation.started`."""

    metadata: Metadata


class ConversationHandoff(Conversation, frozen=True, kw_only=True):
    """`conversation.handoff`: a person was asked for."""

    handoff: Handoff
    lead: Lead | None


class ConversationEnded(Conversation, frozen=True, kw_only=True):
    """`conversation.ended`. `ended_by` is visitor, bot, agent, api or system."""

    ended_at: datetime
    ended_by: str
    reason: str | None
    lead: Lead | None


class MessageEvent(Message, frozen=True, kw_only=True):
    """`message.sent` (by the bot or a person) and `message.received` (from the visitor)."""

    conversation_id: str
    bot_id: str


DATA: Final[dict[str, type[Struct]]] = {
    "lead.created": Lead,
    "lead.updated": LeadUpdated,
    "lead.deleted": LeadDeleted,
    "conversation.started": ConversationStarted,
    "conversation.ended": ConversationEnded,
    "conversation.handoff": ConversationHandoff,
    "message.sent": MessageEvent,
    "message.received": MessageEvent,
    "audit.recorded": AuditRecorded,
    "endpoint.failing": EndpointFailing,
    "endpoint.disabled": EndpointDisabled,
    "endpoint.recovered": EndpointRecovered,
    "delivery.dead": DeliveryDead,
}
"""The type of `Event.data` for each kind; of a kind that is not here it is what the JSON holds, unread."""


Data = (
    Lead
    | LeadUpdated
    | LeadDeleted
    | ConversationStarted
    | ConversationHandoff
    | ConversationEnded
    | MessageEvent
    | AuditRecorded
    | EndpointFailing
    | EndpointDisabled
    | EndpointRecovered
    | DeliveryDead
    | dict[str, Any]
)


class Event(Struct, frozen=True, kw_only=True):
    """A verified webhook.

    `id` is the same on every attempt: your key against duplicates. `timestamp` is when the event happened, which may
    be long before it was sent. `test` comes from a header that is not signed: a hint, not proof.
    """

    kind: str
    id: str
    timestamp: datetime
    data: Data
    test: bool


class Told(Struct):
    """An event as it is sent. A webhook has its id in a header."""

    event: str
    timestamp: datetime
    data: msgspec.Raw
    id: str = ""


def event_of(told: Told, event_id: str = "", *, test: bool = False) -> Event:
    """The event that was sent. Raises MsgspecError or UnicodeDecodeError for `data` that its kind does not have."""
    data: Any = msgspec.json.decode(told.data, type=DATA.get(told.event, dict))
    return Event(kind=told.event, id=event_id or told.id, timestamp=told.timestamp, data=data, test=test)
