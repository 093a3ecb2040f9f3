"""When a person is asked for and nobody is at the desk: the bot says so, and takes an e-mail address."""

import itertools
import re
from typing import Final

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.bots import capture
from leadwire.domain.bots.flow import Flow
from leadwire.domain.bots.schema import VisitorSession
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import MAX_MESSAGES, NewMessage, StoredMessage
from leadwire.domain.leads import identity
from leadwire.infrastructure import db

_AROUND: Final = re.compile(r"[\s<>()\[\],;:\"']+")  # what parts an address from the words around it
_LONGEST: Final = 254  # characters of an address
_TRIED: Final = 5  # words of one message

_KNOWN: Final = """
SELECT coalesce(l.email, c.visitor_email) IS NOT NULL, c.assigned_to IS NOT NULL, c.messages_count >= $3
FROM conversation c LEFT JOIN lead l ON l.id = c.lead_id WHERE c.workspace_id = $1 AND c.id = $2"""


async def replies(visit: VisitorSession, flow: Flow) -> list[StoredMessage]:
    """What the bot says to a visitor who waits for nobody, in the transaction of their turn. Nothing when somebody is
    there.
    """
    reachable, _, full = await _known(visit)
    if full or await accounts.agent_online(visit.workspace):  # full: that a person was asked for still counts
        return []
    text = flow.away_known_text if reachable else flow.away_text
    return await conversations.add_messages(
        visit.workspace, visit.conversation_id, [NewMessage(role="bot", content=text)]
    )


async def handle_message(visit: VisitorSession, flow: Flow, user: NewMessage) -> list[StoredMessage]:
    """Store what a visitor says while they wait. If that holds the address the bot has asked for, they are a lead.

    Raises Moved; Invalid and Conflict as `conversations.changes.speak`.
    """
    email = _address(user.content)
    reachable, taken, _ = await _known(visit)
    if email is None or reachable or taken:
        return await conversations.add_messages(visit.workspace, visit.conversation_id, [user])
    told = NewMessage(role="user", content=user.content, answers="email", client_message_id=user.client_message_id)
    thanks = NewMessage(role="bot", content=flow.away_thanks_text)
    spoken = await conversations.add_messages(visit.workspace, visit.conversation_id, [told, thanks])
    await capture.save_email(visit, flow, email)
    return spoken


async def _known(visit: VisitorSession) -> tuple[bool, bool, bool]:
    """Whether we know where to write to, whether somebody has the conversation, and whether it is full."""
    found = await db.row(_KNOWN, visit.workspace, visit.conversation_id, MAX_MESSAGES)
    return (found[0], found[1], found[2]) if found else (True, True, True)


def _address(text: str) -> str | None:
    # Words, not one expression for an address: strangers write this, and it must not take long whatever they write.
    like_one = (word for word in _AROUND.split(text) if word.count("@") == 1 and len(word) <= _LONGEST)
    for word in itertools.islice(like_one, _TRIED):
        try:
            return identity.email(word.rstrip(".!?"))
        except ValueError:
            continue
    return None
