"""What pages that anybody may open share: their form, where it was sent from, what a passkey answered, and the session
that may follow.
"""

from typing import Any, Final

from litestar import Request, Response

from leadwire.domain.accounts.schema import Person
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.accounts.sign_in.changes.passkeys import PATIENCE, Answer, Site
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import DomainError, Forbidden
from leadwire.interfaces.web import forms, security
from leadwire.interfaces.web.page_context import PageResponse, address, redirect, render_page

Asked = Request[Any, Any, Any]
CREDENTIAL: Final = "passkey"
"""The field with what a passkey answered."""


def form_page(request: Asked, template: str, refusal: DomainError | None = None, **values: object) -> PageResponse:
    """A page for who is not signed in; after a refusal it has the refusal's status and headers."""
    return render_page(request, template, values, refusal=refusal)


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
    return await sessions.person(security.SESSION.read(request), address(request))


def browser(request: Asked) -> Browser:
    """Return what the request comes from."""
    return Browser(address(request), request.headers.get("user-agent", ""), security.browser_mark(request))


async def sent_form(request: Asked) -> forms.Form:
    """Return the form that was sent. Raise Forbidden when another site sent it."""
    if not security.same_origin(request.headers):
        raise Forbidden("This request came from another site.")
    return await forms.read(request)


def site(request: Asked) -> Site:
    """Return where the web area is for whoever sent this request."""
    return Site(security.public_url(request))


def answer(request: Asked, credential: str) -> Answer:
    """Return what a passkey answered, with the challenge that this browser was given."""
    return Answer(site(request), security.CHALLENGE.read(request), credential, address(request))


def options_response(request: Asked, options: str, ticket: str) -> Response[bytes]:
    """Return options, which are JSON; the browser keeps the ticket of their challenge."""
    headers = dict(security.HEADERS)
    response = Response(options.encode(), media_type="application/json", headers=headers)
    security.CHALLENGE.write(response, request, ticket, PATIENCE)
    return response
