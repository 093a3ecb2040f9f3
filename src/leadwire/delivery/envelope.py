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

AuditKind = Literal["audit.recorded"]
AUDIT: Final[AuditKind] = "audit.recorded"
"""An entry of the audit log. None of `KINDS`: only who names it gets it."""
EVERY_KIND: Final = (*KINDS, AUDIT)
Unsent = Literal["conversation.deleted"]
"""What is recorded so that totals are counted again. Nobody can subscribe to it, and no feed has it."""

_encode = msgspec.json.Encoder().encode


def encode(kind: EventKind | AuditKind | Unsent, at: datetime, data: object) -> str:
    """The body of every POST about this event: compact UTF-8 JSON with exactly these three keys."""
    return _encode({"event": kind, "timestamp": clock.iso(at), "data": data}).decode()
