"""Conversations and messages, in the shapes that /v1, webhooks and the web area share."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from leadwire.domain.leads.schema import Lead, Source
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import Conflict, NotFound

Status = Literal["active", "ended", "handoff"]
Role = Literal["bot", "user", "agent"]
EndedBy = Literal["visitor", "bot", "agent", "api", "system"]
MAX_MESSAGES: Final = 1000
MAX_TEXT: Final = 4000
"""Characters of one message."""


class ConversationNotFound(NotFound, detail="There is no such conversation."):
    """There is no such conversation in the workspace."""


class AlreadyEnded(Conflict, code="conversation_ended", detail="The conversation has ended."):
    """The conversation has ended for good. The widget begins a new one when it meets this code."""


class Told(Struct, frozen=True):
    """What a visitor has said of themselves."""

    variables: Mapping[str, object] | None = None
    """The flow's."""
    email: str | None = None
    name: str | None = None


class Visitor(Struct, frozen=True):
    """The visitor, as they introduced themselves."""

    email: str | None
    """E-mail address."""
    name: str | None
    """Name."""


class _Head(Struct, frozen=True):
    """What a conversation begins with, in the list and by itself."""

    id: str
    """Starts with `conv_`."""
    bot_id: str
    """The bot that holds it."""
    status: Status
    """`active` while the bot answers, `handoff` while a person is asked for or present, `ended` for good."""
    visitor: Visitor
    """Who talks to the bot."""


class Conversation(_Head, frozen=True):
    """A conversation as the list shows it."""

    messages_count: int
    """How many messages it has."""
    created_at: str
    """When the visitor sent the first message."""
    updated_at: str
    """When it last changed: a message, a new status."""


class Message(Struct, frozen=True):
    """One message."""

    id: str
    """Starts with `msg_`."""
    role: Role
    """Who sent it: `user` is the visitor, `agent` a person who took over from the bot."""
    content: str
    """The text; of a chosen option, its label. An image and each link of the bot is a line with its address."""
    created_at: str
    """When it was sent."""


class NewMessage(Struct, frozen=True, kw_only=True):
    """A message to be stored. `answers` names the lead field that it answers: it is erased with the lead."""

    role: Role
    content: str
    answers: str | None = None
    client_message_id: str | None = None
    user_id: str | None = None


class StoredMessage(Message, frozen=True):
    """A stored message; `seq` is its place in the conversation."""

    seq: int
    client_message_id: str | None = None
    author: str | None = None
    """The first name of the person who wrote it."""


class Handoff(Struct, frozen=True):
    """Why and when a person was asked for."""

    reason: str | None
    """Why."""
    requested_at: str
    """When."""


class Metadata(Struct, frozen=True):
    """Everything else that is known of a conversation. No IP address is."""

    source: Source
    """Where the visitor came from."""
    locale: str | None
    """The language of the visitor's browser (BCP 47)."""
    timezone: str | None
    """The visitor's time zone (IANA)."""
    browser: str | None
    """The visitor's browser."""
    os: str | None
    """The visitor's operating system."""
    flow_version: int | None
    """The version of the bot's flow that it follows."""
    variables: dict[str, Any]  # a msgspec.Raw as it comes from the database
    """What the flow has learned, by the names in the flow; behind `page.`, what the page told."""
    ended_at: str | None
    """When it ended."""
    ended_by: EndedBy | None
    """Who ended it; `system` after silence."""
    end_reason: str | None
    """Why it ended."""
    handoff: Handoff | None
    """The latest request for a person."""


class ConversationDetail(_Head, frozen=True):
    """A conversation, whole. Messages are oldest first."""

    created_at: str
    """When the visitor sent the first message."""
    updated_at: str
    """When it last changed: a message, a new status."""
    messages: list[Message]
    """All messages, oldest first."""
    lead: Lead | None
    """The lead that the visitor became; `null` while there is none, and after its deletion."""
    metadata: Metadata
    """Everything else."""


class ConversationEnd(Struct, frozen=True):
    """The answer to ending a conversation: also the second time, with the first time's `ended_at`."""

    id: str
    """The conversation."""
    status: Literal["ended"]
    """Always `ended`."""
    ended_at: str
    """When it ended first."""


class Origin(Struct, frozen=True, kw_only=True):
    """Where a visitor came from and with which browser, as far as the page knows."""

    source: Source = Source()
    locale: str | None = None
    timezone: str | None = None
    browser: str | None = None
    os: str | None = None
    page: Mapping[str, str] = {}
    """What the page tells of the visitor, by name."""


class ConversationStarted(Conversation, frozen=True, kw_only=True):
    """What `conversation.started` carries."""

    metadata: Metadata
    """Everything else that is known of it."""


class ConversationHandoff(Conversation, frozen=True, kw_only=True):
    """What `conversation.handoff` carries."""

    handoff: Handoff
    """Why and when a person was asked for."""
    lead: Lead | None
    """The lead that the visitor became, if any."""


class ConversationEnded(Conversation, frozen=True, kw_only=True):
    """What `conversation.ended` carries."""

    ended_at: str
    """When it ended."""
    ended_by: EndedBy
    """Who ended it; `system` after silence."""
    reason: str | None
    """Why it ended."""
    lead: Lead | None
    """The lead that the visitor became, if any."""


class MessageEvent(Message, frozen=True, kw_only=True):
    """What `message.sent` and `message.received` carry."""

    conversation_id: str
    """The conversation it belongs to."""
    bot_id: str
    """The bot of that conversation."""


PAYLOADS: Final[dict[str, type[Struct]]] = {
    "conversation.started": ConversationStarted,
    "conversation.ended": ConversationEnded,
    "conversation.handoff": ConversationHandoff,
    "message.sent": MessageEvent,
    "message.received": MessageEvent,
}
"""What each event carries."""

LIST_COLUMNS: Final = "id, bot_id, status, visitor_email, visitor_name, messages_count, created_at, updated_at"
METADATA_COLUMNS: Final = (
    "source_url, source_campaign, source_referrer, locale, timezone, browser, os, flow_version, variables,"
    " ended_at, ended_by, end_reason, handoff_reason, handoff_requested_at"
)


def from_row(row: Any) -> Conversation:
    """A list item from the columns of `LIST_COLUMNS`, in that order."""
    id_, bot_id, status, email, name, count, created_at, updated_at = row
    return Conversation(id_, bot_id, status, Visitor(email, name), count, clock.iso(created_at), clock.iso(updated_at))


def metadata_from_row(row: Any) -> Metadata:
    """Metadata from the columns of `METADATA_COLUMNS`, in that order."""
    url, campaign, referrer, *values, handoff_reason, requested_at = clock.texts(row)
    handoff = Handoff(handoff_reason, requested_at) if requested_at else None
    return Metadata(Source(url, campaign, referrer), *[*values, handoff])
