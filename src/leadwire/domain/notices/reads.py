"""Who is told what, and what has happened since they were told last. Rows are for the texts of mails.

What is looked for over all workspaces is behind an index that holds only endpoints in trouble and visitors who wait.
"""

import base64
from typing import Final

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.accounts import tickets
from leadwire.domain.accounts.schema import Person
from leadwire.domain.conversations import reads as conversations
from leadwire.domain.conversations.schema import ConversationDetail, ConversationNotFound
from leadwire.domain.mail import reads as mail
from leadwire.domain.notices.schema import OFFERS, Address, Kind, Offer, by_default
from leadwire.domain.notices.table import NoticeChoice
from leadwire.infrastructure import clock, db, ids, secret_box
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import load
from leadwire.infrastructure.errors import NotFound, OperatorError

_STOP: Final = "unsubscribe"  # the purpose of a link that stops mails: nothing else that is sealed is taken for one
TRANSCRIPT: Final = "transcript"
"""The purpose of a link to what was said."""
_WHO: Final = {"bot": "Assistant", "agent": "Team", "user": "You"}

_RECIPIENTS: Final = load(__file__)["recipients"]
_WORKSPACES: Final = {kind: load(__file__)[f"workspaces_{kind}"] for kind in ("endpoints", "waiting", "dead_letters")}
_NEWS: Final = {kind: load(__file__)[f"news_{kind}"] for kind in _WORKSPACES}


async def shown(me: Person) -> list[tuple[Offer, bool]]:
    """What somebody can choose, and whether they get it; nothing where no mail is sent."""
    if not mail.enabled():
        return []
    own = (NoticeChoice.workspace_id == me.workspace, NoticeChoice.user_id == me.user_id)
    row = await NoticeChoice.select(NoticeChoice.kinds).where(*own).first()
    kinds = row["kinds"] if row else by_default(me.role)
    return [(offer, offer.kind in kinds) for offer in OFFERS.values() if me.role in offer.roles]


def stop_path(workspace: str, user_id: str, kind: Kind) -> str:
    """Where somebody stops one kind of notice: without a sign-in, and nobody else can make such a link."""
    sealed = secret_box.get().seal(f"{_STOP} {workspace} {user_id} {kind}")
    return f"/unsubscribe/{base64.urlsafe_b64encode(sealed).decode().rstrip('=')}"


def stopped_by(token: str) -> tuple[str, str, Kind]:
    """The workspace, the person and the kind that a link is about. Raise NotFound for one that we did not make."""
    try:
        sealed = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        purpose, workspace, user_id, kind = secret_box.get().open(sealed).split(" ")
    except (ValueError, OperatorError):
        purpose = kind = ""
    for offer in OFFERS:
        if (purpose, kind) == (_STOP, offer):
            return workspace, user_id, offer
    raise NotFound("This link is not complete, or too old. Choose your mails under Your account.")


@query()
async def addresses(workspace: str) -> list[Address]:
    """The addresses at Slack and Teams of a workspace."""


async def due(kind: Kind) -> list[str]:
    """The workspaces that had no mail of the kind for a while, and where there is something to tell."""
    return [row["id"] for row in await _WORKSPACES[kind].rows(pause=OFFERS[kind].pause, **_bounds(kind))]


async def news(workspace: str, kind: Kind) -> list[db.Row]:
    """What people have not been told yet; of dead letters, those between the mail before and the one being written."""
    return await _NEWS[kind].rows(workspace=workspace, **_bounds(kind))


@query()
async def name(workspace: str) -> str:
    """What a workspace is called."""


def began(conversation: ConversationDetail) -> str:
    """When a conversation began, for people."""
    return f"{clock.parse(conversation.created_at):%d %B %Y, %H:%M} UTC"


async def transcript(ticket: str) -> dict[str, object]:
    """What was said in a conversation when the link to it was mailed, for its page.

    Raise ConversationNotFound for a link that we did not make or that is too old, and when the lead was deleted;
    DomainError while the workspace is closed.
    """
    workspace, about = tickets.opened(TRANSCRIPT, ticket)
    conversation_id, _, count = about.partition(" ")
    if await accounts.suspended([workspace]):
        raise await accounts.why_closed(workspace)
    conversation = await conversations.detail(workspace, conversation_id)
    if conversation.lead is None:
        raise ConversationNotFound
    said = [(_WHO[message.role], message.content) for message in conversation.messages[: int(count)]]
    return {"workspace": await name(workspace), "began": began(conversation), "said": said}


async def recipients(workspace: str, offer: Offer) -> list[db.Row]:
    """The people of a workspace who get a kind of notice."""
    return await _RECIPIENTS.rows(workspace=workspace, kind=offer.kind, roles=offer.roles, defaults=offer.defaults)


def _bounds(kind: Kind) -> dict[str, str]:
    """The first event whose dead letters are counted."""
    return {"first": ids.floor("evt", clock.ago(days=3))} if kind == "dead_letters" else {}
