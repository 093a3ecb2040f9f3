"""How screens and actions are declared. Denied unless allowed: a session, a role, and for changes a form of ours.

    @screen("/keys", "keys/list.html", role="admin")
    async def keys(context: PageContext) -> Values: ...

    @action("/keys/{key_id}/revoke", shown_on=keys, audit="api_key.revoked")
    async def revoke(context: PageContext, key_id: str) -> str: ...

A screen that names no role is every viewer's, an action an admin's; `operator` is no role, but an account that the
command line made so. An action leads back to the screen it is `shown_on`, which shows once what the action has returned
to say. When it refuses, that screen is rendered again with the refusal and what was filled in.
"""

import contextlib
import functools
import hmac
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, cast
from urllib.parse import quote

import msgspec
from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler

from leadwire.domain.accounts import networks
from leadwire.domain.accounts.schema import Role
from leadwire.domain.accounts.sign_in import changes as sign_in
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.infrastructure.errors import AddressNotAllowed, DomainError, Forbidden
from leadwire.interfaces.http import body, client_network
from leadwire.interfaces.http.middleware import set_workspace
from leadwire.interfaces.http.routes import get, post
from leadwire.interfaces.web import forms, security
from leadwire.interfaces.web.forms import Form
from leadwire.interfaces.web.live_updates import Seen, stream
from leadwire.interfaces.web.page_context import PageContext, PageResponse, redirect
from leadwire.interfaces.web.public_pages import CREDENTIAL, answer, signed_in

__all__ = ["PageContext", "PageResponse", "Seen", "Values", "action", "live", "screen"]

Needed = Role | Literal["operator"]
Values = dict[str, Any]
Page = Callable[..., Awaitable[PageResponse]]
"""Takes the context, and the parameters of its path by their names."""
Body = Callable[..., Awaitable[PageResponse | Values]]
"""A screen's body: returns what its template shows, or another response."""
Glance = Callable[..., Awaitable[Seen]]
Deed = Callable[..., Awaitable[PageResponse | str | None]]
"""An action's body: returns what the screen that it is shown on says next, if anything, or another response."""
FORM_TOKEN: Final = "form_token"  # noqa: S105 - the name of a field
PASSWORD: Final = "confirm_password"  # noqa: S105 - the name of a field
PAGE: Final = "confirm_page"
SIGN_IN: Final = "/sign-in"
CONFIRM: Final = "/confirm"
SIGN_OUT: Final = "/sign-out"
PASSKEYS: Final = "/account/passkeys"
SECOND_FACTOR: Final = "/account/second-factor"
_BEFORE_THE_FACTOR: Final = (SECOND_FACTOR, PASSKEYS, f"{PASSKEYS}/options", CONFIRM, SIGN_OUT)


class Declared(msgspec.Struct, eq=False):
    """A screen or an action: what the router takes, and what tests walk through."""

    path: str
    role: Needed
    handler: HTTPRouteHandler
    confirmed: bool = False
    """Whether it is an action that asks for the password again."""


class Screen(Declared, kw_only=True):
    """A screen."""

    body: Page
    chosen: str = ""
    """The field of its address that names what an action was about."""

    def address(self, context: PageContext) -> str:
        """Where the browser finds it after an action on it, with the filters that were in the address."""
        path = re.sub(r"{(\w+):str}", lambda name: context.path_param(name[1]), self.path)
        return context.link(path, **dict.fromkeys([self.chosen] if self.chosen else [], context.subject))


def screen(
    path: str, template: str = "", role: Needed = "viewer", confirmed: bool = False, chosen: str = ""
) -> Callable[[Body], Screen]:
    """A page. Without a session the browser is sent to sign in; `confirmed` asks for the password again first."""
    path = path.replace("}", ":str}")

    def declare(body: Body) -> Screen:
        async def page(context: PageContext, **parameters: str) -> PageResponse:
            values = await body(context, **parameters)
            return values if isinstance(values, Response) else await context.render(template, **values)

        async def handler(request: Request[Any, Any, Any]) -> PageResponse:
            context = await _page_context(request, role, path)
            if isinstance(context, str):
                return redirect(f"{context}?next={quote(_address_of(request))}" if context == SIGN_IN else context)
            if confirmed and not context.me.confirmed:
                return redirect(f"{CONFIRM}?next={quote(_address_of(request))}")
            return await page(context, **_parameters(context, path))

        return Screen(path, role, get(path, name=f"screen {path}")(handler), body=page, chosen=chosen)

    return declare


def live(path: str, role: Needed = "viewer") -> Callable[[Glance], Screen]:
    """What a page follows. The body looks: the page is told when what it sees is another, and once that has ended."""

    def declare(glance: Glance) -> Screen:
        async def page(context: PageContext, **parameters: str) -> PageResponse:
            look = functools.partial(glance, context, **parameters)
            await look()  # else NotFound would come after the response has begun
            return stream(look, context.me)

        return screen(path, role=role)(page)

    return declare


