"""Errors as pages, for people with a browser; other clients get problem documents."""

from typing import Any

from litestar import Request, Response
from litestar.exceptions import HTTPException

from leadwire.infrastructure.errors import RETRY_SOON, DomainError, Unavailable
from leadwire.interfaces.http import problems
from leadwire.interfaces.web.page_context import render_page

_PROGRAMS = ("/v1/", "/widget/", "/health/", "/schema", "/metrics")


def to_response(request: "Request[Any, Any, Any]", error: Exception) -> Response[Any]:
    """Return an error as a page when the client prefers HTML, else as a problem document."""
    problem = problems.to_response(request, error)
    wants_page = "text/html" in request.headers.get("accept", "")
    if not wants_page or request.scope["path"].startswith(_PROGRAMS):
        return problem
    extra = dict(error.headers) if isinstance(error, DomainError | HTTPException) and error.headers else {}
    if problem.status_code == Unavailable.status:
        extra |= RETRY_SOON
    values = {"problem": problem.content, "context": request.state.get("context")}
    page = render_page(request, "problem.html", values, problem.status_code or 500)
    page.headers.update({name: value for name, value in extra.items() if name.lower() in ("retry-after", "allow")})
    return page
