"""The schemas of the document: those that msgspec makes of structs, completed, and examples of them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, get_origin

import msgspec

from leadwire.infrastructure import ids
from leadwire.interfaces.http import docstrings
from leadwire.interfaces.v1.openapi.parts import REF

_ID: Final = re.compile(f"([a-z]+)_{ids.FORM}")
MOMENT: Final = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$",
}

Json = dict[str, Any]


def of(types: Iterable[Any]) -> tuple[list[Json], dict[str, Json]]:
    """Return a reference for each of `types`, and the components they need."""
    kinds = list(types)
    refs, components = msgspec.json.schema_components(kinds, ref_template=REF)
    structs = {kind.__name__: kind for kind in _structs(kinds)}
    partial = {name for name, kind in structs.items() if kind.__struct_config__.omit_defaults}
    for name, schema in components.items():
        described = docstrings.docstrings(structs[name.partition("_")[0]])
        schema["title"] = _plain(schema["title"])
        for field, value in schema["properties"].items():
            if name not in partial:  # what we send always has every key
                value.pop("default", None)
            if field.endswith("_at"):
                _to_moment(value)
            value["description"] = described.get(field, "")
        if name not in partial:
            schema["required"] = list(schema["properties"])
    return _renamed(list(refs)), _renamed(components)


def examples(components: dict[str, Json], samples: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return an example of each component, from `samples`; a field whose example is an id gets the pattern of ids."""
    pool = [{"total": 1, "page": 1, "per_page": 20}, *(found for sample in samples for found in _objects(sample))]
    made = {}
    for name, schema in components.items():
        made[name] = _example({"$ref": REF.format(name=name)}, components, pool)
        for field, value in schema["properties"].items():
            text = made[name].get(field)
            if value.keys() == {"type", "description"} and isinstance(text, str) and (found := _ID.fullmatch(text)):
                value["pattern"] = f"^{found[1]}_{ids.FORM}$"
    return made


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
    best = max(pool, key=lambda sample: len(wanted.keys() & sample.keys()))
    return {
        field: best[field] if field in best else _example(value, components, pool) for field, value in wanted.items()
    }


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        for inner in value.values():
            yield from _objects(inner)


def _structs(kinds: Iterable[Any]) -> Iterator[type[msgspec.Struct]]:
    """Yield every struct inside `kinds`, nested ones too."""
    seen: set[Any] = set()
    waiting = list(msgspec.inspect.multi_type_info(kinds))
    while waiting:
        found = waiting.pop()
        if isinstance(found, msgspec.inspect.StructType):
            if found.cls in seen:  # a generic one comes as `Single[Lead]`, once for each
                continue
            seen.add(found.cls)
            yield get_origin(found.cls) or found.cls
            waiting += [field.type for field in found.fields]
        for name in ("types", "item_type", "item_types", "value_type", "type"):
            inner = getattr(found, name, ())
            waiting += inner if isinstance(inner, tuple) else [inner]


def portable(part: Any) -> Any:
    """Return the document, or a part of it, in the subset that all generators and linters read.

    Patterns are RE2's, which has neither `\\Z` nor `\\u`: they leave out the bidirectional overrides that are refused,
    too. Constants and choices have a type. `null` is a type where the other one is plain.
    """
    if isinstance(part, list):
        return [portable(value) for value in part]
    if not isinstance(part, dict):
        return part
    found = {key: value if key in ("example", "examples") else portable(value) for key, value in part.items()}
    if isinstance(pattern := found.get("pattern"), str):
        found["pattern"] = pattern.replace(r"\u202a-\u202e\u2066-\u2069", "").replace(r"\Z", "$")
    if "type" not in found and ("const" in found or "enum" in found):
        found["type"] = "integer" if isinstance(found.get("const"), int) else "string"
    match found.get("anyOf"):
        case [{"type": str(kind)} as plain, {"type": "null"}]:
            del found["anyOf"]
            found = {**plain, **found, "type": [kind, "null"]}
            if "enum" in found:
                found["enum"] = [*found["enum"], None]
    return found


def reachable(*parts: Any, components: dict[str, Json]) -> set[str]:
    """Return the components that `parts` refer to, directly or through others."""
    found: set[str] = set()
    waiting = list(parts)
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            name = str(part.get("$ref", "")).rpartition("/")[2]
            if name in components and name not in found:
                found.add(name)
                waiting.append(components[name])
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return found


def inline_all_but(kept: set[str], components: dict[str, Json], webhooks: dict[str, Json]) -> None:
    """Write the components that only webhooks use into them: oapi-codegen drops what no path refers to."""
    for item in webhooks.values():
        data = item["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]["data"]
        if (name := data["$ref"].rpartition("/")[2]) not in kept:
            whole = components[name]
            fields = {field: _whole_or_null(value, components) for field, value in whole["properties"].items()}
            data |= {**whole, "properties": fields, "description": f"{whole['description']} {data['description']}"}
            del data["$ref"]
    for name in components.keys() - kept:
        del components[name]


def _whole_or_null(value: Json, components: dict[str, Json]) -> Json:
    """Return an object or `null` without a reference, on which openapi-generator fails within webhooks."""
    match value:
        case {"anyOf": [{"$ref": ref}, {"type": "null"}], **rest}:
            return {**components[ref.rpartition("/")[2]], "type": ["object", "null"], **rest}
    return value


def _to_moment(schema: Json) -> None:
    for choice in [schema, *schema.get("anyOf", ())]:
        if choice.get("type") == "string":
            choice.update(MOMENT)


def _renamed(made: Any) -> Any:
    """`Single[Lead]` is called `Single_Lead_` by msgspec; call it `SingleLead`."""
    if isinstance(made, dict):
        return {_plain(key): _renamed(value) for key, value in made.items()}
    if isinstance(made, list):
        return [_renamed(value) for value in made]
    return _plain(made) if isinstance(made, str) and made.startswith("#/") else made


def _plain(name: str) -> str:
    return re.sub(r"\b(Single|Page)[\[_](\w+?)[\]_]$", r"\1\2", name)
