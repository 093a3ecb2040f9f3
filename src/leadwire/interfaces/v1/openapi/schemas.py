"""The schemas of the document: those that msgspec makes of structs, completed, examples of them, and the events."""

import ast
import functools
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, get_args, get_origin

import msgspec

from leadwire.infrastructure import ids, settings

REF: Final = "#/components/schemas/{name}"
AT: Final = "2026-01-02T03:04:05.678Z"
"""The time of all examples."""
_ID: Final = re.compile(f"([a-z]+)_{ids.FORM}")
_GENERIC: Final = re.compile(rb'\b(Single|Page|Feed)[\[_](\w+?)[\]_]"')
_TIME: Final = re.compile("(.+_)?(at|since)|timestamp")
_MOMENT: Final = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$",
}

_FORMATS: Final = {"integer": "int64", "number": "double"}

Json = dict[str, Any]


def references(kind: str, *names: str) -> dict[str, Json]:
    """Return references to shared headers or parameters, by their names."""
    return {name: {"$ref": f"#/components/{kind}/{name}"} for name in names}


def of(types: Iterable[Any]) -> tuple[list[Json], dict[str, Json]]:
    """Return a reference for each of `types`, and the components they need."""
    kinds = list(types)
    text = msgspec.json.encode(msgspec.json.schema_components(kinds, ref_template=REF))
    refs, components = msgspec.json.decode(_GENERIC.sub(rb'\1\2"', text))  # `Single_Lead_` is `SingleLead` here
    structs: dict[str, type[msgspec.Struct]] = {}
    _collect(msgspec.inspect.multi_type_info(kinds), structs)
    for name, schema in components.items():
        described, partial = docstrings(structs[name]), structs[name].__struct_config__.omit_defaults
        for field, value in schema["properties"].items():
            value["description"] = described.get(field, "")
            if not partial:  # what we send always has every key
                value.pop("default", None)
            for choice in (value, *value.get("anyOf", ())) if _TIME.fullmatch(field) else ():
                choice.update(_MOMENT if choice.get("type") == "string" else {})
        if not partial:
            absent = {field.name for field in msgspec.structs.fields(structs[name]) if field.default is msgspec.UNSET}
            schema["required"] = [field for field in schema["properties"] if field not in absent]
    return refs, components


def _collect(part: Any, structs: dict[str, type[msgspec.Struct]]) -> None:
    """Add every struct inside what msgspec tells of types, by the name of its component."""
    if isinstance(part, msgspec.inspect.StructType):
        kind = get_origin(part.cls) or part.cls
        name = "".join(cls.__name__ for cls in (kind, *get_args(part.cls)))
        if name in structs:
            return
        structs[name] = kind
    members = [getattr(part, name) for name in part.__struct_fields__] if isinstance(part, msgspec.Struct) else part
    for member in members if isinstance(members, list | tuple) else ():
        _collect(member, structs)


@functools.cache
def docstrings(struct: type[msgspec.Struct]) -> Mapping[str, str]:
    """Return the docstring of each field, inherited ones too: the text below it, which Python itself does not keep."""
    texts: dict[str, str] = {}
    for kind in reversed(struct.__mro__):
        if issubclass(kind, msgspec.Struct) and kind is not msgspec.Struct:
            [definition] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
            texts |= _of(definition)
    return texts


def _of(definition: ast.stmt) -> dict[str, str]:
    texts = {}
    for pair in itertools.pairwise(getattr(definition, "body", ())):
        match pair:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = inspect.cleandoc(text)
    return texts


def examples(components: dict[str, Json], samples: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return an example of each component, from `samples`; a field whose example is an id gets the pattern of ids."""
    pool = [{"total": 1, "page": 1, "per_page": 20}, *(part for sample in samples for part in _objects(sample))]
    results = {}
    for name, schema in components.items():
        results[name] = _example({"$ref": REF.format(name=name)}, components, pool)
        for field, value in schema["properties"].items():
            text = results[name].get(field)
            if value.keys() == {"type", "description"} and isinstance(text, str) and (match := _ID.fullmatch(text)):
                value["pattern"] = f"^{match[1]}_{ids.FORM}$"
    return results


def _example(schema: Json, components: dict[str, Json], pool: list[Mapping[str, Any]]) -> Any:
    if ref := schema.get("$ref"):
        schema = components[ref.rpartition("/")[2]]
    if schema.get("type") == "array":
        return [_example(schema["items"], components, pool)]
    if "anyOf" in schema:
        return _example(schema["anyOf"][0], components, pool)
    if "properties" not in schema:
        return {"integer": 1, "boolean": True, "object": {}}.get(schema.get("type", ""), "")
    wanted = schema["properties"]
    best = max(pool, key=lambda sample: (len(wanted.keys() & sample.keys()), -len(sample)))
    if len(wanted.keys() & best.keys()) < 2:  # an envelope; an event has `data`, too
        best = {}
    return {
        field: best[field] if field in best else _example(value, components, pool) for field, value in wanted.items()
    }


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        for inner in value.values():
            yield from _objects(inner)


def portable(part: Any) -> Any:
    """Return the document, or a part of it, in the subset that all generators and linters read.

    Patterns are RE2's, which has neither `\\Z` nor `\\u`: they leave out the bidirectional overrides that are refused,
    too. Constants and choices have a type, and numbers a format, without which some clients have 32 bits for them.
    `null` is a type where the other one is plain. Other choices are `oneOf`: openapi-generator's Rust reads no `anyOf`.
    They exclude each other, so a number stands for an integer, too. openapi-typescript takes an object that names no
    members for empty: it is said to have some.
    """
    if isinstance(part, list):
        return [portable(value) for value in part]
    if not isinstance(part, dict):
        return part
    schema = {key: value if key in ("example", "examples") else portable(value) for key, value in part.items()}
    if isinstance(pattern := schema.get("pattern"), str):
        schema["pattern"] = pattern.replace(r"\u202a-\u202e\u2066-\u2069", "").replace(r"\Z", "$")
    if "type" not in schema and ("const" in schema or "enum" in schema):
        schema["type"] = "integer" if isinstance(schema.get("const"), int) else "string"
    match schema.get("anyOf"):
        case [{"type": str(kind)} as plain, {"type": "null"}]:
            del schema["anyOf"]
            schema = {**plain, **schema, "type": [kind, "null"]}
            if "enum" in schema:
                schema["enum"] = [*schema["enum"], None]
        case [*choices] if all("type" in choice for choice in choices):
            del schema["anyOf"]
            numbers = {"type": "number", "format": "double"} in choices
            schema["oneOf"] = [choice for choice in choices if not (numbers and choice["type"] == "integer")]
    match schema.get("type"):
        case ("integer" | "number" as kind) | ["integer" | "number" as kind, "null"]:
            schema["format"] = _FORMATS[kind]
        case "object" if not schema.keys() & {"properties", "additionalProperties"}:
            schema["additionalProperties"] = True
    return schema


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
