"""When a person is asked for and nobody has the inbox open: the bot says so, and asks for an e-mail address."""

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
from leadwire.infrastructure.db.statements import sql

_AROUND: Final = re.compile(r"[\s<>()\[\],;:\"']+")  # what parts an address from the words around it
_LONGEST: Final = 254  # characters of an address
_TRIED: Final = 5  # words of one message

# Whether the visitor's address is known, whether somebody has claimed the conversation, and whether it is full.
_CONTACT: Final = sql("""
SELECT coalesce(l.email, c.visitor_email) IS NOT NULL, c.assigned_to IS NOT NULL, c.messages_count >= :most
FROM conversation c LEFT JOIN lead l ON l.id = c.lead_id WHERE c.workspace_id = :workspace AND c.id = :conversation""")


async def replies(session: VisitorSession, flow: Flow) -> list[StoredMessage]:
    """What the bot says to a visitor who waits while nobody has the inbox open, in the transaction of their turn."""
    reachable, _, full = await _contact(session)
    if full or await accounts.agent_online(session.workspace):  # full: that a person was asked for still counts
        return []
    text = flow.away_known_text if reachable else flow.away_text
    return await conversations.add_messages(*session.place, [NewMessage(role="bot", content=text)])


async def store_message(session: VisitorSession, flow: Flow, user: NewMessage) -> list[StoredMessage]:
    """Store a message of a visitor who waits. If it holds the e-mail address that the bot asked for, make them a lead.

    Raise ConcurrentUpdate; Invalid and Conflict as `conversations.changes.add_messages`.
    """
    email = _address(user.content)
    reachable, claimed, _ = await _contact(session)
    if email is None or reachable or claimed:
        return await conversations.add_messages(*session.place, [user])
    message = NewMessage(role="user", content=user.content, answers="email", client_message_id=user.client_message_id)
    thanks = NewMessage(role="bot", content=flow.away_thanks_text)
    messages = await conversations.add_messages(*session.place, [message, thanks])
    await capture.save_email(session, flow, email)
    return messages


async def _contact(session: VisitorSession) -> tuple[bool, bool, bool]:
    found = await _CONTACT.row(workspace=session.workspace, conversation=session.conversation_id, most=MAX_MESSAGES)
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
