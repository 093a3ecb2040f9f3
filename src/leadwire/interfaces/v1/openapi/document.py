"""The document, from the signatures and docstrings of the handlers."""

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler

from leadwire import __version__
from leadwire.infrastructure.errors import IdempotencyInProgress, IdempotencyMismatch, InvalidParameter
from leadwire.interfaces.http.body import MEDIA_TYPES
from leadwire.interfaces.http.problems import Problem
from leadwire.interfaces.http.responses import Page, Single, Tagged
from leadwire.interfaces.v1.openapi import parts, schemas
from leadwire.interfaces.v1.openapi.errors import ErrorResponses
from leadwire.interfaces.v1.openapi.webhooks import webhook
from leadwire.interfaces.v1.operations import Operation

_ABOUT: Final = """Leads and conversations of your chatbots, and signed webhooks about them.

Every request carries an API key as `Authorization: Bearer lw_...`; each operation names the scope that the key \
needs. One resource comes as `{"data": {...}}`, a page as `{"data": [...], "meta": {...}}`; follow the `Link` header \
from page to page. Times are UTC with milliseconds. No key is ever missing: what is not known is `null`. `HEAD` is \
served wherever `GET` is; another method than those listed returns 405.

Pages are newest first and counted from the top: they move when something is added or deleted. To delete a whole list, \
ask for page 1 again and again until it is empty, or collect all ids before the first deletion. Following `Link` while \
deleting skips what has moved to the pages before.

A change that is sent with an `Idempotency-Key` can be sent again without happening twice: for 24 hours the first \
response is replayed, errors below 500 included; 401, 403, 429 and 5xx are not stored. On 429 and 503, wait as \
many seconds as `Retry-After` says and send the request again.

`/v1` only grows: objects may gain fields, and webhooks kinds of events. What would break a caller becomes `/v2`, with \
`/v1` kept for 12 months and marked by the headers `Deprecation` and `Sunset`."""
_METHODS: Final = ("GET", "POST", "PATCH", "DELETE")
_BY_KEY: Final = (InvalidParameter, IdempotencyInProgress, IdempotencyMismatch)  # of what takes an Idempotency-Key


class _Served(NamedTuple):
    """An operation where the router serves it."""

    path: str
    method: str
    operation: Operation

    @property
    def name(self) -> str:
        """Its id."""
        return self.operation.handler.__name__

    @property
    def module(self) -> Any:
        """Where the handler is: the operations of one resource, whose tag and description it gives."""
        return sys.modules[self.operation.handler.__module__]

    @property
    def tag(self) -> str:
        """The resource."""
        return str(self.module.__name__.rpartition(".")[2].capitalize())

    @property
    def id(self) -> str | None:
        """The path's parameter."""
        return next(iter(re.findall(r"{(\w+)}", self.path)), None)


