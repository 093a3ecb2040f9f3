"""The document, put together."""

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, get_args

import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler

from leadwire import __version__
from leadwire.interfaces.http.body import MEDIA_TYPES
from leadwire.interfaces.http.problems import Problem
from leadwire.interfaces.v1.openapi import parts, refusals, schemas
from leadwire.interfaces.v1.openapi.doc import Doc
from leadwire.interfaces.v1.openapi.webhooks import webhook

_ABOUT: Final = """Leads and conversations of your chatbots, and signed webhooks about them.

Every request carries an API key as `Authorization: Bearer lw_...`; each operation names the scope that the key \
needs. One resource comes as `{"data": {...}}`, a page as `{"data": [...], "meta": {...}}`; follow the `Link` header \
from page to page. Times are UTC with milliseconds. No key is ever missing: what is not known is `null`. `HEAD` is \
answered wherever `GET` is; another method than those listed answers 405.

Pages are newest first and counted from the top: they move when something is added or deleted. To delete a whole list, \
ask for page 1 again and again until it is empty, or collect all ids before the first deletion. Following `Link` while \
deleting skips what has moved to the pages before.

A change that is sent with an `Idempotency-Key` can be sent again without happening twice: for 24 hours the first \
answer is replayed, errors below 500 included; 401, 403, 429 and 5xx are not stored. On 429 and 503, wait as \
many seconds as `Retry-After` says and send the request again.

`/v1` only grows: objects may gain fields, and webhooks kinds of events. What would break a caller becomes `/v2`, with \
`/v1` kept for 12 months and marked by the headers `Deprecation` and `Sunset`."""
_ORDER: Final = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")


class _Operation(NamedTuple):
    path: str
    method: str
    handler: HTTPRouteHandler
    doc: Doc


def document(
    app: Litestar, events: Mapping[str, type[msgspec.Struct]], samples: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The whole document. `events` maps each event kind to the struct that is its `data`, `samples` to one such."""
    operations = list(_operations(app))
    bodies = [operation.doc.body for operation in operations if operation.doc.body]
    answers = [_answer_type(operation.handler) for operation in operations]
    refs, components = schemas.of([*answers, *bodies, *events.values(), Problem])
    examples = schemas.examples(components, samples.values())
    paths: dict[str, dict[str, Any]] = {}
    for operation, ref in zip(operations, refs, strict=False):
        example = examples[ref["$ref"].rpartition("/")[2]]
        paths.setdefault(operation.path, {})[operation.method] = _described(operation, ref, example, components)
    responses = refusals.shared(components)
    del components["Problem"]
    kinds = {kind: webhook(kind, model.__name__, samples[kind]) for kind, model in events.items()}
    schemas.inline_all_but(schemas.reachable(paths, responses, components=components), components, kinds)
    made = {
        "openapi": "3.1.0",
        "info": {
            "title": "Leadwire",
            "version": __version__,
            "description": _ABOUT,
            "contact": {"name": "Leadwire"},
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [*_tags(operations), {"name": "Webhooks", "description": "What we send to your endpoints."}],
        "paths": paths,
        "webhooks": kinds,
        "components": {
            "schemas": components,
            "responses": responses,
            "parameters": parts.parameters(),
            "headers": parts.HEADERS,
            "securitySchemes": {"apiKey": {"type": "http", "scheme": "bearer", "description": "An API key, `lw_...`."}},
        },
        "security": [{"apiKey": []}],
    }
    return schemas.portable(made)  # type: ignore[no-any-return]


def _operations(app: Litestar) -> Iterator[_Operation]:
    for route in sorted(app.routes, key=lambda route: route.path.count("/")):  # lists before what is in them
        handlers = getattr(route, "route_handlers", ())
        for handler in sorted(handlers, key=lambda handler: sorted(map(_ORDER.index, handler.http_methods))):
            if isinstance(handler, HTTPRouteHandler) and "doc" in handler.opt:
                path = re.sub(r"{(\w+):\w+}", r"{\1}", route.path)
                for method in handler.http_methods:
                    if method != "HEAD":
                        yield _Operation(path, method.lower(), handler, handler.opt["doc"])


def _answer_type(handler: HTTPRouteHandler) -> Any:
    """What a handler answers: its annotation, out of `JSONResponse[...]` where it is in one."""
    annotation = handler.parsed_fn_signature.return_type.annotation
    return get_args(annotation)[0] if getattr(annotation, "__name__", "") == "JSONResponse" else annotation


def _described(operation: _Operation, ref: dict[str, Any], example: Any, components: dict[str, Any]) -> dict[str, Any]:
    path, method, handler, doc = operation
    made: dict[str, Any] = {
        "operationId": handler.fn.__name__,
        "summary": doc.summary,
        "description": f"{doc.description} Needs the scope `{handler.opt['scope']}`.".strip(),
        "tags": _tag_names(handler),
        "parameters": [
            *(parts.path_parameters(path, example["data"]["id"]) if "{" in path else ()),
            *parts.query_parameters(doc.query),
            *parts.parameter_refs(*_request_headers(method, doc)),
        ],
        "responses": {
            **_good(method, doc, ref, example),
            **refusals.of_operation(handler.fn.__name__, method, path, doc, components),
        },
    }
    if doc.body:
        content = {"schema": {"$ref": parts.REF.format(name=doc.body.__name__)}, "example": doc.example}
        made["requestBody"] = {"required": True, "content": dict.fromkeys(MEDIA_TYPES, content)}
    return made


def _request_headers(method: str, doc: Doc) -> list[str]:
    unsafe = method in refusals.UNSAFE
    tag = ["If-Match" if unsafe else "If-None-Match"] if doc.etag else []
    return [*tag, *(["Idempotency-Key"] if unsafe else []), "X-Request-Id", "traceparent"]


def _good(method: str, doc: Doc, ref: dict[str, Any], example: Any) -> dict[str, Any]:
    """200, and 304 where there is one."""
    headers = [*doc.headers, "X-Request-Id", "RateLimit-Policy", "RateLimit"]
    if doc.etag and method != "delete":
        headers.insert(0, "ETag")
    replayed = ["Idempotent-Replayed"] if method in refusals.UNSAFE else []
    made: dict[str, Any] = {
        "200": {
            "description": "OK",
            "headers": parts.header_refs(*headers, *replayed),
            "content": {"application/json": {"schema": ref, "example": example}},
        }
    }
    if doc.links:
        made["200"]["links"] = {
            name: {"operationId": name, "parameters": dict(given)} for name, given in doc.links.items()
        }
    if doc.etag and method == "get":
        made["304"] = {
            "description": "The version in `If-None-Match` is current.",
            "headers": parts.header_refs(*headers),
        }
    return made


def _tag_names(handler: HTTPRouteHandler) -> list[str]:
    return sorted(handler.resolve_tags() if hasattr(handler, "resolve_tags") else handler.tags or ())


def _tags(operations: list[_Operation]) -> list[dict[str, str]]:
    """The tags in use; each is described by the docstring of the package its handlers are in."""
    found = {}
    for operation in operations:
        package = sys.modules[operation.handler.fn.__module__.rpartition(".")[0]]
        for name in _tag_names(operation.handler):
            text = (package.__doc__ or "").strip().removeprefix(f"{name}: ")
            found[name] = text[:1].upper() + text[1:]
    return [{"name": name, "description": text} for name, text in found.items()]
