"""A sample of every event kind, which test events carry, and code that checks a signature, in five languages."""

import functools
from pathlib import Path
from typing import Any, Final

from leadwire.delivery import envelope
from leadwire.infrastructure import clock

LANGUAGES: Final = {"python": "Python", "node": "Node", "php": "PHP", "go": "Go", "shell": "Shell"}
_FOLDER: Final = Path(__file__).with_name("verifiers")

_NIL: Final = "0" * 26  # of ids that are plainly not real
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


@functools.cache
def verifiers(prefix: str) -> dict[str, str]:
    """Return code for each language, for headers that begin with `prefix`."""
    forms = {
        "{prefix}": prefix,
        "{prefix_lower}": prefix.lower(),
        "{prefix_php}": prefix.upper().replace("-", "_"),
    }
    made = {}
    for name, language in LANGUAGES.items():
        code = (_FOLDER / f"{name}.txt").read_text()
        for form, text in forms.items():
            code = code.replace(form, text)
        made[language] = code
    return made


@functools.cache
def bodies() -> dict[str, str]:
    """Return the body that a delivery of each event kind would have."""
    return {kind: envelope.encode(kind, clock.parse(_AT), data) for kind, data in SAMPLES.items()}  # type: ignore[arg-type]