def document(
    app: Litestar, events: Mapping[str, type[msgspec.Struct]], samples: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the document. `events` maps each kind of event to the struct that is its `data`, `samples` to one such."""
    served = _served(app)
    bodies = [given.body for one in served for given in one.operation.inputs.values() if given.body]
    refs, components = schemas.of([*map(_returned, served), *bodies, *events.values(), Problem])
    examples = schemas.examples(components, samples.values())
    errors = ErrorResponses(components)
    paths: dict[str, dict[str, Any]] = {}
    for one, ref in zip(served, refs, strict=False):
        example = examples[ref["$ref"].rpartition("/")[2]]
        paths.setdefault(one.path, {})[one.method] = {
            **_described(one, example),
            "responses": {**_good(one, ref, example, served), **errors.of_operation(one.name, _errors(one))},
        }
    del components["Problem"]
    kinds = {kind: webhook(kind, model.__name__, samples[kind]) for kind, model in events.items()}
    schemas.inline_all_but(schemas.reachable(paths, errors.shared, components=components), components, kinds)
    tags = {one.tag: inspect.getdoc(one.module) for one in served}
    tags["Webhooks"] = "What we send to your endpoints."
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
        "tags": [{"name": name, "description": text} for name, text in tags.items()],
        "paths": paths,
        "webhooks": kinds,
        "components": {
            "schemas": components,
            "responses": errors.shared,
            "parameters": parts.parameters(),
            "headers": parts.HEADERS,
            "securitySchemes": {"apiKey": {"type": "http", "scheme": "bearer", "description": "An API key, `lw_...`."}},
        },
        "security": [{"apiKey": []}],
    }
    return schemas.portable(made)  # type: ignore[no-any-return]


def _served(app: Litestar) -> list[_Served]:
    found = [
        _Served(re.sub(r"{(\w+):\w+}", r"{\1}", route.path), method.lower(), handler.opt["operation"])
        for route in app.routes
        for handler in getattr(route, "route_handlers", ())
        if isinstance(handler, HTTPRouteHandler) and "operation" in handler.opt
        for method in _METHODS
        if method in handler.http_methods
    ]
    # Lists before what is in them.
    return sorted(found, key=lambda one: (one.path.count("/"), _METHODS.index(one.method.upper())))


def _returned(one: _Served) -> Any:
    """Return the type of the body of a good response."""
    envelope = Single if one.operation.envelope is Tagged else one.operation.envelope
    return envelope[one.operation.data]


def _errors(one: _Served) -> Iterator[Any]:
    for given in one.operation.inputs.values():
        yield from given.errors
    yield from one.operation.raises
    if one.method != "get":
        yield from _BY_KEY


def _described(one: _Served, example: Any) -> dict[str, Any]:
    operation = one.operation
    summary, _, text = (inspect.getdoc(operation.handler) or "").partition("\n")
    described: dict[str, Any] = {
        "operationId": one.name,
        "summary": summary.removesuffix("."),
        "description": f"{' '.join(text.split())} Needs the scope `{operation.scope}`.".strip(),
        "tags": [one.tag],
        "parameters": [
            *(parts.path_parameters(one.id, example["data"]["id"]) if one.id else ()),
            *(
                parameter
                for given in operation.inputs.values()
                if given.query
                for parameter in parts.query_parameters(given.query)
            ),
            *parts.parameter_refs(*_request_headers(one)),
        ],
    }
    for given in operation.inputs.values():
        if given.body:
            content = {"schema": {"$ref": parts.REF.format(name=given.body.__name__)}, "example": operation.example}
            described["requestBody"] = {"required": True, "content": dict.fromkeys(MEDIA_TYPES, content)}
    return described


def _request_headers(one: _Served) -> Iterator[str]:
    if one.operation.envelope is Tagged and one.method == "get":
        yield "If-None-Match"
    yield from (given.header for given in one.operation.inputs.values() if given.header)
    if one.method != "get":
        yield "Idempotency-Key"
    yield from ("X-Request-Id", "traceparent")


def _good(one: _Served, ref: dict[str, Any], example: Any, served: list[_Served]) -> dict[str, Any]:
    """Return 200, and 304 where there is one."""
    own = {Tagged: ["ETag"], Page: ["Link"]}.get(one.operation.envelope, [])
    headers = [*own, "X-Request-Id", "RateLimit-Policy", "RateLimit"]
    replayed = ["Idempotent-Replayed"] if one.method != "get" else []
    good: dict[str, Any] = {
        "200": {
            "description": "OK",
            "headers": parts.header_refs(*headers, *replayed),
            "content": {"application/json": {"schema": ref, "example": example}},
            "links": dict(_links(one, served)),
        }
    }
    if own == ["ETag"] and one.method == "get":
        good["304"] = {
            "description": "The version in `If-None-Match` is current.",
            "headers": parts.header_refs(*headers),
        }
    return good


def _links(one: _Served, served: list[_Served]) -> Iterator[tuple[str, Any]]:
    """Yield where a response leads: from a resource that was read to its other operations and to those that it names,
    from one that was changed to reading it.
    """
    data = "$response.body#/data/0" if one.operation.envelope is Page else "$response.body#/data"
    for other in served:
        if other.id is None or other is one or (one.method != "get" and other.method != "get"):
            continue
        if other.tag == one.tag:
            member = "id"
        elif one.id and one.method == other.method == "get" and other.id in one.operation.data.__struct_fields__:
            member = other.id
        else:
            continue
        yield other.name, {"operationId": other.name, "parameters": {other.id: f"{data}/{member}"}}
