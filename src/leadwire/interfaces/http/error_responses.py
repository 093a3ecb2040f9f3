"""Error responses: `application/problem+json` (RFC 9457) with a stable `code`. No input leads to a 500."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from litestar import Request
from litestar.exceptions import HTTPException

from leadwire.infrastructure import db, errors, settings, telemetry
from leadwire.infrastructure.errors import (
    Conflict,
    DomainError,
    Internal,
    OperatorError,
    Problem,
    Unavailable,
    WorkspaceMoving,
)
from leadwire.infrastructure.redis_pool import AWAY
from leadwire.interfaces.http.responses import JSONResponse

_DETAILS: Final = {404: "There is nothing here.", 405: "See the Allow header."}
_BY_ROUTER: Final = {
    kind.status: kind
    for kind in (
        errors.InvalidParameter, errors.Unauthenticated, errors.NotFound, errors.MethodNotAllowed, errors.BodyTooLarge,
        errors.UnsupportedMediaType,
    )
}  # fmt: skip
_UNKNOWN: Final = (
    "The database did not answer in time: the change may or may not have been made. Look before you repeat it; with"
    " the same Idempotency-Key it is safe to repeat."
)
_MISCONFIGURED: Final = "This cannot be done until the operator has looked: the log says why. Quote the request id."
_MEANWHILE: Final[dict[type[Exception], Callable[[], DomainError]]] = {
    db.Moving: WorkspaceMoving,
    db.Orphaned: partial(Conflict, "Something that this refers to has just been deleted."),
}
"""What another request has done to the rows that this one needs."""
_UNAVAILABLE: Final = {
    (db.Canceled,): "The database took too long to answer.",
    (*db.GONE, *AWAY, db.Deadlock): "The service cannot reach its database just now.",
    db.REFUSING: "The database takes no changes just now: its disk is full, or it is a standby.",
}


def to_response(request: "Request[Any, Any, Any]", error: Exception) -> JSONResponse[Problem]:
    """Return the response for whatever was raised while a request was handled."""
    if isinstance(error, DomainError):
        if isinstance(error, db.Crowded):
            telemetry.warn("request.crowded")
        return _respond(error)
    if refusal := _MEANWHILE.get(type(error)):
        telemetry.warn("request.overtaken", error=error)
        return _respond(refusal())
    if isinstance(error, HTTPException):
        return _respond(_from_litestar(error))
    for kinds, detail in _UNAVAILABLE.items():
        if isinstance(error, kinds):
            telemetry.warn("request.unavailable", error=error)
            unknown = isinstance(error, db.OutcomeUnknown) and request.method not in ("GET", "HEAD")
            return _respond(Unavailable(_UNKNOWN if unknown else detail))
    telemetry.fail("request.failed", error=error, route=request.scope.get("path_template"))
    if isinstance(error, (OperatorError, *db.UNPREPARED)):  # such as a secret that our key does not open: try later
        return _respond(Unavailable(_MISCONFIGURED))
    return _respond(Internal("Something went wrong on our side. Quote the request id to support."))


def _from_litestar(error: HTTPException) -> DomainError:
    """Return an error of the router (no such path, no such method) as one of ours."""
    status = error.status_code
    detail = _DETAILS.get(status, "The request was refused.")
    if kind := _BY_ROUTER.get(status):
        return kind(detail, headers=error.headers)
    other = DomainError(detail, code=f"http_{status}", headers=error.headers)
    other.status, other.title = status, HTTPStatus(status).phrase
    return other


def _respond(error: DomainError) -> JSONResponse[Problem]:
    problem = errors.problem(error, telemetry.request_id(), settings.get().public_url)
    headers = [(name.lower().encode(), value.encode()) for name, value in error.headers.items()]
    return JSONResponse(problem, status_code=error.status, headers=headers, kind=b"application/problem+json")
