"""Endpoints, deliveries and attempts as operators and pages see them."""

import base64
from datetime import timedelta
from typing import Final, Literal

from msgspec import UNSET, Struct, UnsetType

from leadwire.delivery.states import ExactState, Outcome
from leadwire.domain.webhooks.filters import Filter
from leadwire.infrastructure import clock

SOON: Final = timedelta(days=30)
PUBLISHED_BEFORE: Final = timedelta(minutes=10)
"""How long a key is published before it signs: a cache on the way, and then the receiver, may each keep what they have
fetched for half of it.
"""
PUBLISHED_AFTER: Final = timedelta(days=1)
"""How long a former key is still published. Each attempt is signed anew: what it signed is on its way for minutes."""
REMOVED = "The address has another origin, so the custom headers were removed"


class PublicKey(Struct, frozen=True):
    """What deliveries can be verified with (Ed25519, RFC 8032). `x`: the key as in a JWK (RFC 8037), `kid`: its
    thumbprint (RFC 7638), `since`: since when the state is that.
    """

    kid: str
    x: str
    state: Literal["next", "present", "former"]
    since: str

    @property
    def text(self) -> str:
        """As Standard Webhooks writes it."""
        return f"whpk_{base64.b64encode(base64.urlsafe_b64decode(self.x + '=')).decode()}"

    @property
    def jwk(self) -> dict[str, str]:
        """As a member of a key set (RFC 7517)."""
        return {"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": self.kid, "x": self.x}


class Endpoint(Struct, frozen=True):
    """A webhook endpoint, without its secret.

    `filter`: what of its events it is sent; None: all.
    `ordered`: one delivery at a time and in order within a conversation or lead. `numbered`: deliveries carry numbers
    without gaps. `rate_limit`: deliveries a minute. `headers`: names of its own ones. `staged_at`: since when a next
    secret signs too. `token_at`: when its receiver's token was made. `public_keys`: what its deliveries are verified
    with, where they are signed with a key. `certificate_...`: of the client certificate that its receiver is shown.
    `paused_until`: when sending goes on, while its receiver asked for a pause with Retry-After; the year 9999: not
    before its workspace is resumed. `new_host`: its host has not answered with a 2xx yet.
    `auto_redrive_since`: what has died since then is sent again by itself.
    """

    id: str
    workspace_id: str
    url: str
    events: list[str]
    filter: Filter | None
    enabled: bool
    disabled_reason: str | None
    ordered: bool
    numbered: bool
    rate_limit: int | None
    headers: list[str]
    staged_at: str | None
    token_at: str | None
    public_keys: list[PublicKey]
    certificate_subject: str | None
    certificate_ends_at: str | None
    failing_since: str | None
    paused_until: str | None
    new_host: bool
    auto_redrive_since: str | None
    created_at: str

    @property
    def held(self) -> bool:
        """Whether nothing is sent before its workspace is resumed, or has moved."""
        return (self.paused_until or "") >= "9999"

    @property
    def ed25519(self) -> bool:
        """Whether deliveries are also signed with a key that only Leadwire has."""
        return bool(self.public_keys)

    @property
    def auto_redrive(self) -> bool:
        """Whether its dead letters are sent again by themselves, once it answers."""
        return self.auto_redrive_since is not None

    @property
    def chosen(self) -> tuple[object, ...]:
        """What the form of its settings is about."""
        return self.url, self.events, self.ordered, self.numbered, self.ed25519, self.rate_limit, self.auto_redrive

    @property
    def certificate_ends_soon(self) -> bool:
        """Whether the client certificate has to be replaced: it ends within 30 days, or has ended."""
        return self.certificate_ends_at is not None and clock.parse(self.certificate_ends_at) < clock.now() + SOON


class NewEndpoint(Endpoint, frozen=True, kw_only=True):
    """An endpoint just made, with its secret, this once."""

    secret: str


class ChangedEndpoint(Endpoint, frozen=True, kw_only=True):
    """An endpoint just changed. `changes` tells old and new of each setting, and of headers the names alone."""

    changes: list[str]
    removed_headers: list[str]
    """Custom headers that went because the URL has another origin."""


class EndpointChange(Struct, frozen=True, kw_only=True):
    """What is to be different about an endpoint; absent stays. `rate_limit` of None is no limit."""

    url: str | UnsetType = UNSET
    events: list[str] | UnsetType = UNSET
    filter: Filter | None | UnsetType = UNSET
    ordered: bool | UnsetType = UNSET
    numbered: bool | UnsetType = UNSET
    ed25519: bool | UnsetType = UNSET
    rate_limit: int | None | UnsetType = UNSET
    auto_redrive: bool | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET


class Attempt(Struct, frozen=True):
    """One POST."""

    generation: int
    """1, and one more each time that the delivery was sent again."""
    number: int
    counted: bool
    started_at: str
    duration_ms: int
    outcome: Outcome
    http_status: int | None
    error: str | None
    response_body: str | None
    by_itself: bool
    """Whether nobody has asked for it, and its series of attempts had ended."""
    response_headers: list[tuple[str, str]]


class Delivery(Struct, frozen=True):
    """One event to be sent to one endpoint."""

    event_id: str
    endpoint_id: str
    event: str
    state: ExactState
    attempts: int
    last_outcome: Outcome | None
    occurred_at: str
    due_at: str
    finished_at: str | None


class DeliveryDetail(Delivery, frozen=True):
    """A delivery with everything that is known of it."""

    url: str | None
    body: str
    test: bool
    generation: int
    sequence: int | None
    """Its number among the deliveries to a numbered endpoint; None until its first attempt."""
    subject: str | None
    """The lead or conversation it is about; None once that is erased."""
    recorded_at: str
    relayed_at: str
    traceparent: str | None
    ordering_key: str | None
    history: list[Attempt]

    @property
    def last(self) -> Attempt | None:
        """The latest attempt; None before the first."""
        return self.history[-1] if self.history else None
