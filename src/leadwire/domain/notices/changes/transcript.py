"""A link to a conversation, mailed to its visitor: to the address of its own lead only, and a few times a day.

Where the visitor asks, it is no way to write to strangers: the address must have been given in this very conversation,
one network gets few, and nothing that anybody said is in the mail.
"""

from typing import Any, Final

from leadwire.domain.accounts import tickets
from leadwire.domain.conversations import reads as conversations
from leadwire.domain.conversations.changes import erasing
from leadwire.domain.conversations.schema import ConversationDetail
from leadwire.domain.mail import changes as mail
from leadwire.domain.notices import reads
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Conflict
from leadwire.infrastructure.rate_limit import RateLimit

_DAY: Final = 86_400
_LIFE: Final = 30  # days
_OF_CONVERSATION: Final = RateLimit("transcripts", 3, window=_DAY, shared=True)
_TO_ADDRESS: Final = RateLimit("transcripts to", 5, window=_DAY, shared=True)
_FROM_NETWORK: Final = RateLimit("transcripts from", 5, window=_DAY, shared=True)


async def send(workspace: str, conversation_id: str, *, network: str | None = None) -> str:
    """Mail a link to what was said until now. Return the address. `network` is that of a visitor who asks themselves.

    Raise ConversationNotFound; Conflict `no_address`, `too_many`, and `not_sent` where mail is not sent to the address.
    """
    lead_id, to, conversation = await _addressed(workspace, conversation_id, asks=network is not None)
    limits = [(_OF_CONVERSATION, conversation_id), (_TO_ADDRESS, f"{workspace} {to.lower()}")]
    limits += [(_FROM_NETWORK, network)] if network is not None else []
    for limit, name in limits:
        if not await limit.take_at_once(name):
            raise Conflict("It was sent several times today. Try again tomorrow.", code="too_many")
    about = f"{conversation_id} {len(conversation.messages)}"
    path = f"/transcript/{tickets.sealed(reads.TRANSCRIPT, workspace, about, _LIFE * _DAY)}"
    values: dict[str, Any] = {"path": path, "days": _LIFE, "began": reads.began(conversation)}
    async with db.transaction():
        await erasing.lock_of_lead(workspace, lead_id)
        _, to, _ = await _addressed(workspace, conversation_id, asks=network is not None)  # not erased meanwhile
        values["workspace"] = await reads.name(workspace)
        if not await mail.queue(workspace, "transcript", to, values, about=conversation_id):
            raise Conflict("No mail is sent to this address.", code="not_sent")
    return to


async def _addressed(workspace: str, conversation_id: str, *, asks: bool) -> tuple[str, str, ConversationDetail]:
    """The lead, their address, and what was said. A visitor who `asks` has given that address here."""
    conversation = await conversations.detail(workspace, conversation_id)
    lead, own = conversation.lead, conversation.visitor.email
    if lead is None or lead.email is None or (asks and (own or "").lower() != lead.email.lower()):
        raise Conflict("No e-mail address was given in this conversation.", code="no_address")
    return lead.id, lead.email, conversation