def action(
    path: str,
    role: Needed = "admin",
    shown_on: Screen | None = None,
    confirmed: bool = False,
    audit: str = "",
    largest: int = body.LARGEST,
    download: bool = False,
) -> Callable[[Deed], Declared]:
    """A change. It needs a form that a page of this very session was given, of at most `largest` bytes.

    `confirmed` asks for the password again first, on a page that carries the form along. A `download` leaves the page
    as it is: after the password the page with the form is shown again. With `audit`, all of it is one transaction that
    leaves an entry of this action, about the first parameter of the path, in the audit log. Where something that
    takes long comes first, the body makes that transaction itself (`PageContext.change`).
    """
    path = path.replace("}", ":str}")

    def declare(done: Deed) -> Declared:
        async def handler(request: Request[Any, Any, Any]) -> PageResponse:
            context = await _page_context(request, role, path)
            if isinstance(context, str):
                return redirect(context)
            looked, form = time.monotonic(), await forms.read(request, largest)
            if time.monotonic() - looked >= sessions.CHECKED_EVERY:  # their session may have ended meanwhile
                context = await _page_context(request, role, path)
            if isinstance(context, str):
                return redirect(context)
            context.form = form
            if not hmac.compare_digest(context.form.text(FORM_TOKEN).encode(), context.me.form_token.encode()):
                raise Forbidden("This form is not from a page of your session. Load the page again.")
            response = await _password(context, download=download) if confirmed else None
            response = response or await _perform(context, done, path, audit, shown_on)
            if context.flash:
                await sessions.update(context.me.session_id, flash=context.flash)
            return response

        return Declared(path, role, post(path, name=f"action {path}")(handler), confirmed)

    return declare


async def check_again(context: PageContext, password: str, credential: str) -> None:
    """Check the password, or what a passkey answered instead. Raise DomainError."""
    await sign_in.confirm(context.me, password, answer(context.request, credential) if credential else None)


async def _password(context: PageContext, *, download: bool) -> PageResponse | None:
    """None when the action may go on, else the page that asks for the password. It holds what was filled in and sends
    it once more, together with the password, to the same address: nothing is kept elsewhere meanwhile.
    """
    answers = context.form.raw(PASSWORD), context.form.raw(CREDENTIAL)
    page = security.local(context.form.text(PAGE) or _page_of(context.request))
    context.form = context.form.without(PASSWORD, CREDENTIAL, PAGE)
    if context.me.confirmed:
        return None
    if any(answers):
        try:
            await check_again(context, *answers)
        except DomainError as refusal:
            context.refusal = refusal
        else:
            word = "Your password is confirmed. Start the download again."
            return context.redirect(page, word) if download else None
    held = [*context.form.without(FORM_TOKEN).pairs, (PAGE, page)]
    to = _address_of(context.request)
    return await context.render("confirm.html", action=to, held=held, field=PASSWORD, onward=page)


async def _perform(context: PageContext, done: Deed, path: str, audit: str, shown_on: Screen | None) -> PageResponse:
    change = context.change(audit, context.subject) if audit else contextlib.nullcontext()
    try:
        async with change:
            said = await done(context, **_parameters(context, path))
    except DomainError as refusal:
        if shown_on is None:
            raise
        context.refusal = refusal
        return await shown_on.body(context, **_parameters(context, shown_on.path))
    if isinstance(said, Response) or shown_on is None:
        return cast(PageResponse, said)
    return context.redirect(shown_on.address(context), said or "")


def _parameters(context: PageContext, path: str) -> dict[str, str]:
    return {name: context.path_param(name) for name in re.findall(r"{(\w+):", path)}


async def _page_context(request: "Request[Any, Any, Any]", role: Needed, path: str) -> PageContext | str:
    """Return the context of the request, or the page to visit first: to sign in, or to add a second factor."""
    me = await signed_in(request)
    if me is None:
        return SIGN_IN
    set_workspace(me.workspace, me.user_id)
    if path != SIGN_OUT and not networks.allow(client_network.address(request.scope), me.networks):
        raise AddressNotAllowed(
            f"{me.workspace_name} lets people in from certain networks only, and you are at"
            f" {client_network.address(request.scope)}. Ask an admin, or whoever runs this instance."
        )
    context = PageContext(request, me, Form())
    request.state.context = context  # an error page is this person's, too
    if role == "operator":
        if not me.operator:
            raise Forbidden("Only operators see this: admins made so by `leadwire users operator`.")
    elif not context.may(role):
        raise Forbidden(f"This takes the role {role}; yours is {me.role}. Ask an admin of {me.workspace_name}.")
    return SECOND_FACTOR if me.lacks_second_factor and path not in _BEFORE_THE_FACTOR else context


def _address_of(request: "Request[Any, Any, Any]") -> str:
    query = request.scope["query_string"].decode("latin-1")
    return quote(request.scope["path"]) + (f"?{query}" if query else "")


def _page_of(request: "Request[Any, Any, Any]") -> str:
    """The page that holds the form, as far as the browser says so."""
    came_from = request.headers.get("referer", "")
    _, _, path = came_from.partition(f"//{request.headers.get('host', '')}")
    return security.local(path) if path else "/"
