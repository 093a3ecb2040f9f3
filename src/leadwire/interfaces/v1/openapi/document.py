"""The document, from the signatures and docstrings of the handlers; what follows from none is in `skeleton.toml`."""

import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import msgspec
from litestar import Litestar

from leadwire import __version__
from leadwire.domain.exports.formats import FORMATS
from leadwire.infrastructure import ids, settings
from leadwire.infrastructure.errors import IdempotencyInProgress, IdempotencyMismatch, InvalidParameter, Problem
from leadwire.interfaces.http.body import media_types
from leadwire.interfaces.http.responses import Feed, Page, Single, Tagged
from leadwire.interfaces.http.streams import Download
from leadwire.interfaces.v1.openapi import schemas
from leadwire.interfaces.v1.openapi.errors import ErrorResponses
from leadwire.interfaces.v1.openapi.schemas import AT, REF, Json, docstrings, event_kinds, references, webhook
from leadwire.interfaces.v1.operations import NO_QUERY, Operation

_SKELETON: Final = Path(__file__).with_name("skeleton.toml")
_METHODS: Final = ("get", "post", "patch", "delete")
_EXAMPLES: Final = {
    "score_min": 50,
    "cursor": "first",
    "types": "lead.created,lead.updated",
    "wait": 0,
    "after": f"{AT},lead_{'0' * 26}",
    "email": "ada@example.com",
    "q": "acme",
}
_TIMES: Final = " ISO 8601, extended or basic format, 1970 to 9998. A date alone, or a time without offset, is in UTC."
_BY_KEY: Final = (InvalidParameter, IdempotencyInProgress, IdempotencyMismatch)  # of what takes an Idempotency-Key


