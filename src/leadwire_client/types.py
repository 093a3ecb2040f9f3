"""What `/v1` answers, as values. Fields that a newer server adds are ignored; times are aware datetimes in UTC.

Words from a fixed list (`status`, `role`, `ended_by`) are plain `str`: a server may learn a new one.
"""

from datetime import datetime
from typing import Any, Generic, TypeVar, cast

from msgspec import UNSET, Struct
from msgspec.structs import force_setattr

CustomValue = str | int | float | bool
T = TypeVar("T")


class Source(Struct, frozen=True, kw_only=True):
    """Where a visitor came from."""

    url: str | None = None
    campaign: str | None = None
    referrer: str | None = None


class Lead(Struct, frozen=True, kw_only=True):
    """A person who told a bot how to reach them. `score` is 0 to 100.

    `etag` names the version that `get` or `update` answered, for `if_match`; it is None in lists and events.
    In events from before there was an `updated_at` it is `created_at`.
    """

    id: str
    email: str | None
    name: str | None
    phone: str | None
    company: str | None
    score: int
    source: Source
    custom_fields: dict[str, CustomValue]
    conversation_id: str
    bot_id: str
    created_at: datetime
    updated_at: datetime = cast("datetime", UNSET)
    etag: str | None = None

    def __post_init__(self) -> None:
        """Complete a lead of an old event."""
        if self.updated_at is cast("datetime", UNSET):
            force_setattr(self, "updated_at", self.created_at)


class LeadDeleted(Struct, frozen=True, kw_only=True):
    """The answer to a deletion."""

    id: str
    deleted: bool


class Visitor(Struct, frozen=True, kw_only=True):
    """What the visitor told of themselves."""

    email: str | None
    name: str | None


class Conversation(Struct, frozen=True, kw_only=True):
    """A conversation as a list shows it. `status` is `active`, `handoff` or `ended`."""

    id: str
    bot_id: str
    status: str
    visitor: Visitor
    messages_count: int
    created_at: datetime
    updated_at: datetime


class Message(Struct, frozen=True, kw_only=True):
    """One thing said. `role` is `user`, `bot` or `agent` (a person)."""

    id: str
    role: str
    content: str
    created_at: datetime


class Handoff(Struct, frozen=True, kw_only=True):
    """Why and when a person was asked for."""

    reason: str | None
    requested_at: datetime


class Metadata(Struct, frozen=True, kw_only=True):
    """Everything else that is known of a conversation."""

    source: Source
    locale: str | None
    timezone: str | None
    browser: str | None
    os: str | None
    flow_version: int | None
    variables: dict[str, Any]
    ended_at: datetime | None
    ended_by: str | None
    end_reason: str | None
    handoff: Handoff | None


class ConversationDetail(Struct, frozen=True, kw_only=True):
    """A conversation, whole. Messages are oldest first."""

    id: str
    bot_id: str
    status: str
    visitor: Visitor
    created_at: datetime
    updated_at: datetime
    messages: list[Message]
    lead: Lead | None
    metadata: Metadata


class ConversationEnd(Struct, frozen=True, kw_only=True):
    """The answer to ending a conversation: also the second time, with the first time's `ended_at`."""

    id: str
    status: str
    ended_at: datetime


class Bot(Struct, frozen=True, kw_only=True):
    """A chatbot. `published_version` is None before its flow is published."""

    id: str
    name: str
    published_version: int | None
    allowed_origins: list[str]
    created_at: datetime


class Limits(Struct, frozen=True, kw_only=True):
    """How many requests a key may make, in a minute and at once. None: as many as it likes."""

    requests_per_minute: int | None
    burst: int | None


class Workspace(Struct, frozen=True, kw_only=True):
    """Whose leads and conversations a key sees."""

    id: str
    name: str


class Me(Struct, frozen=True, kw_only=True):
    """The API key that is used."""

    id: str
    name: str
    scopes: list[str]
    workspace: Workspace
    limits: Limits
    created_at: datetime
    expires_at: datetime | None


class Export(Struct, Generic[T], frozen=True, kw_only=True):
    """An export of rows of type `T`. `state` is ready, completed, canceled or expired; `rows` were sent so far, by all
    downloads together.
    """

    id: str
    type: str
    format: str
    state: str
    rows: int
    resume_by: list[str]
    created_at: datetime
    expires_at: datetime


class AuditRecorded(Struct, frozen=True, kw_only=True):
    """An entry of the audit log, as `audit.recorded` carries it. `hash` is that of the entry and the hash before it."""

    workspace_id: str | None
    number: int
    id: str
    at: datetime
    actor: str
    action: str
    subject: str
    detail: str
    address: str
    hash: str


class EndpointRecovered(Struct, frozen=True, kw_only=True):
    """`endpoint.recovered`: a webhook endpoint takes deliveries again."""

    endpoint_id: str
    host: str


class EndpointFailing(EndpointRecovered, frozen=True, kw_only=True):
    """`endpoint.failing`: nothing arrives there; from `disabled_at` on the next failure disables it."""

    since: datetime
    disabled_at: datetime


class EndpointDisabled(EndpointRecovered, frozen=True, kw_only=True):
    """`endpoint.disabled`. `reason` is gone (its server answered 410) or failing (nothing had arrived for days)."""

    since: datetime | None
    reason: str


class DeadLetters(EndpointRecovered, frozen=True, kw_only=True):
    """How many deliveries to an endpoint have used up their attempts."""

    count: int


class DeliveryDead(Struct, frozen=True, kw_only=True):
    """`delivery.dead`: how many deliveries have used up their attempts, and those endpoints that have the most."""

    count: int
    endpoints: list[DeadLetters]


class Page(Struct, Generic[T], frozen=True, kw_only=True):
    """One page of a list. `total` is all that match; `has_next` says whether a page follows.

    `next_cursor` is the `cursor` of that page, where this one was asked for by `cursor`. Of events, `held_back_since`
    is when the first was recorded that is there and not shown yet, because an earlier one is not committed. Of a search
    by `q`, `complete` is False while older ones are not found by their words yet, after an upgrade or an import.
    """

    data: list[T]
    total: int
    page: int
    per_page: int
    has_next: bool
    next_cursor: str | None = None
    held_back_since: datetime | None = None
    complete: bool = True
