"""The error responses of the document, from the classes of errors: their status, code, title and docstring."""

import inspect
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

from leadwire.infrastructure import errors as known
from leadwire.infrastructure.errors import DomainError
from leadwire.interfaces.v1.openapi.schemas import REF, Json, references

Errors = list[type[DomainError]]

EVERYWHERE: Final[Errors] = [
    known.Unauthenticated, known.InsufficientScope, known.WorkspaceSuspended, known.AddressNotAllowed,
    known.RateLimited, known.Internal, known.Unavailable, known.MalformedRequest,
]  # fmt: skip
_ELSEWHERE: Final[Errors] = [
    known.MethodNotAllowed, known.RequestTimeout, known.UrlTooLong, known.HeadersTooLarge,
]  # fmt: skip
"""Before an operation is found, by the connection: one response, `default`, for all of them."""
_DIFFERING: Final = (400, 409, 422)  # their codes differ from operation to operation; the others are shared
_HEADERS: Final = {
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    415: ("Accept", "Accept-Patch", "Accept-Encoding"),
    **dict.fromkeys((409, 429, 503), ("Retry-After",)),
}
_REPLAYED: Final = (400, 404, 409, 412, 413, 415, 422)  # from the operation itself: stored for its Idempotency-Key
_UNCOUNTED: Final = (401, 405)  # sent before the rate limit is looked at


class ErrorResponses:
    """The error responses of all operations. `fields` has an example of a wrong field for some codes."""

    def __init__(self, fields: Json) -> None:
        self._fields = fields
        self.shared = {"Other": self._described(405, _ELSEWHERE)}
        """Those that are the same wherever they occur, by name."""

    def of_operation(self, errors: Iterable[type[DomainError]]) -> dict[str, Any]:
        """Return the error responses of one operation, by status."""
        by_kind: dict[int, Errors] = {}
        for error in (*errors, *EVERYWHERE):
            if error not in by_kind.setdefault(error.status, []):
                by_kind[error.status].append(error)
        by_status = {str(status): self._response(status, by_kind[status]) for status in sorted(by_kind)}
        return by_status | {"default": {"$ref": "#/components/responses/Other"}}

    def _response(self, status: int, errors: Errors) -> dict[str, Any]:
        if status in _DIFFERING:
            return self._described(status, errors)
        name = HTTPStatus(status).phrase.replace(" ", "").replace("-", "")
        if name not in self.shared:
            self.shared[name] = self._described(status, errors)
        return {"$ref": f"#/components/responses/{name}"}

    def _described(self, status: int, errors: Errors) -> dict[str, Any]:
        counted = () if status in _UNCOUNTED else ("RateLimit-Policy", "RateLimit")
        replayed = ("Idempotent-Replayed",) if status in _REPLAYED else ()
        examples = {error.code: {"summary": inspect.getdoc(error), "value": self._example(error)} for error in errors}
        content = {"schema": {"$ref": REF.format(name="Problem")}, "examples": examples}
        return {
            "description": " ".join(f"`{error.code}`: {inspect.getdoc(error)}" for error in errors),
            "headers": references("headers", "X-Request-Id", *counted, *replayed, *_HEADERS.get(status, ())),
            "content": {"application/problem+json": content},
        }

    def _example(self, error: type[DomainError]) -> Json:
        problem = {
            "type": f"https://leadwire.example/docs/errors#{error.code}",
            "title": error.title,
            "status": error.status,
            "detail": inspect.getdoc(error),
            "code": error.code,
            "request_id": "req_5f2b8c1d9e3a4b6c7d8e9f01",
        }
        field = self._fields.get(error.code)
        return {**problem, "errors": [field]} if field else problem
