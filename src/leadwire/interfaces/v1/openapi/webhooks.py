"""The webhooks of the document: one for each event kind."""

from collections.abc import Mapping
from typing import Any, Final

from leadwire.infrastructure import settings
from leadwire.interfaces.v1.openapi.parts import REF
from leadwire.interfaces.v1.openapi.schemas import MOMENT

_AT: Final = "2026-01-02T03:04:05.678Z"


def webhook(kind: str, component: str, sample: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    """Return the path item of a kind of event. `common` is what all of them share, from `skeleton.toml`."""
    configured = settings.get()
    waits = ", ".join(str(wait) for wait in configured.retry_schedule)
    retry = f"Anything else, or nothing within {configured.delivery_timeout:g} s: tried again after {waits} s."
    envelope = {
        "type": "object",
        "required": ["event", "timestamp", "data"],
        "properties": {
            "event": {"const": kind, "description": "The kind of event."},
            "timestamp": {**MOMENT, "description": "When it happened, which can be long before this attempt."},
            "data": {"$ref": REF.format(name=component), "description": "What it happened to, as it was then."},
        },
    }
    content = {"schema": envelope, "example": {"event": kind, "timestamp": _AT, "data": sample}}
    responses = common["responses"]
    operation = {
        **common,
        "operationId": "on_" + kind.replace(".", "_"),
        "summary": kind,
        "description": common["description"].replace("{kind}", kind),
        "requestBody": {"required": True, "content": {"application/json": content}},
        "responses": {**responses, "default": {"description": retry, **responses["default"]}},
    }
    return {"post": operation}
