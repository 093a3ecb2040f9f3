"""Events as /v1 shows them."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from leadwire.delivery.envelope import KINDS
from leadwire.domain.listing.listing import Limit

_KIND = f"({'|'.join(KINDS)})".replace(".", "[.]")


class FeedQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which events, and from where on."""

    limit: Limit = 20
    """Results per page."""
    cursor: Annotated[str, Meta(min_length=1, max_length=100)] = "first"
    """Where to read on: `first`, what `meta.next_cursor` of the page before says, the id of an event, or a time
    (ISO 8601). It lasts for as long as events are kept."""
    types: Annotated[str, Meta(max_length=200, extra_json_schema={"pattern": f"^{_KIND}(,{_KIND})*$"})] | None = None
    """Only these kinds, with a comma between them. By default all."""
    wait: Annotated[int, Meta(ge=0, le=30)] = 0
    """Seconds to wait for the first event when there is none."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that are asked for."""
        return KINDS if self.types is None else tuple(dict.fromkeys(self.types.split(",")))


class Event(Struct, frozen=True):
    """Something that happened, as webhooks tell of it."""

    id: str
    """Starts with `evt_`; the `webhook-id` of its deliveries."""
    event: str
    """The kind of event."""
    timestamp: str
    """When it happened."""
    data: dict[str, Any]  # a msgspec.Raw as it comes from the database
    """What it happened to, as it was then: what the webhook of this kind carries."""