def document(
    app: Litestar, events: Mapping[str, type[msgspec.Struct]], samples: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the document. `events` maps each kind of event to the struct that is its `data`, `samples` to one such."""
    skeleton = _skeleton()
    operations = _operations(app)
    bodies = [body for operation in operations for body in _bodies(operation)]
    returned = [
        (Single if operation.envelope in (Tagged, Download) else operation.envelope)[operation.data]
        for operation in operations
    ]
    event = {"id": f"evt_{'0' * 26}", "event": "lead.created", "timestamp": AT, "data": samples["lead.created"]}
    refs, components = schemas.of([*returned, *bodies, Problem, *events.values()])
    examples = schemas.examples(components, [*samples.values(), *skeleton.pop("samples"), event])
    kinds = event_kinds(components, events)
    errors = ErrorResponses(skeleton.pop("field_errors"))
    paths: dict[str, dict[str, Any]] = {}
    for operation, ref in zip(operations, refs, strict=False):
        example = examples[ref["$ref"].rpartition("/")[2]]
        responses = _good(operation, ref, example, operations)
        responses |= errors.of_operation(_errors(operation))
        described = _described(operation, example) | {"responses": responses}
        paths.setdefault(operation.path, {})[operation.method] = described
    common = skeleton.pop("webhook")
    webhooks = {kind: webhook(kind, kinds[kind], samples[kind], common) for kind in events}
    tags = {operation.tag: inspect.getdoc(operation.module) for operation in operations}
    tags["Webhooks"] = "What we send to your endpoints."
    skeleton["info"]["version"] = __version__
    skeleton["tags"] = [{"name": name, "description": text} for name, text in tags.items()]
    skeleton |= {"paths": paths, "webhooks": webhooks}
    skeleton["components"] |= {"schemas": components, "responses": errors.shared}
    return schemas.portable(skeleton)  # type: ignore[no-any-return]


def _skeleton() -> dict[str, Any]:
    text = _SKELETON.read_text(encoding="utf-8").replace("{prefix}", settings.get().header_prefix)
    return tomllib.loads(text.replace("{id}", ids.FORM).replace("{largest}", f"{settings.LARGEST_WEBHOOK:,}"))


def _operations(app: Litestar) -> list[Operation]:
    operations = [
        handler.opt["operation"]._replace(path=re.sub(r"{(\w+):\w+}", r"{\1}", route.path))
        for route in app.routes
        for handler in getattr(route, "route_handlers", ())
        if "operation" in handler.opt and route.path.startswith("/v1/")
    ]
    # Lists before what is in them.
    return sorted(operations, key=lambda operation: (operation.path.count("/"), _METHODS.index(operation.method)))


def _errors(operation: Operation) -> Iterator[Any]:
    for part in operation.inputs.values():
        yield from part.errors
    if not operation.takes_query:
        yield from NO_QUERY.errors
    yield from operation.raises
    if operation.method != "get":
        yield from _BY_KEY


def _described(operation: Operation, example: Any) -> dict[str, Any]:
    summary, _, text = (inspect.getdoc(operation.handler) or "").partition("\n")
    needs = f"Needs the scope `{operation.scope}`." if operation.scope else ""
    parameters = []
    if name := operation.path_parameter:
        schema, data = {"type": "string"}, example["data"]
        ident = data["id"] if isinstance(data, dict) else f"conv_{'0' * 26}"
        parameters.append(_parameter("path", name, "The id; a bad one returns 404.", schema, ident, required=True))
    for part in operation.inputs.values():
        parameters += _query_parameters(part.query) if part.query else []
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": summary.removesuffix("."),
        "description": f"{' '.join(text.split())} {needs}".strip(),
        "tags": [operation.tag],
        "parameters": [*parameters, *references("parameters", *_request_headers(operation)).values()],
    }
    for body in _bodies(operation):
        content = {"schema": {"$ref": REF.format(name=body.__name__)}, "example": operation.example}
        described["requestBody"] = {"required": True, "content": dict.fromkeys(media_types(operation.method), content)}
    return described


def _parameter(
    location: str, name: str, description: str, schema: Json, example: Any, *, required: bool = False
) -> dict[str, Any]:
    about = {"description": description, "schema": schema, "example": example}
    return {"name": name, "in": location, "required": required, **about}


def _query_parameters(model: type[msgspec.Struct]) -> Iterator[Json]:
    _, components = msgspec.json.schema_components([model], ref_template=REF)
    described = docstrings(model)
    for name, schema in components[model.__name__]["properties"].items():
        for choice in schema.pop("anyOf", ()):
            if choice.get("type") != "null":
                schema.update(choice)
        if schema.get("default", 0) is None:
            del schema["default"]
        text = described.get(name, "") + (_TIMES if schema.get("format") == "date-time" else "")
        yield _parameter("query", name, text, schema, _example(name, schema))


def _example(name: str, schema: Json) -> Any:
    if name in _EXAMPLES:
        return _EXAMPLES[name]
    if schema.get("format") == "date-time":
        return AT
    if "enum" in schema:
        return schema["enum"][0]
    if "pattern" in schema:
        return f"{name.removesuffix('_id')}_{'0' * 26}"
    return schema.get("default", 100)


def _bodies(operation: Operation) -> list[type[msgspec.Struct]]:
    return [part.body for part in operation.inputs.values() if part.body]


def _request_headers(operation: Operation) -> Iterator[str]:
    if operation.envelope is Tagged and operation.method == "get":
        yield "If-None-Match"
    yield from (part.header for part in operation.inputs.values() if part.header)
    if operation.method != "get":
        yield "Idempotency-Key"


def _good(operation: Operation, ref: dict[str, Any], example: Any, operations: list[Operation]) -> dict[str, Any]:
    """Return 200, and 304 where there is one."""
    own = {Tagged: ["ETag"], Page: ["Link"], Feed: ["Link"]}.get(operation.envelope, [])
    replayed = ["Idempotent-Replayed"] if operation.method != "get" else []
    if operation.method == "get" and operation.envelope is not Tagged:
        own += ["Content-Encoding", "Vary"]
    content: dict[str, Any] = {"application/json": {"schema": ref, "example": example}}
    if operation.envelope is Download:
        own = ["Content-Disposition", *own]
        rows = {"schema": {"type": "string"}, "example": "..."}
        content = {kind.partition(";")[0]: rows for kind, _ in FORMATS.values()}
    headers = [*own, "X-Request-Id", "RateLimit-Policy", "RateLimit"]
    good: dict[str, Any] = {
        str(operation.status): {
            "description": HTTPStatus(operation.status).phrase,
            "headers": references("headers", *headers, *replayed),
            "content": content,
            "links": dict(_links(operation, operations)),
        }
    }
    if own == ["ETag"] and operation.method == "get":
        text = "The version in `If-None-Match` is current."
        good["304"] = {"description": text, "headers": references("headers", *headers)}
    return good


def _links(operation: Operation, operations: list[Operation]) -> Iterator[tuple[str, Any]]:
    """Yield where a response leads: from a resource that was read to its other operations and to those that it names,
    from one that was changed to reading it.
    """
    data = "$response.body#/data/0" if operation.envelope is Page else "$response.body#/data"
    reading = operation.method == "get"
    named = operation.data.__struct_fields__ if reading and operation.path_parameter else ()
    for other in operations if operation.envelope is not Download else ():
        name = other.path_parameter
        if name is None or other is operation or not (reading or other.method == "get"):
            continue
        its_own = other.tag == operation.tag and not (operation.envelope is Page and operation.path_parameter)
        if its_own or (name in named and other.method == "get"):
            member = "id" if its_own else name
            yield other.name, {"operationId": other.name, "parameters": {name: f"{data}/{member}"}}
