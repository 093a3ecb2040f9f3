"""Conversations and messages as everybody meets them: /v1, webhooks and pages."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from leadwire import clock
from leadwire.leads.schema import Lead, Source

Status = Literal["active", "ended", "handoff"]
Role = Literal["bot", "user", "agent"]
EndedBy = Literal["visitor", "bot", "agent", "api", "system"]
MAX_MESSAGES: Final = 1000


class Visitor(Struct, frozen=True):
    """What the visitor told of themselves."""

    email: str | None
    name: str | None


class Conversation(Struct, frozen=True):
    """A conversation as the list shows it."""

    id: str
    bot_id: str
    status: Status
    visitor: Visitor
    messages_count: int
    created_at: str
    updated_at: str


class Message(Struct, frozen=True):
    """One thing said; `agent` is a person who took over from the bot."""

    id: str
    role: Role
    content: str
    created_at: str


class NewMessage(Struct, frozen=True, kw_only=True):
    """Something to be said. `answers` names the lead field it tells, so that it can be redacted with the lead."""

    role: Role
    content: str
    answers: str | None = None
    client_message_id: str | None = None
    user_id: str | None = None


class Spoken(Struct, frozen=True):
    """A message in its place, as those in the conversation see it."""

    seq: int
    id: str
    role: Role
    content: str
    created_at: str
    client_message_id: str | None = None


class Handoff(Struct, frozen=True):
    """Why and when a person was asked for."""

    reason: str | None
    requested_at: str


class Metadata(Struct, frozen=True):
    """Everything else that is known of a conversation. No IP address is."""

    source: Source
    locale: str | None
    timezone: str | None
    browser: str | None
    os: str | None
    flow_version: int | None
    variables: dict[str, Any]  # a msgspec.Raw as it comes from the database
    ended_at: str | None
    ended_by: EndedBy | None
    end_reason: str | None
    handoff: Handoff | None


class ConversationDetail(Struct, frozen=True):
    """A conversation, whole. Messages are oldest first."""

    id: str
    bot_id: str
    status: Status
    visitor: Visitor
    created_at: str
    updated_at: str
    messages: list[Message]
    lead: Lead | None
    metadata: Metadata


class ConversationEnd(Struct, frozen=True):
    """The answer to ending a conversation: also the second time, with the first time's `ended_at`."""

    id: str
    status: Annotated[Literal["ended"], Meta(description="Always `ended`.")]
    ended_at: str


class Origin(Struct, frozen=True, kw_only=True):
    """Where a visitor is and with what, as far as the page told."""

    source: Source = Source()
    locale: str | None = None
    timezone: str | None = None
    browser: str | None = None
    os: str | None = None


class ConversationStarted(Conversation, frozen=True, kw_only=True):
    """What `conversation.started` carries."""

    metadata: Metadata


class ConversationHandoff(Conversation, frozen=True, kw_only=True):
    """What `conversation.handoff` carries."""

    handoff: Handoff
    lead: Lead | None


class ConversationEnded(Conversation, frozen=True, kw_only=True):
    """What `conversation.ended` carries."""

    ended_at: str
    ended_by: EndedBy
    reason: str | None
    lead: Lead | None


class MessageEvent(Message, frozen=True, kw_only=True):
    """What `message.sent` and `message.received` carry."""

    conversation_id: str
    bot_id: str


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
    url, campaign, referrer, *about, flow_version, variables, ended_at, ended_by, end_reason, reason, asked_at = row
    locale, timezone, browser, os = about
    return Metadata(
        Source(url, campaign, referrer),
        locale,
        timezone,
        browser,
        os,
        flow_version,
        variables,
        clock.iso(ended_at) if ended_at else None,
        ended_by,
        end_reason,
        Handoff(reason, clock.iso(asked_at)) if asked_at else None,
    )
