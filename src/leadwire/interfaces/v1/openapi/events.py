"""The events of the document: a schema of each kind, `Event` for any of them, and the webhooks that carry them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from leadwire.infrastructure import settings
from leadwire.interfaces.v1.openapi.schemas import AT, REF, Json


def event_kinds(components: dict[str, Json], events: Mapping[str, type[msgspec.Struct]]) -> dict[str, Json]:
    """Return the schema of the webhook of each kind. They become components, and so does each of them with its id, of
    which `Event` is any, by `event`.

    So each is reached from a path: oapi-codegen drops what is not, and then what it makes of the webhooks does not
    compile. `Event` itself says that `event` is a text: openapi-generator's Rust takes it for the choice of a kind
    otherwise, and reads no event.
    """
    common = components["Event"]
    about = {name: value["description"] for name, value in common["properties"].items()}
    of_events = {"type": "object", "required": ["id"], "properties": {"id": common["properties"].pop("id")}}
    kinds, mapping = {}, {}
    for kind, model in events.items():
        event, sent = (kind.title().replace(".", "") + of for of in ("Event", "Webhook"))
        own = {
            "event": {"const": kind, "description": about["event"]},
            "data": {"$ref": REF.format(name=model.__name__), "description": about["data"]},
        }
        members = common["properties"] | own
        components[sent] = {"title": sent, "type": "object", "required": [*members], "properties": members}
        kinds[kind], mapping[kind] = {"$ref": REF.format(name=sent)}, REF.format(name=event)
        components[event] = {"title": event, "allOf": [kinds[kind], of_events]}
    components["Event"] = {
        "title": "Event",
        "description": common["description"],
        "type": "object",
        "required": ["event"],
        "properties": {"event": {"type": "string", "description": about["event"]}},
        "oneOf": [{"$ref": ref} for ref in mapping.values()],
        "discriminator": {"propertyName": "event", "mapping": mapping},
    }
    return kinds


def webhook(kind: str, body: Json, sample: Mapping[str, Any], common: Json) -> Json:
    """Return the path item of a kind of event: its body is the event without the id, which is a header.

    `common` is what all webhooks share, from `skeleton.toml`.
    """
    waits = ", ".join(str(wait) for wait in settings.get().retry_schedule)
    retry = f"Anything else, or nothing within {settings.get().delivery_timeout:g} s: tried again after {waits} s."
    content = {"schema": body, "example": {"event": kind, "timestamp": AT, "data": sample}}
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
