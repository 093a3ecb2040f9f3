"""What the templates of the generated pages show of the OpenAPI document: operations, events, objects, errors."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup, escape

from leadwire.interfaces.docs.markdown import Section

Json = Mapping[str, Any]
Row = tuple[str, str, str]

_HERE: Final = Path(__file__).parent
_ENVELOPES: Final = (("Single", Markup('{{"data": {}}}')), ("Page", Markup('{{"data": list of {}, "meta": {}}}')))
_IN_WORDS: Final = ("Single", "Page", "Problem")
_PLACES: Final = {"query": "", "path": "in the path, ", "header": "header, "}


def described(document: Json) -> dict[str, Any]:
    """What the templates take of the document."""
    schemas = document["components"]["schemas"]
    samples = tomllib.loads((_HERE / "samples.toml").read_text())
    cures = tomllib.loads((_HERE / "cures.toml").read_text())
    operations = [
        (method, path, operation, {"curl": _curl(method, path, operation), **samples[operation["operationId"]]})
        for path, item in resolved(document["paths"], document["components"]).items()
        for method, operation in item.items()
    ]
    tags = [(tag, [entry for entry in operations if tag["name"] in entry[2]["tags"]]) for tag in document["tags"]]
    elsewhere = [(str(status), code, text, cure) for code, (status, text, cure) in cures.pop("elsewhere").items()]
    errors = dict(error for _, _, operation, _ in operations for error in _errors(operation))
    return {
        "info": document["info"],
        "tags": [(tag, entries) for tag, entries in tags if entries],
        "webhooks": [(item["post"], _data(item["post"], schemas)) for item in document["webhooks"].values()],
        "objects": _objects(schemas),
        "problem": schemas["Problem"],
        "problem_example": next(example["value"] for example in errors.values() if "errors" in example["value"]),
        "errors": sorted([*elsewhere, *((*key, error["summary"], cures[key[1]]) for key, error in errors.items())]),
    }


def sections(described: Json) -> dict[str, list[Section]]:
    """What the generated pages have, for the list of contents and the search. The first is the page itself."""
    operations = [
        Section(
            operation["operationId"], operation["summary"], 2, f"{method.upper()} {path} {operation['description']}"
        )
        for _, entries in described["tags"]
        for method, path, operation, _ in entries
    ]
    objects = [
        Section(f"object-{name}", name, 3, " ".join([*schema.get("properties", {})]))
        for name, schema in described["objects"].items()
    ]
    events = [
        Section(event["operationId"], event["summary"], 2, event["description"]) for event, _ in described["webhooks"]
    ]
    errors = [Section(code, code, 3, f"{status} {text} {cure}") for status, code, text, cure in described["errors"]]
    return {
        "reference": [Section("start", "API reference", 1, described["info"]["description"]), *operations, *objects],
        "event-catalog": [Section("start", "Event catalog", 1, ""), *events],
        "errors": [Section("start", "Errors", 1, ""), *errors],
    }


def resolved(part: Any, components: Json) -> Any:
    """Return a part of the document in which all references but those to schemas are written out."""
    if isinstance(part, list):
        return [resolved(value, components) for value in part]
    if not isinstance(part, dict):
        return part
    match str(part.get("$ref")).split("/"):
        case ["#", "components", ("headers" | "parameters" | "responses") as kind, name]:
            return resolved(components[kind][name], components)
    return {name: resolved(value, components) for name, value in part.items()}


def _errors(operation: Json) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield an example of each error, by its status and code."""
    for response in operation["responses"].values():
        content = response.get("content", {}).get("application/problem+json", {})
        for code, example in content.get("examples", {}).items():
            yield (str(example["value"]["status"]), code), example


def _described(named: Json) -> list[Row]:
    return [(name, "", value["description"]) for name, value in named.items()]


def _parameters(parameters: list[Json]) -> list[Row]:
    return [
        (parameter["name"], _PLACES[parameter["in"]] + type_words(parameter["schema"]), parameter["description"])
        for parameter in parameters
    ]


def _fields(schema: Json) -> list[Row]:
    optional = schema["properties"].keys() - set(schema["required"])
    return [
        (name, type_words(value) + (", optional" if name in optional else ""), value.get("description", ""))
        for name, value in schema["properties"].items()
    ]


