"""A sample of every event kind: what a test event carries. The ids are plainly not real."""

from typing import Any, Final

_NIL: Final = "0" * 26
_AT: Final = "2026-01-02T03:04:05.678Z"
_LEAD: Final = {
    "id": f"lead_{_NIL}",
    "email": "ada@example.com",
    "name": "Ada Lovelace",
    "phone": "+442079460000",
    "company": "Analytical Engines",
    "score": 80,
    "source": {"url": "/pricing", "campaign": "spring", "referrer": "https://www.example.com/"},
    "custom_fields": {"team_size": "11-50"},
    "conversation_id": f"conv_{_NIL}",
    "bot_id": f"bot_{_NIL}",
    "created_at": _AT,
}
_CONVERSATION: Final = {
    "id": f"conv_{_NIL}",
    "bot_id": f"bot_{_NIL}",
    "status": "active",
    "visitor": {"email": "ada@example.com", "name": "Ada Lovelace"},
    "messages_count": 4,
    "created_at": _AT,
    "updated_at": _AT,
}
_METADATA: Final = {
    "source": _LEAD["source"],
    "locale": "en-GB",
    "timezone": "Europe/London",
    "browser": "Firefox",
    "os": "Linux",
    "flow_version": None,
    "variables": {},
    "ended_at": None,
    "ended_by": None,
    "end_reason": None,
    "handoff": None,
}
_MESSAGE: Final = {
    "id": f"msg_{_NIL}",
    "content": "Could you tell me about your prices? — Merci!",
    "created_at": _AT,
    "conversation_id": f"conv_{_NIL}",
    "bot_id": f"bot_{_NIL}",
}

SAMPLES: Final[dict[str, dict[str, Any]]] = {
    "lead.created": _LEAD,
    "lead.updated": {**_LEAD, "previous_attributes": {"score": 40}},
    "lead.deleted": {"id": f"lead_{_NIL}", "deleted": True},
    "conversation.started": {**_CONVERSATION, "messages_count": 0, "metadata": _METADATA},
    "conversation.handoff": {
        **_CONVERSATION,
        "status": "handoff",
        "handoff": {"reason": "asked for a person", "requested_at": _AT},
        "lead": _LEAD,
    },
    "conversation.ended": {
        **_CONVERSATION,
        "status": "ended",
        "ended_at": _AT,
        "ended_by": "visitor",
        "reason": "closed",
        "lead": _LEAD,
    },
    "message.sent": {**_MESSAGE, "role": "bot"},
    "message.received": {**_MESSAGE, "role": "user"},
}
