"""The OpenAPI 3.1 document, made from what the handlers really are: their routes, scopes, structs and `Doc`.

Litestar's own generator does not see queries and bodies that are read strictly, so it would not tell the truth.
"""

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final, get_args

import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler

from leadwire import __version__
from leadwire.web.body import MEDIA_TYPES
from leadwire.web.problems import Problem

_REF: Final = "#/components/schemas/{name}"
_HEADERS: Final = {
    "Link": "Pages: first, prev, next, last (RFC 8288).",
    "X-Request-Id": "Names this request in our logs; quote it to support.",
}
_TEXT: Final = {"type": "string"}


class Doc(msgspec.Struct, frozen=True):
    """What a handler says of itself beyond its signature."""

    summary: str
    description: str = ""
    query: type[msgspec.Struct] | None = None
    body: type[msgspec.Struct] | None = None
    errors: tuple[int, ...] = ()
    headers: tuple[str, ...] = ()


def document(app: Litestar, events: Mapping[str, type[msgspec.Struct]]) -> dict[str, Any]:
    """The whole document. `events` maps each event kind to the struct that is its `data`."""
    operations = list(_operations(app))
    answers = [_answer_type(handler) for _, _, handler in operations]
    bodies = [doc.body for _, _, handler in operations if (doc := handler.opt["doc"]).body]
    (*refs,), components = msgspec.json.schema_components(
        [*answers, *bodies, *events.values(), Problem], ref_template=_REF
    )
    paths: dict[str, dict[str, Any]] = {}
    for (path, method, handler), ref in zip(operations, refs, strict=False):
        paths.setdefault(path, {})[method] = _operation(path, handler, ref)
    made = {
        "openapi": "3.1.0",
        "info": {
            "title": "Leadwire",
            "version": __version__,
            "description": "Leads and conversations of your chatbots.",
        },
        "paths": paths,
        "webhooks": {kind: _webhook(kind, model.__name__) for kind, model in events.items()},
        "components": {
            "schemas": components,
            "securitySchemes": {"apiKey": {"type": "http", "scheme": "bearer", "description": "An API key, `lw_...`."}},
        },
        "security": [{"apiKey": []}],
    }
    return _plain_names(made)


def _operations(app: Litestar) -> Iterator[tuple[str, str, HTTPRouteHandler]]:
    for route in app.routes:
        for handler in getattr(route, "route_handlers", ()):
            if isinstance(handler, HTTPRouteHandler) and "doc" in handler.opt:
                path = re.sub(r"{(\w+):\w+}", r"{\1}", route.path)
                yield from (
                    (path, method.lower(), handler) for method in sorted(handler.http_methods) if method != "HEAD"
                )


def _answer_type(handler: HTTPRouteHandler) -> Any:
    """What a handler answers: its annotation, out of `Response[...]` where it is in one."""
    annotation = handler.parsed_fn_signature.return_type.annotation
    return get_args(annotation)[0] if getattr(annotation, "__name__", "") == "Response" else annotation


def _operation(path: str, handler: HTTPRouteHandler, ref: dict[str, Any]) -> dict[str, Any]:
    doc: Doc = handler.opt["doc"]
    errors = {401, 403, 500, 503, *doc.errors, *((400,) if doc.query else ()), *((400, 413, 415) if doc.body else ())}
    operation: dict[str, Any] = {
        "operationId": handler.fn.__name__,
        "summary": doc.summary,
        "description": f"{doc.description} Needs the scope `{handler.opt['scope']}`.".strip(),
        "tags": sorted(handler.resolve_tags() if hasattr(handler, "resolve_tags") else handler.tags or ()),
        "parameters": [*_path_parameters(path), *_query_parameters(doc.query)],
        "responses": {
            "200": {
                "description": "OK",
                "headers": _header_docs(("X-Request-Id", *doc.headers)),
                "content": {"application/json": {"schema": ref}},
            },
            **{str(status): _problem(status) for status in sorted(errors)},
        },
    }
    if doc.body:
        schema = {"$ref": _REF.format(name=doc.body.__name__)}
        operation["requestBody"] = {"required": True, "content": {kind: {"schema": schema} for kind in MEDIA_TYPES}}
    return operation


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": _TEXT, "description": "The id; a bad one answers 404."}
        for name in re.findall(r"{(\w+)}", path)
    ]


def _query_parameters(model: type[msgspec.Struct] | None) -> list[dict[str, Any]]:
    if model is None:
        return []
    _, components = msgspec.json.schema_components([model], ref_template=_REF)
    made = []
    for name, schema in components[model.__name__]["properties"].items():
        choices = [choice for choice in schema.pop("anyOf", ()) if choice.get("type") != "null"]
        for choice in choices:
            schema.update(choice)
        if schema.get("default", 0) is None:
            del schema["default"]
        made.append(
            {
                "name": name,
                "in": "query",
                "required": False,
                "description": schema.pop("description", ""),
                "schema": schema,
            }
        )
    return made


def _problem(status: int) -> dict[str, Any]:
    return {
        "description": HTTPStatus(status).phrase,
        "headers": _header_docs(("X-Request-Id",)),
        "content": {"application/problem+json": {"schema": {"$ref": _REF.format(name="Problem")}}},
    }


def _header_docs(names: tuple[str, ...]) -> dict[str, Any]:
    return {name: {"description": _HEADERS[name], "schema": _TEXT} for name in names}


def _webhook(kind: str, name: str) -> dict[str, Any]:
    envelope = {
        "type": "object",
        "required": ["event", "timestamp", "data"],
        "properties": {
            "event": {"const": kind},
            "timestamp": {"type": "string", "format": "date-time"},
            "data": {"$ref": _REF.format(name=name)},
        },
    }
    return {
        "post": {
            "summary": kind,
            "description": "Signed with `X-Service-Signature` and the Standard Webhooks headers.",
            "security": [],
            "requestBody": {"required": True, "content": {"application/json": {"schema": envelope}}},
            "responses": {"2XX": {"description": "Received. The body is ignored."}},
        }
    }


def _plain_names(made: dict[str, Any]) -> dict[str, Any]:
    """`Single[Lead]` is called `Single_Lead_` by msgspec; call it `SingleLead`."""
    text = msgspec.json.encode(made).decode()
    return msgspec.json.decode(re.sub(r'(?<=["/])(Single|Page)_(\w+)_(?=")', r"\1\2", text))  # type: ignore[no-any-return]
