"""The types of the OpenAPI document in TypeScript, for the client's package: `operations` by their ids, `webhooks` by
the kind of event, and every schema under its name.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

Json = Mapping[str, Any]

_NAMES: Final = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def types(document: Json) -> str:
    """What `schema.d.ts` of the package holds."""
    components = document["components"]
    schemas = [f"export type {name} = {_type(schema)};\n" for name, schema in components["schemas"].items()]
    paths = [operation for item in document["paths"].values() for operation in item.values()]
    operations = {path["operationId"]: _operation(path, components) for path in paths}
    sent = {kind: _operation(item["post"], components) for kind, item in document["webhooks"].items()}
    webhooks = {kind: f"{{ post: {text} }}" for kind, text in sent.items()}
    return "".join([*schemas, _interface("operations", operations), _interface("webhooks", webhooks)])


def _interface(name: str, members: Mapping[str, str]) -> str:
    lines = "".join(f"  {json.dumps(member)}: {text};\n" for member, text in members.items())
    return f"export interface {name} {{\n{lines}}}\n"


def _operation(operation: Json, components: Json) -> str:
    """Its query, the JSON that it takes, and the JSON of each answer by its status."""
    parts = [_resolved(parameter, components) for parameter in operation.get("parameters", ())]
    query = [_member(part["name"], part, part["schema"]) for part in parts if part["in"] == "query"]
    answers = [(status, _resolved(answer, components)) for status, answer in operation["responses"].items()]
    responses = "".join(f"{status}: {_content(answer)}; " for status, answer in answers if status.isdigit())
    parameters = f"parameters: {{ query?: {{ {''.join(query)}}} }}; " if query else ""
    body = f"requestBody: {_content(operation['requestBody'])}; " if "requestBody" in operation else ""
    return f"{{ {parameters}{body}responses: {{ {responses}}} }}"


def _content(message: Json) -> str:
    of_json = message.get("content", {}).get("application/json")
    return f'{{ content: {{ "application/json": {_type(of_json["schema"])} }} }}' if of_json else "{}"


def _resolved(part: Json, components: Json) -> Json:
    _, _, kind, name = part["$ref"].split("/") if "$ref" in part else ("", "", "", "")
    return dict(components[kind][name]) if kind else part


def _member(name: str, described: Json, schema: Json) -> str:
    text = described.get("description", "").replace("*/", "* /")
    said = f"/** {text} */ " if text else ""
    return f"{said}{json.dumps(name)}{'' if described.get('required') is True else '?'}: {_type(schema)}; "


def _type(schema: Json) -> str:
    """The type of a schema. What a value of its type cannot tell, as a length, is left out."""
    kind = schema.get("type")
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for joined, names in ((" | ", ("oneOf", "anyOf")), (" & ", ("allOf",))):
        if parts := [part for name in names for part in schema.get(name, ())]:
            return joined.join(map(_type, parts))
    if "const" in schema or "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    if isinstance(kind, list):
        return " | ".join(_type({**schema, "type": choice}) for choice in kind)
    if kind == "object":
        return _object(schema)
    return f"({_type(schema['items'])})[]" if kind == "array" else _NAMES.get(str(kind), "unknown")


def _object(schema: Json) -> str:
    needed, values = schema.get("required", ()), schema.get("additionalProperties")
    if "properties" not in schema:
        return f"Record<string, {_type(values) if isinstance(values, dict) else 'unknown'}>"
    members = schema["properties"].items()
    return "{ " + "".join(_member(name, {**part, "required": name in needed}, part) for name, part in members) + "}"
