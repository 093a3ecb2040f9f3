"""Parameters of the document, and references to those parts that `skeleton.toml` has."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from leadwire.interfaces.http import docstrings

REF: Final = "#/components/schemas/{name}"
REQUEST_ID: Final = "req_5f2b8c1d9e3a4b6c7d8e9f01"
_TIMES: Final = " ISO 8601, extended or basic format, 1970 to 9998. A date alone, or a time without offset, is in UTC."


def header_refs(*names: str) -> dict[str, Any]:
    """Return references to response headers."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def parameter_refs(*names: str) -> list[dict[str, Any]]:
    """Return references to request headers."""
    return [{"$ref": f"#/components/parameters/{name}"} for name in names]


def parameter(
    place: str, name: str, description: str, schema: Mapping[str, Any], example: Any, *, required: bool = False
) -> dict[str, Any]:
    """Return a parameter in `place`: path, query or header."""
    about = {"description": description, "schema": schema, "example": example}
    return {"name": name, "in": place, "required": required, **about}


def path_parameter(name: str, example: str) -> dict[str, Any]:
    """Return the id in a path."""
    return parameter("path", name, "The id; a bad one returns 404.", {"type": "string"}, example, required=True)


def query_parameters(model: type[msgspec.Struct]) -> list[dict[str, Any]]:
    """Return the fields of a query."""
    _, components = msgspec.json.schema_components([model], ref_template=REF)
    described = docstrings.docstrings(model)
    made = []
    for name, schema in components[model.__name__]["properties"].items():
        for choice in schema.pop("anyOf", ()):
            if choice.get("type") != "null":
                schema.update(choice)
        if schema.get("default", 0) is None:
            del schema["default"]
        text = described.get(name, "") + (_TIMES if schema.get("format") == "date-time" else "")
        made.append(parameter("query", name, text, schema, _example(name, schema)))
    return made


def _example(name: str, schema: dict[str, Any]) -> Any:
    if schema.get("format") == "date-time":
        return "2026-01-02T03:04:05.678Z"
    if "enum" in schema:
        return schema["enum"][0]
    if "pattern" in schema:
        return f"{name.removesuffix('_id')}_{'0' * 26}"
    return schema.get("default", {"score_min": 50}.get(name, 100))
