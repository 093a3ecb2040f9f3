"""The payload envelope: `{"event", "timestamp", "data"}`, encoded once, as the text that is signed and sent."""

from datetime import datetime
from typing import Final, Literal, get_args

import msgspec

from leadwire.infrastructure import clock

EventKind = Literal[
    "lead.created",
    "lead.updated",
    "conversation.started",
    "conversation.ended",
    "conversation.handoff",
    "message.sent",
    "message.received",
    "lead.deleted",
]
KINDS: Final[tuple[str, ...]] = get_args(EventKind)
"""What an endpoint can subscribe to: the seven of the specification, then `lead.deleted`, an extension."""

NamedKind = Literal["audit.recorded", "endpoint.failing", "endpoint.disabled", "endpoint.recovered", "delivery.dead"]
NAMED: Final[tuple[NamedKind, ...]] = get_args(NamedKind)
"""Entries of the audit log, and what becomes of endpoints. None of `KINDS`: only who names one gets it, and no feed
has it. An endpoint is not told of itself, which is the event's subject.
"""
EVERY_KIND: Final = (*KINDS, *NAMED)
Unsent = Literal["conversation.deleted"]
"""What is recorded so that totals are counted again. Nobody can subscribe to it, and no feed has it."""

_encode = msgspec.json.Encoder().encode


def encode(kind: EventKind | NamedKind | Unsent, at: datetime, data: object) -> str:
    """The body of every POST about this event: compact UTF-8 JSON with exactly these three keys."""
    return _encode({"event": kind, "timestamp": clock.iso(at), "data": data}).decode()
