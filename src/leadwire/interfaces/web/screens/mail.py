"""A forgotten password: asking for a link by mail, and following it."""

from typing import Final

from litestar import HttpMethod, route
from litestar.handlers import HTTPRouteHandler

from leadwire.domain.accounts.sign_in.changes import password_reset
from leadwire.domain.mail import reads
from leadwire.infrastructure.errors import DomainError, NotFound
from leadwire.interfaces.http.routes import get
from leadwire.interfaces.web import security
from leadwire.interfaces.web.page_context import PageResponse, address
from leadwire.interfaces.web.public_pages import Asked, browser, form_page, sent_form

_FORGOT: Final = "/forgot-password"
_RESET: Final = "/reset-password/{token:str}"


@get(_FORGOT)
async def forgot(request: Asked) -> PageResponse:
    """Asks for the address."""
    _offered()
    return form_page(request, "public/forgot.html", email="", asked=False)


@route(_FORGOT, http_method=HttpMethod.POST, status_code=200)
async def forgotten(request: Asked) -> PageResponse:
    """The same for every address."""
    _offered()
    email = (await sent_form(request)).text("email")
    try:
        await password_reset.ask(email, address(request))
    except DomainError as refusal:
        return form_page(request, "public/forgot.html", refusal, email=email, asked=False)
    return form_page(request, "public/forgot.html", email=email, asked=True)


@get(_RESET)
async def reset(request: Asked) -> PageResponse:
    """What the link in the mail leads to."""
    return await _reset_page(request)


@route(_RESET, http_method=HttpMethod.POST, status_code=200)
async def was_reset(request: Asked) -> PageResponse:
    """New password; then the way in is the usual one, the second factor included."""
    password = (await sent_form(request)).raw("password")
    try:
        email = await password_reset.use(request.path_params["token"], password, browser(request))
    except NotFound:
        raise
    except DomainError as refusal:
        return await _reset_page(request, refusal)
    page = form_page(request, "public/sign_in.html", onward="/", email=email, offer=None, changed=True)
    security.set_browser_mark(page, request)
    return page


async def _reset_page(request: Asked, refusal: DomainError | None = None) -> PageResponse:
    owner = await password_reset.owner_of(request.path_params["token"])
    return form_page(request, "public/reset.html", refusal, email=owner["email"])


def _offered() -> None:
    if not reads.enabled():
        raise NotFound("No mail is sent here. Ask an admin of your team for a new link.")


OPEN: Final[list[HTTPRouteHandler]] = [forgot, forgotten, reset, was_reset]
"""Pages that anybody may open."""
