"""A forgotten password: asking for a link by mail, and following it."""

from leadwire.domain.accounts.sign_in.changes import password_reset
from leadwire.domain.mail import reads
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.http.client_network import network
from leadwire.interfaces.web import security
from leadwire.interfaces.web.page_context import PageResponse
from leadwire.interfaces.web.public_pages import Visit, browser, open_form, open_page


@open_page("/forgot-password")
async def forgot(visit: Visit) -> PageResponse:
    """Asks for the address."""
    return _page(visit, sent=False)


@open_form("/forgot-password", shown_on=forgot.body)
async def forgotten(visit: Visit) -> PageResponse:
    """The same for every address."""
    page = _page(visit, sent=True)
    await password_reset.ask(visit.form.text("email"), network(visit.request.scope))
    return page


@open_page("/reset-password/{token:str}")
async def reset(visit: Visit) -> PageResponse:
    """What the link in the mail leads to."""
    owner = await password_reset.owner_of(visit.token)
    return visit.render("public/reset.html", email=owner["email"])


@open_form("/reset-password/{token:str}", shown_on=reset.body)
async def was_reset(visit: Visit) -> PageResponse:
    """New password; then the way in is the usual one, the second factor included."""
    email = await password_reset.use(visit.token, visit.form.raw("password"), browser(visit.request))
    page = visit.render("public/sign_in.html", onward="/", email=email, offer=None, changed=True)
    security.set_browser_mark(page, visit.request)
    return page


def _page(visit: Visit, *, sent: bool) -> PageResponse:
    """The form, or what is said once it was sent. Raise NotFound where no mail is sent."""
    if not reads.enabled():
        raise NotFound("No mail is sent here. Ask an admin of your team for a new link.")
    return visit.render("public/forgot.html", email=visit.form.text("email"), sent=sent)
