"""A conversation as a mail to its visitor: to the address of its own lead only, and a few times a day.

Where the visitor asks, it is no way to write to strangers: the address must have been given in this very conversation,
one network gets few, and links that the visitor gave are left out, wherever they are repeated.
"""

from typing import Any, Final

from leadwire.domain.conversations import reads as conversations
from leadwire.domain.conversations.schema import ConversationDetail
from leadwire.domain.leads.schema import custom_fields
from leadwire.domain.mail import changes as mail
from leadwire.domain.notices import reads
from leadwire.domain.notices.strangers_links import Links
from leadwire.infrastructure import clock, cpu_work, db
from leadwire.infrastructure.errors import Conflict
from leadwire.infrastructure.rate_limit import RateLimit

_DAY: Final = 86_400
_LONGEST: Final = 200_000  # characters
_OF_CONVERSATION: Final = RateLimit("transcripts", 3, window=_DAY, shared=True)
_TO_ADDRESS: Final = RateLimit("transcripts to", 5, window=_DAY, shared=True)
_FROM_NETWORK: Final = RateLimit("transcripts from", 5, window=_DAY, shared=True)
_NAMES: Final = {"bot": "Assistant", "agent": "Team"}


async def send(workspace: str, conversation_id: str, *, network: str | None = None) -> str:
    """Mail a conversation to its lead. Return the address. `network` is that of a visitor who asks for it themselves.

    Raise ConversationNotFound; Conflict `no_address`, `too_many`, and `not_sent` where mail is not sent to the address.
    """
    conversation = await conversations.detail(workspace, conversation_id)
    to = conversation.lead.email if conversation.lead else None
    own = conversation.visitor.email
    if to is None or (network is not None and (own is None or own.lower() != to.lower())):
        raise Conflict("No e-mail address was given in this conversation.", code="no_address")
    limits = [(_OF_CONVERSATION, conversation_id), (_TO_ADDRESS, f"{workspace} {to.lower()}")]
    limits += [(_FROM_NETWORK, network)] if network is not None else []
    for limit, name in limits:
        if not await limit.take_at_once(name):
            raise Conflict("It was sent several times today. Try again tomorrow.", code="too_many")
    said = _said(conversation) if network is None else await cpu_work.run(_said, conversation, to)
    async with db.transaction():
        values: dict[str, Any] = {"began": f"{clock.parse(conversation.created_at):%d %B %Y, %H:%M} UTC"}
        values |= {"workspace": await reads.name(workspace), **said}
        if not await mail.queue(workspace, "transcript", to, values, about=conversation_id):
            raise Conflict("No mail is sent to this address.", code="not_sent")
    return to


def _links(conversation: ConversationDetail, to: str) -> Links:
    lead = conversation.lead
    known = [lead.name, lead.company, lead.phone, *custom_fields(lead).values()] if lead else []
    said = [message.content for message in conversation.messages if message.role == "user"]
    return Links(to, [*said, *(one for one in known if isinstance(one, str))])


def _said(conversation: ConversationDetail, asks: str = "") -> dict[str, Any]:
    """What was said, by whom, each in one line; the newest, where it is long. Without the links of a visitor who asks
    for it, to this address.
    """
    links = _links(conversation, asks) if asks else None
    said: list[dict[str, str]] = []
    size = 0
    for message in reversed(conversation.messages):
        text = " ".join(message.content.split())
        if links:
            text = links.out_of(text, own=message.role == "user")
        size += len(text)
        if size > _LONGEST:
            break
        said.append({"who": _NAMES.get(message.role, "You"), "text": text})
    return {"said": said[::-1], "cut": size > _LONGEST}
