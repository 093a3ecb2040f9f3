"""What can go wrong, as one tree. `code` is the server's contract (see the README); `detail` is for people."""

import time
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec

from leadwire_client.http_client import httpx


class LeadwireError(Exception):
    """Everything this package raises, but for wrong arguments (ValueError, TypeError)."""


class Unreachable(LeadwireError):
    """No answer came: connection refused or broken, or a timeout. A change may have happened nevertheless."""


class Unreadable(LeadwireError):
    """Something came, but nothing that this version understands."""


class InvalidSignature(LeadwireError):
    """The webhook was not sent by a holder of the secret. Answer 401."""


class StaleSignature(InvalidSignature):
    """A holder of the secret signed it, but not now: somebody sends a recording, or one of two clocks is wrong."""


class InProgress(LeadwireError):
    """Another delivery of the same event is being handled. Answer 500, so that Leadwire sends it again."""


class FieldError(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong with a request. `pointer` points into the body (RFC 6901), or `parameter` names a parameter."""

    code: str
    message: str
    pointer: str | None = None
    parameter: str | None = None


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """The server's `application/problem+json` (RFC 9457). `retry_after` is in seconds."""

    status: int = 0
    code: str = ""
    title: str = ""
    detail: str = ""
    request_id: str = ""
    errors: tuple[FieldError, ...] = ()
    conflicting_id: str | None = None
    retry_after: float | None = None


class ApiError(LeadwireError):
    """The server refused. Quote `request_id` to support."""

    status: int
    code: str
    title: str
    detail: str
    request_id: str
    errors: tuple[FieldError, ...]
    conflicting_id: str | None
    retry_after: float | None

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        vars(self).update(msgspec.structs.asdict(problem))

    def __str__(self) -> str:
        faults = "".join(f" {fault.pointer or fault.parameter}: {fault.message}" for fault in self.errors)
        return (
            f"{self.status} {self.code}: {self.detail or self.title}{faults} (request {self.request_id or 'unknown'})"
        )


class Invalid(ApiError):
    """400, 413, 415, 422: the request itself is wrong; `errors` names each fault."""


class Unauthenticated(ApiError):
    """401: no valid API key."""


class Forbidden(ApiError):
    """403: the API key lacks a scope, or may not be used from this address. See `code`."""


class NotFound(ApiError):
    """404: no such object in this workspace."""


class Conflict(ApiError):
    """409: another lead has that e-mail address; `conflicting_id` is that lead, where it is known. See `code`."""


class PreconditionFailed(ApiError):
    """412: the lead has changed since the version of `if_match`. Get it again and decide again."""


class RateLimited(ApiError):
    """429, after the retries. `retry_after` is in seconds."""


class Unavailable(ApiError):
    """502, 503, 504, after the retries. A change may have happened nevertheless."""


_BY_STATUS: Final = {
    **dict.fromkeys((400, 413, 415, 422), Invalid),
    **dict.fromkeys((502, 503, 504), Unavailable),
} | {401: Unauthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 412: PreconditionFailed, 429: RateLimited}


def of(answer: httpx.Response) -> ApiError:
    """The error that an answer other than 2xx is; a proxy's page becomes the code `http_<status>`."""
    try:
        problem = msgspec.json.decode(answer.content, type=Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        problem = Problem()
    status = answer.status_code
    problem = msgspec.structs.replace(
        problem,
        status=status,
        code=problem.code or f"http_{status}",
        title=problem.title or answer.reason_phrase,
        request_id=problem.request_id or answer.headers.get("x-request-id", ""),
        retry_after=_retry_after(answer.headers.get("retry-after", "")),
    )
    return _BY_STATUS.get(status, ApiError)(problem)


def words(error: httpx.RequestError) -> str:
    """What went wrong. Timeouts have no text of their own."""
    return str(error) or type(error).__name__


def _retry_after(text: str) -> float | None:
    """Seconds from now; None when `text` is neither seconds nor an HTTP date."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:  # how Python reads "-0000"
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - time.time())
