"""A forgotten password; addresses that mail was refused for; and the mailbox of `leadwire up`."""

import ipaddress
from typing import Final

from litestar import HttpMethod, Response, route
from litestar.handlers import HTTPRouteHandler

from leadwire.domain.accounts.sign_in.changes import password_reset
from leadwire.domain.mail import reads
from leadwire.domain.mail.compose import Content
from leadwire.infrastructure.errors import DomainError, NotFound
from leadwire.interfaces.http.routes import get
from leadwire.interfaces.web import security
from leadwire.interfaces.web.page_context import HTML, PageResponse, address, render_page
from leadwire.interfaces.web.public_pages import Asked, browser, form_page, sent_form

_FORGOT: Final = "/forgot-password"
_RESET: Final = "/reset-password/{token:str}"
_SHOWN: Final = 100
# The HTML of a mail as a page of its own: no script, no form, nothing from elsewhere, none of our cookies.
_OF_HTML: Final = {
    **security.HEADERS,
    "Content-Security-Policy": "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
}


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
    page = form_page(request, "public/sign_in.html", onward="/", email=email, changed=True)
    security.set_browser_mark(page, request)
    return page


@get("/dev/mail")
async def mailbox(request: Asked) -> PageResponse:
    """What would have been sent, newest first."""
    _developing(request)
    return render_page(request, "dev/mailbox.html", {"mails": await reads.listed(None, _SHOWN)})


@get("/dev/mail/{mail_id:str}")
async def mail(request: Asked) -> PageResponse:
    """One mail as text."""
    _developing(request)
    mail_id = request.path_params["mail_id"]
    return render_page(request, "dev/mail.html", {"mail_id": mail_id, "content": await _content(request)})


@get("/dev/mail/{mail_id:str}/html")
async def mail_html(request: Asked) -> Response[str]:
    """The same as HTML."""
    _developing(request)
    return Response((await _content(request)).html, media_type=HTML, headers=_OF_HTML)


async def _content(request: Asked) -> Content:
    mail_id = request.path_params["mail_id"]
    if "\0" in mail_id:
        raise NotFound("There is nothing here.")
    return await reads.shown(mail_id, security.public_url(request))


async def _reset_page(request: Asked, refusal: DomainError | None = None) -> PageResponse:
    owner = await password_reset.owner_of(request.path_params["token"])
    return form_page(request, "public/reset.html", refusal, email=owner["email"])


def _offered() -> None:
    if not reads.enabled():
        raise NotFound("No mail is sent here. Ask an admin of your team for a new link.")


def _developing(request: Asked) -> None:
    """Raise NotFound unless mail is kept and a browser on this very machine asks, not through a tunnel or a proxy.

    The mailbox has links that open accounts.
    """
    forwarded = {"forwarded", "x-forwarded-for", "x-forwarded-host"} & set(request.headers.keys())
    peer, host = request.scope["client"], request.headers.get("host", "")
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    here = peer is not None and _loopback(peer[0]) and (name == "localhost" or _loopback(name.strip("[]")))
    if not reads.is_mailbox() or forwarded or not here:
        raise NotFound("There is nothing here.")


def _loopback(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False


OPEN: Final[list[HTTPRouteHandler]] = [forgot, forgotten, reset, was_reset, mailbox, mail, mail_html]
"""Pages that anybody may open: those of the mailbox from this machine only, under `leadwire up`."""
