"""Named refusals: what the product says no to, each with the code its callers may rely on.

Raised anywhere below the edge; `web.problems` turns one into an RFC 9457 answer, the CLI into one line and exit 1.
Nothing here knows HTTP beyond the status that a refusal naturally has.
"""

from collections.abc import Mapping

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
    """The request is understood and refused. `code` is contract, `detail` is for people."""

    status = 400
    code = "invalid"
    title = "Refused"

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        faults: tuple[FieldError, ...] = (),
        headers: dict[str, str] | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.code
        self.faults = faults
        self.headers = headers or {}
        self.extra = extra or {}  # members added to the problem document, such as `conflicting_id`


class MalformedJson(DomainError):
    status, code, title = 400, "malformed_json", "The body is not valid JSON"


class InvalidParameter(DomainError):
    status, code, title = 400, "invalid_parameter", "A parameter is not valid"


class Unauthenticated(DomainError):
    status, code, title = 401, "unauthenticated", "A valid API key is needed"


class InsufficientScope(DomainError):
    status, code, title = 403, "insufficient_scope", "The API key lacks a scope"


class Forbidden(DomainError):
    status, code, title = 403, "forbidden", "Not for you"


class NotFound(DomainError):
    status, code, title = 404, "not_found", "Not found"


class MethodNotAllowed(DomainError):
    status, code, title = 405, "method_not_allowed", "Method not allowed"


class Conflict(DomainError):
    status, code, title = 409, "conflict", "In conflict with the present state"


class QuotaExceeded(Conflict):
    code, title = "quota_exceeded", "The workspace may not have more of this"


class PreconditionFailed(DomainError):
    status, code, title = 412, "precondition_failed", "The resource has changed"


class BodyTooLarge(DomainError):
    status, code, title = 413, "body_too_large", "The body is too large"


class UnsupportedMediaType(DomainError):
    status, code, title = 415, "unsupported_media_type", "The content type is not supported"


class Invalid(DomainError):
    status, code, title = 422, "validation_error", "The values are not valid"


class RateLimited(DomainError):
    status, code, title = 429, "rate_limited", "Too many requests"


class Internal(DomainError):
    status, code, title = 500, "internal", "Internal error"


class Unavailable(DomainError):
    status, code, title = 503, "unavailable", "Temporarily unavailable"


class OperatorError(Exception):
    """Something an operator has to mend: a setting, a port, a server. The message is the whole answer, one line."""
