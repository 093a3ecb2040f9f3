"""Pages that anybody may open, and the forms on them: how they are declared, what a passkey answered, and the session
that may follow.

    @open_page("/forgot-password")
    async def forgot(visit: Visit) -> PageResponse: ...

    @open_form("/forgot-password", shown_on=forgot.body)
    async def forgotten(visit: Visit) -> PageResponse: ...

When a form is refused, the page it is `shown_on` is rendered again, with the refusal; what is not there is an error.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from leadwire.domain.accounts.schema import Person
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.accounts.sign_in.changes.passkeys import PATIENCE, Answer, Site
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import DomainError, NotFound
from leadwire.interfaces.http.client_network import network
from leadwire.interfaces.http.routes import get, post
from leadwire.interfaces.web import forms, security
from leadwire.interfaces.web.page_context import PageResponse, redirect, render_page

Asked = Request[Any, Any, Any]
CREDENTIAL: Final = "passkey"
"""The field with what a passkey answered."""


class Visit(Struct):
    """A request by anybody, with the form that was sent, or else the query."""

    request: Asked
    form: forms.Form
    refusal: DomainError | None = None

    @property
    def onward(self) -> str:
        """Where a sign-in leads."""
        return security.local(self.form.text("next") or "/")

    @property
    def token(self) -> str:
        """What a link has in its path."""
        token: str = self.request.path_params["token"]
        return token

    def render(self, template: str, **values: object) -> PageResponse:
        """Render a page; after a refusal it has the refusal's status and headers."""
        return render_page(self.request, template, values, refusal=self.refusal)


Body = Callable[[Visit], Awaitable[PageResponse]]


class Open(Struct, eq=False):
    """A page or a form that anybody may ask for."""

    body: Body
    handler: HTTPRouteHandler


def open_page(path: str) -> Callable[[Body], Open]:
    """A page."""

    def declare(body: Body) -> Open:
        async def handler(request: Request[Any, Any, Any]) -> PageResponse:
            return await body(Visit(request, forms.parsed(request.scope["query_string"])))

        return Open(body, get(path, name=f"open page {path}")(handler))

    return declare


def open_form(path: str, shown_on: Body) -> Callable[[Body], Open]:
    """A form, which no other site may send."""

    def declare(body: Body) -> Open:
        async def handler(request: Request[Any, Any, Any]) -> PageResponse:
            visit = Visit(request, await forms.read(request))
            try:
                return await body(visit)
            except NotFound:
                raise
            except DomainError as refusal:
                visit.refusal = refusal
                return await shown_on(visit)

        return Open(body, post(path, name=f"open form {path}")(handler))

    return declare


async def go_on(request: Asked, token: str, onward: str) -> PageResponse:
    """Go on under this token, or none; the session that the browser brought along ends, and the browser is known."""
    await sessions.end(security.SESSION.read(request))
    response = redirect(onward)
    security.SESSION.write(response, request, token, settings.get().session_life if token else 0)
    if token:
        security.set_browser_mark(response, request)
    return response


async def signed_in(request: Asked) -> Person | None:
    """Return who sent the request, if somebody is signed in."""
    return await sessions.person(security.SESSION.read(request), network(request.scope))


def browser(request: Asked) -> Browser:
    """Return what the request comes from."""
    return Browser(network(request.scope), request.headers.get("user-agent", ""), security.browser_mark(request))


def answer(request: Asked, credential: str) -> Answer:
    """Return what a passkey answered, with the challenge that this browser was given."""
    site = Site(security.public_url(request))
    return Answer(site, security.CHALLENGE.read(request), credential, network(request.scope))


def options_response(request: Asked, options: str, ticket: str) -> Response[bytes]:
    """Return options, which are JSON; the browser keeps the ticket of their challenge."""
    response = Response(options.encode(), media_type="application/json", headers=dict(security.HEADERS))
    security.CHALLENGE.write(response, request, ticket, PATIENCE)
    return response
