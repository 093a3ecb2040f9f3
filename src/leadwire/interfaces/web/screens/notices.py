"""Which mails somebody gets, the link that ends them without a sign-in, and a transcript to a visitor."""

from typing import Any, Final

from litestar import HttpMethod, Request, route
from litestar.handlers import HTTPRouteHandler

from leadwire.domain.notices import changes, links
from leadwire.domain.notices.changes import transcript
from leadwire.domain.notices.schema import OFFERS
from leadwire.infrastructure.errors import Forbidden
from leadwire.interfaces.http.routes import get
from leadwire.interfaces.web import security
from leadwire.interfaces.web.page_context import PageContext, PageResponse, render_page
from leadwire.interfaces.web.routes import action
from leadwire.interfaces.web.screens import account, inbox

_PATH: Final = "/unsubscribe/{token:str}"


@action("/account/notices", role="viewer", shown_on=account.account, audit="user.notices_changed")
async def choose(context: PageContext) -> PageResponse:
    kinds = context.form.all("kind")
    context.entry.subject, context.entry.detail = context.me.user_id, " ".join(kinds) or "none"
    await changes.choose(context.workspace, context.me.user_id, kinds)
    return context.redirect("/account", "Your choice of mails is saved.")


@action("/inbox/{conversation_id}/transcript", role="agent", shown_on=inbox.inbox, audit="conversation.transcript_sent")
async def send_transcript(context: PageContext, conversation_id: str) -> PageResponse:
    """Mail the conversation to its visitor."""
    await transcript.send(context.workspace, conversation_id)
    return context.redirect(f"/inbox?c={conversation_id}", "The transcript is on its way.")


@get(_PATH)
async def unsubscribe(request: Request[Any, Any, Any]) -> PageResponse:
    """Asks, because programs that check links open them: only a POST changes something."""
    *_, kind = links.opened(request.path_params["token"])
    return render_page(request, "public/unsubscribe.html", {"title": OFFERS[kind].title, "done": False})


@route(_PATH, http_method=HttpMethod.POST, status_code=200)
async def unsubscribed(request: Request[Any, Any, Any]) -> PageResponse:
    """The button, and the one click of RFC 8058: the link says it all, so the body is not read."""
    if not security.same_origin(request.headers):
        raise Forbidden("This request came from another site.")
    workspace, user_id, kind = links.opened(request.path_params["token"])
    await changes.unsubscribe(workspace, user_id, kind)
    return render_page(request, "public/unsubscribe.html", {"title": OFFERS[kind].title, "done": True})


OPEN: Final[list[HTTPRouteHandler]] = [unsubscribe, unsubscribed]
"""What mail programs and readers open without a sign-in."""
