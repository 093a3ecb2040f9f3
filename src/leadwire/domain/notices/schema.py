"""The kinds of notices, and who gets them. Pure."""

from datetime import datetime, timedelta
from typing import Final, Literal

from msgspec import Struct

from leadwire.domain.accounts.schema import ROLES, Role, has_role

Kind = Literal["endpoints", "dead_letters", "waiting", "mentions"]
Service = Literal["slack", "teams"]
SERVICES: Final[dict[Service, str]] = {"slack": "Slack", "teams": "Microsoft Teams"}
MOST_DEAD: Final = 10_000
"""Dead letters that are counted for one mail."""


class EndpointRecovered(Struct, frozen=True):
    """An endpoint takes deliveries again, as `endpoint.recovered` carries it."""

    endpoint_id: str
    """Starts with `we_`."""
    host: str
    """The host of its URL, without what may be a secret. `pull:` and its name, where the receiver fetches."""


class EndpointFailing(EndpointRecovered, frozen=True):
    """An endpoint at which nothing arrives, as `endpoint.failing` carries it."""

    since: str
    """When it failed first, after the last success."""
    disabled_at: str
    """From then on the next failure disables it, if it has failed often enough. A day before this is sent again."""


class EndpointDisabled(EndpointRecovered, frozen=True):
    """An endpoint that the service has disabled, as `endpoint.disabled` carries it."""

    since: str | None
    """When it failed first, after the last success."""
    reason: Literal["gone", "failing"]
    """`gone`: its server answered 410. `failing`: nothing had arrived for days."""


class DeadLetters(EndpointRecovered, frozen=True):
    """How many deliveries to an endpoint have used up their attempts."""

    count: int
    """Since the event of this kind before, or within a day."""


class DeliveryDead(Struct, frozen=True):
    """Deliveries that have used up their attempts, as `delivery.dead` carries it."""

    count: int
    """Since the event of this kind before, or within a day: at most 10,000 are counted."""
    endpoints: list[DeadLetters]
    """Of each endpoint, at most 100, those with the most first. Lost `delivery.dead` are not counted."""


class Address(Struct, frozen=True):
    """An address at Slack or Teams, without its secret."""

    id: str
    service: Service
    host: str
    kinds: list[str]
    error: str | None
    """What came of the last attempt, where nothing arrived."""
    stopped_at: datetime | None
    """When it answered that there is no such address. Nothing is sent there any more."""


class Offer(Struct, frozen=True):
    """A kind of notice that people can choose."""

    kind: Kind
    title: str
    about: str
    role: Role
    """Whoever has a lesser role gets none."""
    default: Role
    """Who gets it without having chosen: people with this role, and with greater ones."""
    pause: timedelta
    """The least time between two mails of this kind."""

    @property
    def roles(self) -> list[Role]:
        """Everybody who may have it."""
        return [role for role in ROLES if has_role(role, self.role)]

    @property
    def defaults(self) -> list[Role]:
        """Everybody who has it without having chosen."""
        return [role for role in ROLES if has_role(role, self.default)]


ENDPOINTS: Final = Offer(
    "endpoints", "Webhook endpoints", "An endpoint is failing, was disabled, or is in service again.",
    role="viewer", default="admin", pause=timedelta(minutes=10),
)  # fmt: skip
DEAD_LETTERS: Final = Offer(
    "dead_letters", "Dead letters", "Deliveries have used up their attempts. At most one mail a day.",
    role="viewer", default="admin", pause=timedelta(days=1),
)  # fmt: skip
WAITING: Final = Offer(
    "waiting", "Waiting visitors", "A visitor waits for a person, and nobody has the inbox open.",
    role="agent", default="agent", pause=timedelta(minutes=5),
)  # fmt: skip
MENTIONS: Final = Offer(
    "mentions", "Mentions", "A colleague mentions you in a note beside a conversation.",
    role="agent", default="agent", pause=timedelta(0),
)  # fmt: skip
OFFERS: Final[dict[Kind, Offer]] = {one.kind: one for one in (ENDPOINTS, DEAD_LETTERS, WAITING, MENTIONS)}
"""Every kind, in the order in which they are shown."""

TO_ADDRESSES: Final = (ENDPOINTS, DEAD_LETTERS, WAITING)
"""The kinds that addresses at Slack and Teams can have: those that are for no one person."""


def by_default(role: Role) -> list[str]:
    """The kinds that somebody with this role gets without having chosen."""
    return [offer.kind for offer in OFFERS.values() if has_role(role, offer.default)]
