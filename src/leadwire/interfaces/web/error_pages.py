"""Refusals as pages, for people with a browser; everything else answers problem documents."""

from typing import Any

from litestar import Request, Response
from litestar.exceptions import HTTPException

from leadwire.infrastructure.errors import DomainError, Unavailable
from leadwire.interfaces.http import problems
from leadwire.interfaces.web.page_context import show

_PROGRAMS = ("/v1/", "/widget/", "/health/", "/schema", "/metrics")


def answer(request: "Request[Any, Any, Any]", error: Exception) -> Response[Any]:
    """A page when the one who asks would rather read a page."""
    told = problems.answer(request, error)
    wants_page = "text/html" in request.headers.get("accept", "")
    if not wants_page or request.scope["path"].startswith(_PROGRAMS):
        return told
    extra = dict(error.headers) if isinstance(error, DomainError | HTTPException) and error.headers else {}
    if told.status_code == Unavailable.status:
        extra |= problems.RETRY_SOON
    page = show(
        request,
        "problem.html",
        {"problem": told.content, "context": request.state.get("context")},
        told.status_code or 500,
    )
    page.headers.update({name: value for name, value in extra.items() if name.lower() in ("retry-after", "allow")})
    return page
