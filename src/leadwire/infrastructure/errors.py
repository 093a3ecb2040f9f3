"""Errors that are reported to callers, each with a code that they may rely on.

A server turns one into an RFC 9457 response, the CLI into one line and exit code 1. Nothing here knows HTTP beyond the
status of each error. The docstrings are the texts of the OpenAPI document.
"""

import copyreg
from collections.abc import Mapping
from typing import Any

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
    headers: Mapping[str, str] = {}
    detail = ""

    def __init_subclass__(cls, *, status: int = 0, code: str = "", title: str = "", detail: str = "") -> None:
        cls.status, cls.code, cls.title = status or cls.status, code or cls.code, title or cls.title
        cls.detail = detail or cls.detail

    def __init__(
        self,
        detail: str = "",
        *,
        code: str | None = None,
        errors: tuple[FieldError, ...] = (),
        headers: Mapping[str, str] | None = None,
        conflicting_id: str | None = None,
    ) -> None:
        self.detail = detail or self.detail
        super().__init__(self.detail)
        self.code = code or self.code
        self.errors = errors
        self.headers = headers or self.headers
        self.conflicting_id = conflicting_id

    def __reduce__(self) -> tuple[Any, ...]:
        """How another process hands it on: as it is, not made anew of its message."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class MalformedJson(DomainError, status=400, code="malformed_json", title="The body is not valid JSON"):
    """The body is not JSON, or not UTF-8."""


class MalformedRequest(DomainError, status=400, code="malformed_request", title="The request is not valid HTTP"):
    """The request is not HTTP as the standard has it."""


class InvalidParameter(DomainError, status=400, code="invalid_parameter", title="A parameter is not valid"):
    """A parameter cannot be read, is out of range or was given twice."""


class UnknownParameter(InvalidParameter, code="unknown_parameter"):
    """There is no such query parameter; the message names those there are."""


class Unauthenticated(DomainError, status=401, code="unauthenticated", title="A valid API key is needed"):
    """There is no API key, or none that is valid."""


class InsufficientScope(DomainError, status=403, code="insufficient_scope", title="The API key lacks a scope"):
    """The API key lacks the scope that this operation needs."""


class WorkspaceSuspended(
    DomainError, status=403, code="workspace_suspended", title="The workspace is suspended",
    detail="The workspace is suspended. Ask whoever runs this instance.",
):  # fmt: skip
    """Whoever runs the service has suspended the workspace. Nothing is deleted."""


class AddressNotAllowed(DomainError, status=403, code="address_not_allowed", title="Not from this address"):
    """The API key may not be used from the address of the request."""


class Forbidden(DomainError, status=403, code="forbidden", title="Not for you"):
    pass


class NotFound(DomainError, status=404, code="not_found", title="Not found"):
    """There is no such object in this workspace. An id that is not well-formed counts as that."""


class MethodNotAllowed(DomainError, status=405, code="method_not_allowed", title="Method not allowed"):
    """The path has no such method; `Allow` names those it has."""


class RequestTimeout(DomainError, status=408, code="request_timeout", title="The request took too long to arrive"):
    """The request did not arrive in time."""


class Conflict(DomainError, status=409, code="conflict", title="In conflict with the present state"):
    pass


class IdempotencyInProgress(Conflict, code="idempotency_in_progress"):
    """The request with this Idempotency-Key is still running."""


class QuotaExceeded(Conflict, code="quota_exceeded", title="The workspace may not have more of this"):
    pass


class PreconditionFailed(DomainError, status=412, code="precondition_failed", title="The resource has changed"):
    """The object has another version than `If-Match` asks for."""


class BodyTooLarge(DomainError, status=413, code="body_too_large", title="The body is too large"):
    """The body is larger than 64 KiB."""


class UrlTooLong(DomainError, status=414, code="url_too_long", title="The URL is too long"):
    """The URL is longer than the head of a request may be: 32 KiB."""


class UnsupportedMediaType(
    DomainError, status=415, code="unsupported_media_type", title="The content type is not supported"
):
    """The body is of another type than the operation takes, or compressed."""


class Invalid(DomainError, status=422, code="validation_error", title="The values are not valid"):
    """The values are not valid; `errors` names each one."""


def invalid_field(pointer: str, code: str, message: str) -> Invalid:
    """What is raised when one thing is wrong with one field of the body."""
    return Invalid(message, errors=(FieldError(code, message, pointer),))


class UnknownField(Invalid, code="unknown_field"):
    """The body has fields that do not exist."""


class ReadOnlyField(Invalid, code="read_only_field"):
    """The body has another value for a field that cannot be changed."""


class IdempotencyMismatch(Invalid, code="idempotency_mismatch"):
    """This Idempotency-Key was used for another request."""


class HeadersTooLarge(DomainError, status=431, code="headers_too_large", title="The headers are too large"):
    """The head of the request is larger than 32 KiB."""


class RateLimited(DomainError, status=429, code="rate_limited", title="Too many requests"):
    """Too many requests, or too many failed authentications from this address."""


class Internal(DomainError, status=500, code="internal", title="Internal error"):
    """Something went wrong on our side."""


class Unavailable(DomainError, status=503, code="unavailable", title="Temporarily unavailable"):
    """The service cannot answer just now."""

    headers: Mapping[str, str] = {"Retry-After": "5"}


class WorkspaceMoving(
    Unavailable, code="workspace_moving", title="The workspace moves to another installation",
    detail="The workspace is being moved to another installation. Nothing was changed. Try again.",
):  # fmt: skip
    """The workspace is being moved to another installation: for seconds its changes are refused. Or it has moved, and
    its address does not lead there yet.
    """


class Problem(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What went wrong. `code` is the contract; `title` and `detail` are for people and may change."""

    type: str
    """Where the kind of problem is explained: a URL, one for each `code`."""
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


def problem(error: DomainError, request_id: str, site: str) -> Problem:
    """Return the document that a request with this id is answered with. `site` is our address, or empty."""
    return Problem(
        type=f"{site}/docs/errors#{error.code}",
        title=error.title,
        status=error.status,
        detail=error.detail,
        code=error.code,
        request_id=request_id,
        errors=error.errors,
        conflicting_id=error.conflicting_id,
    )


class OperatorError(Exception):
    """A problem that an operator has to fix: a setting, a port, a server. The message is one line."""
