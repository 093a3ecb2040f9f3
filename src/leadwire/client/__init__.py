"""The Python client of `/v1`, and the check of webhooks. Stands alone: httpx and msgspec, nothing else of Leadwire.

with Leadwire("lw_...", "https://leads.example.com") as lw:
    for lead in lw.leads.list(score_min=50):
        print(lead.email)
"""

from leadwire.client.api import AsyncLeadwire, Leadwire
from leadwire.client.errors import (
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
from leadwire.client.events import (
    ConversationEnded,
    ConversationHandoff,
    ConversationStarted,
    Event,
    LeadUpdated,
    MessageEvent,
)
from leadwire.client.retry import Retry
from leadwire.client.types import Conversation, ConversationDetail, ConversationEnd, Lead, LeadDeleted, Message, Page
from leadwire.client.verify import verify

__all__ = [
    "ApiError", "AsyncLeadwire", "Conflict", "Conversation", "ConversationDetail", "ConversationEnd",
    "ConversationEnded", "ConversationHandoff", "ConversationStarted", "Event", "Forbidden", "InProgress",
    "Invalid", "InvalidSignature", "Lead", "LeadDeleted", "LeadUpdated", "Leadwire", "LeadwireError", "Message",
    "MessageEvent", "NotFound", "Page", "PreconditionFailed", "RateLimited", "Retry", "StaleSignature",
    "Unauthenticated", "Unavailable", "Unreachable", "Unreadable", "verify",
]  # fmt: skip
