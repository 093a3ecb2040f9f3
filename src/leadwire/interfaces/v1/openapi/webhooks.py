"""The webhooks of the document: one for each event kind."""

from collections.abc import Mapping
from typing import Any, Final

from leadwire.infrastructure import ids, settings
from leadwire.interfaces.v1.openapi.parts import REF, TRACEPARENT, parameter
from leadwire.interfaces.v1.openapi.schemas import MOMENT

_AT: Final = "2026-01-02T03:04:05.678Z"
_ABOUT: Final = (
    "A POST to every enabled endpoint that subscribes to `{kind}`. Check `{prefix}Signature`, or the Standard Webhooks "
    "headers, before trusting the body. Deliveries can repeat: `webhook-id` stays the same. Deliveries can overtake "
    "each other, and events of one moment have the same `timestamp`: to put them in order, sort by `webhook-id`, as "
    "text. These ids ascend with time, across servers as exactly as their clocks agree. A body has at most {largest} "
    "bytes."
)
_WAIT: Final = {"description": "Wait at least this long: seconds, or an HTTP date.", "schema": {"type": "string"}}


def webhook(kind: str, component: str, sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return the path item of a kind of event."""
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
    prefix, largest = configured.header_prefix, f"{settings.LARGEST_WEBHOOK:,}"
    operation = {
        "operationId": "on_" + kind.replace(".", "_"),
        "summary": kind,
        "description": _ABOUT.format(kind=kind, prefix=prefix, largest=largest),
        "tags": ["Webhooks"],
        "security": [],
        "parameters": _headers(prefix),
        "requestBody": {"required": True, "content": {"application/json": content}},
        "responses": {
            "2XX": {"description": "Received. The body is ignored."},
            "410": {"description": "Not wanted any more: the endpoint is disabled."},
            "default": {"description": retry, "headers": {"Retry-After": _WAIT}},
        },
    }
    return {"post": operation}


def _headers(prefix: str) -> list[dict[str, Any]]:
    def header(name: str, description: str, pattern: str, example: str, *, always: bool = True) -> dict[str, Any]:
        schema = {"type": "string", "pattern": pattern}
        return parameter("header", name, description, schema, example, required=always)

    return [
        header(
            f"{prefix}Signature",
            "`sha256=` and the HMAC-SHA256 of the body, in hex, keyed with the endpoint's secret as it was copied.",
            "^sha256=[0-9a-f]{64}$",
            "sha256=" + "0f" * 32,
        ),
        header(
            "webhook-id",
            "Names the event: the same at every attempt, so a receiver can drop repeats.",
            f"^evt_{ids.FORM}$",
            "evt_" + "0" * 26,
        ),
        header("webhook-timestamp", "When this attempt was made, in Unix seconds.", "^[0-9]+$", "1767323045"),
        header(
            "webhook-signature",
            "Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`, keyed with the decoded "
            "secret. Two, with a space between, while a new secret is staged.",
            "^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$",
            "v1," + "A" * 43 + "=",
        ),
        header(f"{prefix}Attempt", "1 for the first try.", "^[1-9][0-9]*$", "1"),
        header(f"{prefix}Test", "`true` on a test event; else absent.", "^true$", "true", always=False),
        header("traceparent", "W3C Trace Context of the cause.", "^00-[0-9a-f-]+$", TRACEPARENT, always=False),
    ]
