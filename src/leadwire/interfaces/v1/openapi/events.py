"""The events of the document: a schema of each kind, `Event` for any of them, and the webhooks that carry them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from leadwire.infrastructure import settings
from leadwire.interfaces.v1.openapi.schemas import AT, REF, Json


def event_kinds(components: dict[str, Json], events: Mapping[str, type[msgspec.Struct]]) -> dict[str, Json]:
    """Return the schema of each kind of event, which are made components. `Event` becomes any of them, by `event`."""
    common = components["Event"]
    about = {name: value["description"] for name, value in common["properties"].items()}
    kinds, mapping = {}, {}
    for kind, model in events.items():
        name = kind.title().replace(".", "") + "Event"
        own = {
            "event": {"const": kind, "description": about["event"]},
            "data": {"$ref": REF.format(name=model.__name__), "description": about["data"]},
        }
        kinds[kind] = components[name] = {**common, "title": name, "properties": common["properties"] | own}
        mapping[kind] = REF.format(name=name)
    components["Event"] = {
        "title": "Event",
        "description": common["description"],
        "oneOf": [{"$ref": ref} for ref in mapping.values()],
        "discriminator": {"propertyName": "event", "mapping": mapping},
    }
    return kinds


def webhook(kind: str, event: Json, sample: Mapping[str, Any], common: Json) -> Json:
    """Return the path item of a kind of event: its body is the event without the id, which is a header.

    `common` is what all webhooks share, from `skeleton.toml`. The body has no name: oapi-codegen drops those that no
    path refers to, and then what it makes of the webhooks does not compile.
    """
    waits = ", ".join(str(wait) for wait in settings.get().retry_schedule)
    retry = f"Anything else, or nothing within {settings.get().delivery_timeout:g} s: tried again after {waits} s."
    members = {name: value for name, value in event["properties"].items() if name != "id"}
    body = {"type": "object", "required": [*members], "properties": members}
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
