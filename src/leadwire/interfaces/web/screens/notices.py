"""Which mails somebody gets, the link that ends them, what a visitor reads of their chat; Slack and Teams."""

from typing import Final

from leadwire.domain.notices import changes, reads
from leadwire.domain.notices.changes import addresses, transcript
from leadwire.domain.notices.schema import OFFERS, SERVICES, TO_ADDRESSES
from leadwire.infrastructure.errors import Forbidden
from leadwire.interfaces.http.routes import post
from leadwire.interfaces.web import security
from leadwire.interfaces.web.page_context import PageContext, PageResponse, render_page
from leadwire.interfaces.web.public_pages import Asked, Visit, open_page
from leadwire.interfaces.web.routes import Values, action, screen
from leadwire.interfaces.web.screens import account, inbox

_PATH: Final = "/unsubscribe/{token:str}"
_ADDRESSES: Final = "/notices"


@action("/account/notices", role="viewer", shown_on=account.account, audit="user.notices_changed")
async def choose(context: PageContext) -> str:
    kinds = context.form.chosen("kind", [offer.kind for offer, chosen in await reads.shown(context.me) if chosen])
    context.entry.subject, context.entry.detail = context.me.user_id, " ".join(kinds) or "none"
    await changes.choose(context.workspace, context.me.user_id, kinds)
    return "Your choice of mails is saved."


@action("/inbox/{conversation_id}/transcript", role="agent", shown_on=inbox.inbox, audit="conversation.transcript_sent")
async def send_transcript(context: PageContext, conversation_id: str) -> str:
    """Mail its visitor a link to the conversation."""
    await transcript.send(context.workspace, conversation_id)
    return "The transcript is on its way."


@screen(_ADDRESSES, "notices.html", role="admin")
async def listed(context: PageContext) -> Values:
    """Where the workspace is told, besides the mails that each person chooses."""
    return {"addresses": await reads.addresses(context.workspace), "services": SERVICES, "offers": TO_ADDRESSES}


@action(_ADDRESSES, shown_on=listed, confirmed=True, audit="notice_address.added")
async def add(context: PageContext) -> str:
    service = context.form.choice("service", SERVICES, "Choose Slack or Teams.")
    kinds = context.form.all("kind")
    address_id, host = await addresses.add(context.workspace, service, context.form.text("url"), kinds)
    context.entry.subject, context.entry.detail = address_id, f"{service} at {host}: {' '.join(kinds)}"
    return f"{SERVICES[service]} is added. Send a test."


@action(_ADDRESSES + "/{address_id}/test", shown_on=listed)
async def test(context: PageContext, address_id: str) -> str:
    """Shows what came back."""
    return await addresses.test(context.workspace, address_id)


@action(_ADDRESSES + "/{address_id}/remove", shown_on=listed, audit="notice_address.removed")
async def remove(context: PageContext, address_id: str) -> str:
    context.entry.detail = " at ".join(await addresses.remove(context.workspace, address_id))
    return "The address is removed. Nothing more is sent there."


@open_page(_PATH)
async def unsubscribe(visit: Visit) -> PageResponse:
    """Asks, because programs that check links open them: only a POST changes something."""
    *_, kind = reads.stopped_by(visit.token)
    return visit.render("public/unsubscribe.html", title=OFFERS[kind].title, done=False)


@post(_PATH)
async def unsubscribed(request: Asked) -> PageResponse:
    """The button, and the one click of RFC 8058: the link says it all, so the body is not read."""
    if not security.same_origin(request.headers):
        raise Forbidden("This request came from another site.")
    workspace, user_id, kind = reads.stopped_by(request.path_params["token"])
    await changes.unsubscribe(workspace, user_id, kind)
    return render_page(request, "public/unsubscribe.html", {"title": OFFERS[kind].title, "done": True})


@open_page("/transcript/{token:str}")
async def read_transcript(visit: Visit) -> PageResponse:
    """Text only: what a visitor typed may be an address, also where the bot repeats it."""
    return visit.render("public/transcript.html", **await reads.transcript(visit.token))
