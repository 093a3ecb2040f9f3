"""The document, from the signatures and docstrings of the handlers; what follows from none is in `skeleton.toml`."""

import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from litestar import Litestar

from leadwire import __version__
from leadwire.infrastructure import ids, settings
from leadwire.infrastructure.errors import IdempotencyInProgress, IdempotencyMismatch, InvalidParameter
from leadwire.interfaces.http.body import MEDIA_TYPES
from leadwire.interfaces.http.problems import Problem
from leadwire.interfaces.http.responses import Page, Single, Tagged
from leadwire.interfaces.v1.openapi import parts, schemas
from leadwire.interfaces.v1.openapi.errors import ErrorResponses
from leadwire.interfaces.v1.openapi.webhooks import webhook
from leadwire.interfaces.v1.operations import Operation

_SKELETON: Final = Path(__file__).with_name("skeleton.toml")
_METHODS: Final = ("get", "post", "patch", "delete")
_BY_KEY: Final = (InvalidParameter, IdempotencyInProgress, IdempotencyMismatch)  # of what takes an Idempotency-Key


def document(
    app: Litestar, events: Mapping[str, type[msgspec.Struct]], samples: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the document. `events` maps each kind of event to the struct that is its `data`, `samples` to one such."""
    made = _skeleton()
    operations = _operations(app)
    bodies = [body for operation in operations for body in _bodies(operation)]
    returned = [(Single if one.envelope is Tagged else one.envelope)[one.data] for one in operations]
    refs, components = schemas.of([*returned, *bodies, *events.values(), Problem])
    examples = schemas.examples(components, samples.values())
    errors = ErrorResponses(components)
    paths: dict[str, dict[str, Any]] = {}
    for operation, ref in zip(operations, refs, strict=False):
        example = examples[ref["$ref"].rpartition("/")[2]]
        responses = _good(operation, ref, example, operations)
        responses |= errors.of_operation(operation.name, _errors(operation))
        described = _described(operation, example) | {"responses": responses}
        paths.setdefault(operation.path, {})[operation.method] = described
    del components["Problem"]
    common = made.pop("webhook")
    kinds = {kind: webhook(kind, model.__name__, samples[kind], common) for kind, model in events.items()}
    schemas.inline_all_but(schemas.reachable(paths, errors.shared, components=components), components, kinds)
    tags = {operation.tag: inspect.getdoc(operation.module) for operation in operations}
    tags["Webhooks"] = "What we send to your endpoints."
    made["info"]["version"] = __version__
    made["tags"] = [{"name": name, "description": text} for name, text in tags.items()]
    made |= {"paths": paths, "webhooks": kinds}
    made["components"] |= {"schemas": components, "responses": errors.shared}
    return schemas.portable(made)  # type: ignore[no-any-return]


def _skeleton() -> dict[str, Any]:
    text = _SKELETON.read_text(encoding="utf-8").replace("{prefix}", settings.get().header_prefix)
    return tomllib.loads(text.replace("{id}", ids.FORM).replace("{largest}", f"{settings.LARGEST_WEBHOOK:,}"))


def _operations(app: Litestar) -> list[Operation]:
    found = [
        handler.opt["operation"]._replace(path=re.sub(r"{(\w+):\w+}", r"{\1}", route.path))
        for route in app.routes
        for handler in getattr(route, "route_handlers", ())
        if "operation" in handler.opt
    ]
    # Lists before what is in them.
    return sorted(found, key=lambda operation: (operation.path.count("/"), _METHODS.index(operation.method)))


def _errors(operation: Operation) -> Iterator[Any]:
    for given in operation.inputs.values():
        yield from given.errors
    yield from operation.raises
    if operation.method != "get":
        yield from _BY_KEY


def _described(operation: Operation, example: Any) -> dict[str, Any]:
    summary, _, text = (inspect.getdoc(operation.handler) or "").partition("\n")
    parameters = []
    if operation.path_parameter:
        parameters.append(parts.path_parameter(operation.path_parameter, example["data"]["id"]))
    for given in operation.inputs.values():
        parameters += parts.query_parameters(given.query) if given.query else []
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": summary.removesuffix("."),
        "description": f"{' '.join(text.split())} Needs the scope `{operation.scope}`.".strip(),
        "tags": [operation.tag],
        "parameters": parameters + parts.parameter_refs(*_request_headers(operation)),
    }
    for body in _bodies(operation):
        content = {"schema": {"$ref": parts.REF.format(name=body.__name__)}, "example": operation.example}
        described["requestBody"] = {"required": True, "content": dict.fromkeys(MEDIA_TYPES, content)}
    return described


def _bodies(operation: Operation) -> list[type[msgspec.Struct]]:
    return [given.body for given in operation.inputs.values() if given.body]


def _request_headers(operation: Operation) -> Iterator[str]:
    if operation.envelope is Tagged and operation.method == "get":
        yield "If-None-Match"
    yield from (given.header for given in operation.inputs.values() if given.header)
    if operation.method != "get":
        yield "Idempotency-Key"
    yield from ("X-Request-Id", "traceparent")


def _good(operation: Operation, ref: dict[str, Any], example: Any, operations: list[Operation]) -> dict[str, Any]:
    """Return 200, and 304 where there is one."""
    own = {Tagged: ["ETag"], Page: ["Link"]}.get(operation.envelope, [])
    headers = [*own, "X-Request-Id", "RateLimit-Policy", "RateLimit"]
    replayed = ["Idempotent-Replayed"] if operation.method != "get" else []
    good: dict[str, Any] = {
        "200": {
            "description": "OK",
            "headers": parts.header_refs(*headers, *replayed),
            "content": {"application/json": {"schema": ref, "example": example}},
            "links": dict(_links(operation, operations)),
        }
    }
    if own == ["ETag"] and operation.method == "get":
        text = "The version in `If-None-Match` is current."
        good["304"] = {"description": text, "headers": parts.header_refs(*headers)}
    return good


def _links(operation: Operation, operations: list[Operation]) -> Iterator[tuple[str, Any]]:
    """Yield where a response leads: from a resource that was read to its other operations and to those that it names,
    from one that was changed to reading it.
    """
    data = "$response.body#/data/0" if operation.envelope is Page else "$response.body#/data"
    reading = operation.method == "get"
    named = operation.data.__struct_fields__ if reading and operation.path_parameter else ()
    for other in operations:
        name = other.path_parameter
        if name is None or other is operation or not (reading or other.method == "get"):
            continue
        if other.tag == operation.tag or (name in named and other.method == "get"):
            member = "id" if other.tag == operation.tag else name
            yield other.name, {"operationId": other.name, "parameters": {name: f"{data}/{member}"}}
