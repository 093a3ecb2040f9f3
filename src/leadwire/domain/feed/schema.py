"""Events as /v1 shows them."""

from typing import Any

from msgspec import Struct


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
