"""The Python client of Leadwire's `/v1`, and the check of its webhooks.

with Leadwire("lw_...", "https://leads.example.com") as lw:
    for lead in lw.leads.list(score_min=50):
        print(lead.email)
"""

from leadwire_client.checkpoint import Checkpoint, Compared, compare, compare_async
from leadwire_client.client import AsyncLeadwire, Leadwire, __version__
from leadwire_client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    InProgress,
    Invalid,
    InvalidSignature,
    LeadwireError,
    NotFound,
    PreconditionFailed,
    RateLimited,
    StaleSignature,
    Unauthenticated,
    Unavailable,
    Unreachable,
    Unreadable,
)
from leadwire_client.events import (
    ConversationEnded,
    ConversationHandoff,
    ConversationStarted,
    Event,
    LeadUpdated,
    MessageEvent,
)
from leadwire_client.exports import ExportedMessage
from leadwire_client.public_keys import AsyncPublicKeys, PublicKeys
from leadwire_client.receiver import Acknowledged, AsyncReceiver, Batch, Delivery, Fetched, Receiver, Redrive
from leadwire_client.retry import Retry
from leadwire_client.types import (
    AuditRecorded,
    Bot,
    Conversation,
    ConversationDetail,
    ConversationEnd,
    DeadLetters,
    DeliveryDead,
    EndpointDisabled,
    EndpointFailing,
    EndpointRecovered,
    Export,
    Lead,
    LeadDeleted,
    Limits,
    Me,
    Message,
    Page,
    Workspace,
)
from leadwire_client.verify import verify

__all__ = [
    "Acknowledged", "ApiError", "AsyncLeadwire", "AsyncPublicKeys", "AsyncReceiver", "AuditRecorded", "Batch", "Bot",
    "Checkpoint", "Compared", "Conflict", "Conversation", "ConversationDetail", "ConversationEnd", "ConversationEnded",
    "ConversationHandoff", "ConversationStarted", "DeadLetters", "Delivery", "DeliveryDead", "EndpointDisabled",
    "EndpointFailing", "EndpointRecovered", "Event", "Export", "ExportedMessage", "Fetched",
    "Forbidden", "InProgress", "Invalid", "InvalidSignature", "Lead", "LeadDeleted", "LeadUpdated", "Leadwire",
    "LeadwireError", "Limits", "Me", "Message", "MessageEvent", "NotFound", "Page", "PreconditionFailed", "PublicKeys",
    "RateLimited", "Receiver", "Redrive", "Retry", "StaleSignature", "Unauthenticated", "Unavailable", "Unreachable",
    "Unreadable", "Workspace", "__version__", "compare", "compare_async", "verify",
]  # fmt: skip
