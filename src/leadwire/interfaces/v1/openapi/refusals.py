"""Every error answer of the document: which codes a status has, what they mean, what they look like."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

from leadwire.infrastructure.errors import DomainError
from leadwire.interfaces.v1.openapi.doc import Doc
from leadwire.interfaces.v1.openapi.parts import REF, REQUEST_ID, header_refs

UNSAFE: Final = ("post", "put", "patch", "delete")
"""Methods that take an Idempotency-Key."""

# By code; a code that is not a refusal's own comes with the title of its status, as the refusal that carries it does.
_TITLES: Final[dict[str | int, str]] = {
    key: kind.title for kind in DomainError.__subclasses__() for key in (kind.status, kind.code)
}
_MEANINGS: Final = {
    "malformed_json": "The body is not JSON, or not UTF-8.",
    "invalid_parameter": "A parameter cannot be read, is out of range or was given twice.",
    "unknown_parameter": "There is no such query parameter; the message names those there are.",
    "unauthenticated": "There is no API key, or none that is valid.",
    "insufficient_scope": "The API key lacks the scope that this operation needs.",
    "not_found": "There is no such object in this workspace. An id that is not well-formed counts as that.",
    "method_not_allowed": "The path has no such method; `Allow` names those it has.",
    "idempotency_in_progress": "The request with this Idempotency-Key is still running.",
    "precondition_failed": "The object has another version than `If-Match` asks for.",
    "body_too_large": "The body is larger than 64 KiB.",
    "unsupported_media_type": "The body is of another type than the operation takes, or compressed.",
    "validation_error": "The values are not valid; `errors` names each one.",
    "unknown_field": "The body has fields that do not exist.",
    "read_only_field": "The body has another value for a field that cannot be changed.",
    "idempotency_mismatch": "This Idempotency-Key was used for another request.",
    "rate_limited": "Too many requests, or too many failed authentications from this address.",
    "internal": "Something went wrong on our side.",
    "unavailable": "The service cannot answer just now.",
}
_EVERYWHERE: Final = {
    401: ("unauthenticated",),
    403: ("insufficient_scope",),
    405: ("method_not_allowed",),
    429: ("rate_limited",),
    500: ("internal",),
    503: ("unavailable",),
}
_ONE_EACH: Final = _EVERYWHERE | {
    404: ("not_found",),
    412: ("precondition_failed",),
    413: ("body_too_large",),
    415: ("unsupported_media_type",),
}
_HEADERS: Final = {
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    409: ("Retry-After",),
    415: ("Accept-Patch", "Accept-Encoding"),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_REPLAYED: Final = (400, 404, 409, 412, 413, 415, 422)  # what an operation itself refuses is stored for its key
_UNCOUNTED: Final = (401, 405)  # answered before the rate limit is looked at
_FAULTS: Final[dict[str, list[dict[str, str]]]] = {
    "unknown_parameter": [
        {
            "code": "unknown_parameter",
            "message": "No such parameter. There are: limit, page.",
            "parameter": "per_page",
        }
    ],
    "validation_error": [{"code": "out_of_range", "message": "Must be at most 100.", "pointer": "/score"}],
    "unknown_field": [
        {"code": "unknown_field", "message": "No such field. There are: name, email.", "pointer": "/nmae"}
    ],
    "read_only_field": [{"code": "read_only_field", "message": "This cannot be changed.", "pointer": "/id"}],
}


def of_operation(name: str, method: str, path: str, doc: Doc, schemas: dict[str, Any]) -> dict[str, Any]:
    """The error answers of one operation; what they look like goes to `schemas`."""
    found: dict[int, Mapping[str, str]] = {status: _explained(codes) for status, codes in _EVERYWHERE.items()}
    unsafe = method in UNSAFE
    bad = ["malformed_json"] * bool(doc.body) + ["invalid_parameter"] * bool(doc.query or unsafe)
    bad += ["unknown_parameter"] * bool(doc.query)
    if bad:
        found[400] = _explained(bad)
    if "{" in path:
        found[404] = _explained(["not_found"])
    if conflicts := {**doc.conflicts, **_explained(["idempotency_in_progress"] * unsafe)}:
        found[409] = conflicts
    if doc.etag and unsafe:
        found[412] = _explained(["precondition_failed"])
    if doc.body:
        found |= {413: _explained(["body_too_large"]), 415: _explained(["unsupported_media_type"])}
    wrong = ["validation_error", "unknown_field", "read_only_field"] * bool(doc.body) + [
        "idempotency_mismatch"
    ] * unsafe
    if wrong:
        found[422] = _explained(wrong)
    return {
        str(status): {"$ref": f"#/components/responses/{_name(status)}"}
        if status in _ONE_EACH
        else _answer(status, codes, schemas, name)
        for status, codes in sorted(found.items())
    }


def shared(schemas: dict[str, Any]) -> dict[str, Any]:
    """The answers that are the same wherever they occur; what they look like goes to `schemas`."""
    return {_name(status): _answer(status, _explained(codes), schemas) for status, codes in sorted(_ONE_EACH.items())}


def _name(status: int) -> str:
    return HTTPStatus(status).phrase.replace(" ", "").replace("-", "")


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def _explained(codes: Iterable[str]) -> dict[str, str]:
    return {code: _MEANINGS[code] for code in codes}


def _answer(status: int, codes: Mapping[str, str], schemas: dict[str, Any], operation: str = "") -> dict[str, Any]:
    counted = () if status in _UNCOUNTED else ("RateLimit-Policy", "RateLimit")
    replayed = ("Idempotent-Replayed",) if status in _REPLAYED else ()
    # Whole, and not `allOf` the general one: openapi-python-client would drop the answer.
    name = _camel(next(iter(codes)) if len(codes) == 1 else f"{operation}_{_name(status)}") + "Problem"
    general = schemas["Problem"]
    of_code = {"type": "string", "enum": list(codes), "description": general["properties"]["code"]["description"]}
    of_status = {**general["properties"]["status"], "const": status}
    fields = {**general["properties"], "status": of_status, "code": of_code}
    schemas[name] = {**general, "title": name, "properties": fields}
    return {
        "description": " ".join(f"`{code}`: {meaning}" for code, meaning in codes.items()),
        "headers": header_refs("X-Request-Id", *counted, *replayed, *_HEADERS.get(status, ())),
        "content": {
            "application/problem+json": {
                "schema": {"$ref": REF.format(name=name)},
                "examples": {
                    code: {"summary": meaning, "value": _example(status, code, meaning)}
                    for code, meaning in codes.items()
                },
            }
        },
    }


def _example(status: int, code: str, meaning: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": f"/docs#error-{code}",
        "title": _TITLES.get(code, _TITLES[status]),
        "status": status,
        "detail": meaning,
        "code": code,
        "request_id": REQUEST_ID,
    }
    if faults := _FAULTS.get(code):
        made["errors"] = faults
    return made
