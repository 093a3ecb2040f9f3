"""What `leadwire up` serves besides: mails that are sent nowhere, and a website with the widget on it.

The mailbox has links that open accounts. So no production install has a line of it, and its address is a secret.
"""

import hmac
from pathlib import Path
from typing import Any, Final

import jinja2
from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler

from leadwire.domain.mail import compose, reads
from leadwire.domain.mail.compose import Content
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.http.routes import get
from leadwire.interfaces.web import rendering, security
from leadwire.interfaces.web.page_context import HTML, PageResponse, render_page
from leadwire_development.mailbox import path as mailbox_path

Asked = Request[Any, Any, Any]
rendering.LOADERS.append(jinja2.PackageLoader("leadwire_development", "templates"))

_SHOWN: Final = 100
_ONE: Final = sql("SELECT kind, data FROM mail WHERE id = :id")
# The HTML of a mail as a page of its own: no script, no form, nothing from elsewhere, none of our cookies.
_OF_HTML: Final = {
    **security.HEADERS,
    "Content-Security-Policy": "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
}
_SITE: Final = Path(__file__).parent / "demo" / "site"
_OF_SITE: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "Referrer-Policy": "same-origin",
}


@get("/dev/mail/{secret:str}")
async def mailbox(request: Asked) -> PageResponse:
    """What would have been sent, newest first."""
    values = {"mails": await reads.listed(None, _SHOWN), "mailbox": _checked(request)}
    return render_page(request, "dev/mailbox.html", values)


@get("/dev/mail/{secret:str}/{mail_id:str}")
async def mail(request: Asked) -> PageResponse:
    """One mail as text."""
    values = {"mail_id": request.path_params["mail_id"], "mailbox": _checked(request)}
    return render_page(request, "dev/mail.html", values | {"content": await _content(request)})


@get("/dev/mail/{secret:str}/{mail_id:str}/html")
async def mail_html(request: Asked) -> Response[str]:
    """The same as HTML."""
    _checked(request)
    return Response((await _content(request)).html, media_type=HTML, headers=_OF_HTML)


MAILBOX: Final[tuple[HTTPRouteHandler, ...]] = (mailbox, mail, mail_html)


def website(bot: str) -> list[HTTPRouteHandler]:
    """A roaster's website, with this bot."""

    @get("/demo")
    async def demo() -> Response[str]:
        """Its one page."""
        text = (_SITE / "site.html").read_text().replace("{bot}", bot)
        return Response(text, media_type="text/html", headers=_OF_SITE)

    @get("/demo/site.css")
    async def style() -> Response[str]:
        """What it looks like."""
        return Response((_SITE / "site.css").read_text(), media_type="text/css")

    return [demo, style]


async def _content(request: Asked) -> Content:
    mail_id, missing = request.path_params["mail_id"], NotFound("There is no such mail, or it has been emptied.")
    if "\0" in mail_id:
        raise missing
    kind, data = await _ONE.one(missing, id=mail_id)
    if data is None:
        raise missing
    return compose.content(kind, reads.opened(mail_id, data), security.public_url(request))


def _checked(request: Asked) -> str:
    """Return the mailbox's path. Raise NotFound for another one, and where mail is sent."""
    asked = f"/dev/mail/{request.path_params['secret']}"
    if not reads.is_mailbox() or not hmac.compare_digest(asked.encode(), mailbox_path().encode()):
        raise NotFound("There is nothing here.")
    return asked
