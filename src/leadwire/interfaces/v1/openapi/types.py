"""A schema in a few words of HTML."""

from collections.abc import Mapping
from html import escape
from typing import Any


def is_object(name: str) -> bool:
    """Whether a component is worth a place of its own; envelopes and errors are told in words."""
    return name == "PageMeta" or not (name.startswith(("Single", "Page")) or is_problem(name))


def is_problem(name: str) -> bool:
    """Whether a component is an error answer: they differ in their codes only, and are told of together."""
    return name.endswith("Problem")


def words(schema: Mapping[str, Any]) -> str:
    """What a value is, in words; the objects are links."""
    if choices := schema.get("anyOf") or _choices(schema):
        return " or ".join(dict.fromkeys(words(choice) for choice in choices))
    if ref := schema.get("$ref") or schema.get("title"):
        return _object(ref.rpartition("/")[2])
    if values := schema.get("enum") or [schema[name] for name in ("const",) if name in schema]:
        return ", ".join(f"<code>{escape(str(value))}</code>" for value in values if value is not None)
    if schema.get("type") == "array":
        return f"list of {words(schema['items'])}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {words(schema['additionalProperties'])}"
    return escape(schema.get("type", "anything")) + _limits(schema)


def _choices(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """One schema for each type, where there is a list of them."""
    if not isinstance(kinds := schema.get("type"), list):
        return []
    return [{"type": "null"} if kind == "null" else {**schema, "type": kind} for kind in kinds]


def _object(name: str) -> str:
    for envelope, text in (("Single", '{"data": %s}'), ("Page", '{"data": list of %s, "meta": %s}')):
        if name.startswith(envelope) and name != "PageMeta":
            inner = _object(name.removeprefix(envelope))
            return escape(text).replace("%s", inner, 1).replace("%s", _object("PageMeta"))
    return f'<a href="#object-{escape(name)}">{escape(name)}</a>'


def _limits(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    found = []
    if schema.get("format") == "date-time":
        found.append("date and time")
    elif "format" in schema:
        found.append(escape(schema["format"]))
    if low is not None and high is not None and high < 10**9:
        found.append(f"{low} to {high}")
    if "maxLength" in schema:
        found.append(f"up to {schema['maxLength']} characters")
    if "default" in schema:
        found.append(f"default {escape(str(schema['default']))}")
    return f" ({', '.join(found)})" if found else ""
