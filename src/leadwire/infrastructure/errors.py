"""Errors that are reported to callers, each with a code that they may rely on.

A server turns one into an RFC 9457 response, the CLI into one line and exit code 1. Nothing here knows HTTP beyond the
status of each error. The docstrings are the texts of the OpenAPI document.
"""

from collections.abc import Mapping
from typing import Final

import msgspec


class FieldError(msgspec.Struct, omit_defaults=True, frozen=True):
    """One thing wrong with an input. Exactly one of `pointer` (RFC 6901, into the body) and `parameter` is set."""

    code: str
    """What kind of fault it is."""
    message: str
    """The same for people."""
    pointer: str | None = None
    """Where in the body it is: a JSON pointer (RFC 6901)."""
    parameter: str | None = None
    """Which query parameter it is."""


class DomainError(Exception):
    """The request is understood and refused. `code` is for programs and stable, `detail` is for people."""

    status = 400
    code = "invalid"
    title = "Refused"

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        errors: tuple[FieldError, ...] = (),
        headers: dict[str, str] | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.code
        self.errors = errors
        self.headers = headers or {}
        self.extra = extra or {}  # members added to the problem document, such as `conflicting_id`


class MalformedJson(DomainError):
    """The body is not JSON, or not UTF-8."""

    status, code, title = 400, "malformed_json", "The body is not valid JSON"


class MalformedRequest(DomainError):
    """The request is not HTTP as the standard has it."""

    status, code, title = 400, "malformed_request", "The request is not valid HTTP"


class InvalidParameter(DomainError):
    """A parameter cannot be read, is out of range or was given twice."""

    status, code, title = 400, "invalid_parameter", "A parameter is not valid"


class UnknownParameter(InvalidParameter):
    """There is no such query parameter; the message names those there are."""

    code = "unknown_parameter"


class Unauthenticated(DomainError):
    """There is no API key, or none that is valid."""

    status, code, title = 401, "unauthenticated", "A valid API key is needed"


class InsufficientScope(DomainError):
    """The API key lacks the scope that this operation needs."""

    status, code, title = 403, "insufficient_scope", "The API key lacks a scope"


class Forbidden(DomainError):
    status, code, title = 403, "forbidden", "Not for you"


class NotFound(DomainError):
    """There is no such object in this workspace. An id that is not well-formed counts as that."""

    status, code, title = 404, "not_found", "Not found"


class MethodNotAllowed(DomainError):
    """The path has no such method; `Allow` names those it has."""

    status, code, title = 405, "method_not_allowed", "Method not allowed"


class RequestTimeout(DomainError):
    """The request did not arrive in time."""

    status, code, title = 408, "request_timeout", "The request took too long to arrive"


class Conflict(DomainError):
    status, code, title = 409, "conflict", "In conflict with the present state"


class IdempotencyInProgress(Conflict):
    """The request with this Idempotency-Key is still running."""

    code = "idempotency_in_progress"


class QuotaExceeded(Conflict):
    code, title = "quota_exceeded", "The workspace may not have more of this"


class PreconditionFailed(DomainError):
    """The object has another version than `If-Match` asks for."""

    status, code, title = 412, "precondition_failed", "The resource has changed"


class BodyTooLarge(DomainError):
    """The body is larger than 64 KiB."""

    status, code, title = 413, "body_too_large", "The body is too large"


class UrlTooLong(DomainError):
    """The URL is longer than the head of a request may be: 32 KiB."""

    status, code, title = 414, "url_too_long", "The URL is too long"


class UnsupportedMediaType(DomainError):
    """The body is of another type than the operation takes, or compressed."""

    status, code, title = 415, "unsupported_media_type", "The content type is not supported"


class Invalid(DomainError):
    """The values are not valid; `errors` names each one."""

    status, code, title = 422, "validation_error", "The values are not valid"


def invalid_field(pointer: str, code: str, message: str) -> Invalid:
    """What is raised when one thing is wrong with one field of the body."""
    return Invalid(message, errors=(FieldError(code, message, pointer),))


class UnknownField(Invalid):
    """The body has fields that do not exist."""

    code = "unknown_field"


class ReadOnlyField(Invalid):
    """The body has another value for a field that cannot be changed."""

    code = "read_only_field"


class IdempotencyMismatch(Invalid):
    """This Idempotency-Key was used for another request."""

    code = "idempotency_mismatch"


class HeadersTooLarge(DomainError):
    """The head of the request is larger than 32 KiB."""

    status, code, title = 431, "headers_too_large", "The headers are too large"


class RateLimited(DomainError):
    """Too many requests, or too many failed authentications from this address."""

    status, code, title = 429, "rate_limited", "Too many requests"


class Internal(DomainError):
    """Something went wrong on our side."""

    status, code, title = 500, "internal", "Internal error"


RETRY_SOON: Final = {"Retry-After": "5"}
"""Headers of `Unavailable`."""


class Unavailable(DomainError):
    """The service cannot answer just now."""

    status, code, title = 503, "unavailable", "Temporarily unavailable"


class Problem(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What went wrong. `code` is the contract; `title` and `detail` are for people and may change."""

    type: str
    """Where the kind of problem is explained: a URI reference, one for each `code`."""
    title: str
    """What kind of problem it is."""
    status: int
    """The HTTP status."""
    detail: str
    """What is wrong with this very request."""
    code: str
    """What to rely on."""
    request_id: str
    """The same as `X-Request-Id`: names this request in our logs. In a replayed response: the first request."""
    errors: tuple[FieldError, ...] = ()
    """Each thing that is wrong, up to 50 of them."""
    conflicting_id: str | None = None
    """With `lead_conflict`: the lead that has the e-mail address already."""


def problem(error: DomainError, request_id: str) -> Problem:
    """Return the document that a request with this id is answered with."""
    return Problem(
        type=f"/docs#error-{error.code}",  # RFC 9457 section 3.1.1 allows a relative reference
        title=error.title,
        status=error.status,
        detail=error.detail,
        code=error.code,
        request_id=request_id,
        errors=error.errors,
        conflicting_id=error.extra.get("conflicting_id"),
    )


class OperatorError(Exception):
    """A problem that an operator has to fix: a setting, a port, a server. The message is one line."""
