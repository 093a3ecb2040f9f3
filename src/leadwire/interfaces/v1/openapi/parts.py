"""Parameters and headers of the document."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from leadwire.interfaces.http import docstrings
from leadwire.interfaces.http.body import MEDIA_TYPES

REF: Final = "#/components/schemas/{name}"
REQUEST_ID: Final = "req_5f2b8c1d9e3a4b6c7d8e9f01"
TRACEPARENT: Final = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
_TEXT: Final = {"type": "string"}
_TAG: Final = {"type": "string", "pattern": '^"[0-9]+"$'}
_SECONDS: Final = {"type": "integer", "minimum": 1}
_TIMES: Final = " ISO 8601, extended or basic format, 1970 to 9998. A date alone, or a time without offset, is in UTC."


def _header(description: str, schema: Mapping[str, Any], example: Any) -> dict[str, Any]:
    return {"description": description, "schema": schema, "example": example}


HEADERS: Final = {
    "X-Request-Id": _header(
        "Names this request in our logs; quote it to support.",
        {"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,100}$"},
        REQUEST_ID,
    ),
    "Link": _header(
        "The pages `first`, `prev`, `next` and `last`, where they exist (RFC 8288).",
        _TEXT,
        '</v1/leads?limit=20&page=1>; rel="first", </v1/leads?limit=20&page=2>; rel="next", '
        '</v1/leads?limit=20&page=9>; rel="last"',
    ),
    "ETag": _header("The version of the object, a strong entity tag.", _TAG, '"3"'),
    "Idempotent-Replayed": _header(
        "`true` when this is the first response again, found by its Idempotency-Key; else absent.",
        {"const": "true"},
        "true",
    ),
    "RateLimit-Policy": _header(
        "The limits: `q` requests in `w` seconds. `burst` is how many may come at once; it fills again in its `w`.",
        _TEXT,
        '"default";q=6000;w=60, "burst";q=200;w=2',
    ),
    "RateLimit": _header(
        "Of the policy named: `r` requests are left now, more in `t` seconds.", _TEXT, '"burst";r=199;t=1'
    ),
    "Retry-After": _header("Seconds to wait before trying again; on 429 the `t` of `RateLimit`.", _SECONDS, 1),
    "WWW-Authenticate": _header("How to authenticate.", _TEXT, 'Bearer realm="leadwire"'),
    "Allow": _header("The methods that the path has.", _TEXT, "GET, HEAD, OPTIONS"),
    "Accept-Patch": _header("The types that the operation takes.", _TEXT, ", ".join(MEDIA_TYPES)),
    "Accept-Encoding": _header("`identity`: the body was compressed, and may not be.", _TEXT, "identity"),
}
PARAMETERS: Final = {
    "X-Request-Id": _header(
        "A name for this request, kept when it is 1 to 100 of `A-Za-z0-9._:-` and replaced when not.",
        _TEXT,
        REQUEST_ID,
    ),
    "traceparent": _header(
        "W3C Trace Context. The events that this request causes carry it to webhooks; ignored if malformed.",
        _TEXT,
        TRACEPARENT,
    ),
    "If-None-Match": _header("Entity tags that are known already: 304 if one is current.", _TEXT, '"3"'),
    "If-Match": _header("Entity tags, or `*`: 412 unless one is current.", _TEXT, '"3"'),
    "Idempotency-Key": _header(
        "A name for this change, new for each. The same request again within 24 hours gets the first response again, "
        "be that a success or an error below 500, and changes nothing. With another request: 422; while the first is "
        "in progress: 409. Not stored: 401, 403 and 429, which come before the operation begins, and 5xx.",
        {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
        "9b2f6c1e-0c5d-4f0e-9a53-8a1d6f1f2f10",
    ),
}


def header_refs(*names: str) -> dict[str, Any]:
    """Return references to response headers."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def parameter_refs(*names: str) -> list[dict[str, Any]]:
    """Return references to request headers."""
    return [{"$ref": f"#/components/parameters/{name}"} for name in names]


def parameter(
    place: str, name: str, description: str, schema: Mapping[str, Any], example: Any, *, required: bool = False
) -> dict[str, Any]:
    """Return a parameter in `place`: path, query or header."""
    return {"name": name, "in": place, "required": required, **_header(description, schema, example)}


def parameters() -> dict[str, Any]:
    """Return the request headers for `components`."""
    return {name: {"name": name, "in": "header", "required": False, **made} for name, made in PARAMETERS.items()}


def path_parameter(name: str, example: str) -> dict[str, Any]:
    """Return the id in a path."""
    return parameter("path", name, "The id; a bad one returns 404.", _TEXT, example, required=True)


def query_parameters(model: type[msgspec.Struct]) -> list[dict[str, Any]]:
    """Return the fields of a query."""
    _, components = msgspec.json.schema_components([model], ref_template=REF)
    described = docstrings.docstrings(model)
    made = []
    for name, schema in components[model.__name__]["properties"].items():
        for choice in schema.pop("anyOf", ()):
            if choice.get("type") != "null":
                schema.update(choice)
        if schema.get("default", 0) is None:
            del schema["default"]
        text = described.get(name, "") + (_TIMES if schema.get("format") == "date-time" else "")
        made.append(parameter("query", name, text, schema, _example(name, schema)))
    return made


def _example(name: str, schema: dict[str, Any]) -> Any:
    if schema.get("format") == "date-time":
        return "2026-01-02T03:04:05.678Z"
    if "enum" in schema:
        return schema["enum"][0]
    if "pattern" in schema:
        return f"{name.removesuffix('_id')}_{'0' * 26}"
    return schema.get("default", {"score_min": 50}.get(name, 100))