def _curl(method: str, path: str, operation: Json) -> str:
    examples = {parameter["name"]: parameter["example"] for parameter in operation["parameters"]}
    address = path.format_map(examples) + ("?limit=20" if "limit" in examples else "")
    verb = "" if method == "get" else f" -X {method.upper()}"
    lines = [f'curl{verb} "$URL{address}"', '-H "Authorization: Bearer $KEY"']
    if "Idempotency-Key" in examples:
        lines.append('-H "Idempotency-Key: $(uuidgen)"')
    if body := operation.get("requestBody"):
        media_type, content = next(iter(body["content"].items()))
        lines.append(f"-H {shlex.quote(f'Content-Type: {media_type}')}")
        lines.append(f"-d {shlex.quote(json.dumps(content['example']))}")
    return " \\\n  ".join(lines)


def _inline(text: str) -> Markup:
    """Return text with what is in backticks as code."""
    parts = re.split(r"`([^`]+)`", text)
    return Markup().join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def _objects(schemas: Json) -> dict[str, Json]:
    """Return the schemas that have a place of their own on the page. Envelopes and errors are put into words; the kinds
    of events are one object, each member of which is that of any kind. Webhooks are in the catalog.
    """
    objects = {name: schema for name, schema in schemas.items() if name == "PageMeta" or not name.startswith(_IN_WORDS)}
    kinds = [_members(objects.pop(_name(kind)), objects) for kind in objects["Event"]["oneOf"]]
    members = {name: {**value, "anyOf": [kind[name] for kind in kinds]} for name, value in kinds[0].items()}
    return objects | {"Event": {**objects["Event"], "properties": members, "required": [*members]}}


def _members(event: Json, objects: dict[str, Json]) -> dict[str, Json]:
    """Return the members of an event, whose parts are those of its webhook and its id."""
    webhook, of_events = event["allOf"]
    return {**of_events["properties"], **objects.pop(_name(webhook))["properties"]}


def _data(webhook: Json, schemas: Json) -> Json:
    """Return the schema of what a webhook carries."""
    body = schemas[_name(webhook["requestBody"]["content"]["application/json"]["schema"])]
    return schemas[_name(body["properties"]["data"])]  # type: ignore[no-any-return]


def _name(reference: Json) -> str:
    return str(reference["$ref"].rpartition("/")[2])


def type_words(schema: Json) -> Markup:
    """Return what a value is, in words; objects are links."""
    kind = schema.get("type", "anything")
    kinds = [_one_type(schema, choice) for choice in kind] if isinstance(kind, list) else []
    if choices := schema.get("anyOf") or schema.get("oneOf") or kinds:
        return Markup(" or ").join(dict.fromkeys(type_words(choice) for choice in choices))
    if ref := schema.get("$ref") or schema.get("title"):
        return _object(ref.rpartition("/")[2])
    if values := schema.get("enum") or [schema[name] for name in ("const",) if name in schema]:
        return Markup(", ").join(Markup("<code>{}</code>").format(value) for value in values if value is not None)
    if kind == "array":
        return Markup("list of ") + type_words(schema["items"])
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return Markup("object of ") + type_words(schema["additionalProperties"])
    return escape(kind + _limits(schema))


def _one_type(schema: Json, kind: str) -> Json:
    return {"type": kind} if kind == "null" else {**schema, "type": kind}


def _object(name: str) -> Markup:
    for envelope, text in _ENVELOPES:
        if name.startswith(envelope) and name != "PageMeta":
            return text.format(_object(name.removeprefix(envelope)), _object("PageMeta"))
    return Markup('<a href="/docs/reference#object-{0}">{0}</a>').format(name)


def _limits(schema: Json) -> str:
    limits: list[str] = []
    if schema.get("format") not in (None, "int64", "double"):
        limits.append("date and time" if schema["format"] == "date-time" else schema["format"])
    if "minimum" in schema and schema.get("maximum", 10**9) < 10**9:
        limits.append(f"{schema['minimum']} to {schema['maximum']}")
    if "maxLength" in schema:
        limits.append(f"up to {schema['maxLength']} characters")
    if "default" in schema:
        limits.append(f"default {schema['default']}")
    return f" ({', '.join(limits)})" if limits else ""


FILTERS: Final = {
    "breakable": lambda text: Markup("<wbr>").join(re.split(r"(?<=[/_-])", text)),
    "inline": _inline,
    "json": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
    "described": _described,
    "parameters": _parameters,
    "fields": _fields,
    "type_words": type_words,
}
"""Of the templates."""
