"""What the app serves for the web area: what the modules in `screens/` declare, and errors as pages."""

import importlib
import pkgutil
from typing import Any, Final

from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler

from leadwire.infrastructure.errors import DomainError, Unavailable
from leadwire.interfaces.http import assets, error_responses
from leadwire.interfaces.web import screens
from leadwire.interfaces.web.page_context import render_page
from leadwire.interfaces.web.public_pages import Open
from leadwire.interfaces.web.routes import Declared

_MODULES: Final = [
    importlib.import_module(f"{screens.__name__}.{m.name}") for m in pkgutil.iter_modules(screens.__path__)
]
_PROGRAMS: Final = ("/v1/", "/widget/", "/receiver/", "/health/", "/schema", "/metrics")  # never get a page

_VALUES: Final = [value for module in _MODULES for value in vars(module).values()]
DECLARED: Final = [value for value in _VALUES if isinstance(value, Declared)]
_PARTS: Final = ("/live", "/options", "/config", "/csv", "/trial")  # what pages ask for
PAGES: Final = [
    declared.path
    for declared in DECLARED
    if "GET" in declared.handler.http_methods and not declared.path.endswith(_PARTS)
]
"""The paths of what is a page of its own, for whoever looks at all of them: tests, pictures, measurements."""


def handlers() -> list[HTTPRouteHandler]:
    """Every screen and action, and what anybody may open: `ops/tenants/routes.py` lists it, with the reason."""
    open_to_all = [value.handler if isinstance(value, Open) else value for value in _VALUES]
    handlers = [value for value in open_to_all if isinstance(value, HTTPRouteHandler)]
    return [assets.asset, *handlers, *(declared.handler for declared in DECLARED)]


def error_response(request: "Request[Any, Any, Any]", error: Exception) -> Response[Any]:
    """Return an error as a page when the client prefers HTML, else as a problem document."""
    problem = error_responses.to_response(request, error)
    wants_page = "text/html" in request.headers.get("accept", "")
    if not wants_page or request.scope["path"].startswith(_PROGRAMS):
        return problem
    extra = dict(error.headers) if isinstance(error, DomainError | HTTPException) and error.headers else {}
    if problem.status_code == Unavailable.status:
        extra |= Unavailable.headers
    values = {"problem": problem.content, "context": request.state.get("context")}
    page = render_page(request, "problem.html", values, problem.status_code or 500)
    page.headers.update({name: value for name, value in extra.items() if name.lower() in ("retry-after", "allow")})
    return page
