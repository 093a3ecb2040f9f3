"""Passkeys in a browser: the site they belong to, the options it asks for, and what it answers."""

from typing import Any, Final

from litestar import Request, Response

from leadwire.domain.accounts.sign_in.changes.passkeys import PATIENCE, Answer, Site
from leadwire.interfaces.web import security
from leadwire.interfaces.web.page_context import address

CREDENTIAL: Final = "passkey"
"""The field with what a passkey answered."""


def site(request: "Request[Any, Any, Any]") -> Site:
    """Return where the web area is for whoever sent this request.

    `up` is at 127.0.0.1, and passkeys belong to names: there they belong to `localhost`, for who opens it by that name.
    """
    address_ = security.public_url(request)
    if request.headers.get("host", "").startswith("localhost:"):
        address_ = address_.replace("http://127.0.0.1:", "http://localhost:", 1)
    return Site(address_)


def answer(request: "Request[Any, Any, Any]", credential: str) -> Answer:
    """Return what a passkey answered, with the challenge that this browser was given."""
    return Answer(site(request), security.challenge(request), credential, address(request))


def options_response(request: "Request[Any, Any, Any]", options: str, ticket: str) -> Response[bytes]:
    """Return options, which are JSON; the browser keeps the ticket of their challenge."""
    headers = dict(security.HEADERS)
    response = Response(options.encode(), media_type="application/json", headers=headers)
    security.set_challenge(response, request, ticket, PATIENCE)
    return response
