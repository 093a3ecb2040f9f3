"""What operators do in a conversation: claim it, reply, note, give it back, end it.

`bots.runtime.hand_back` also lets the bot go on; `bots.changes.visitor_sessions.block` blocks the visitor.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.conversations import pubsub
from leadwire.domain.conversations.changes import lifecycle, messages
from leadwire.domain.conversations.inbox import Note
from leadwire.domain.conversations.schema import MAX_TEXT, AlreadyEnded, ConversationNotFound, NewMessage, StoredMessage
from leadwire.domain.conversations.table import Conversation, ConversationNote
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import insert, param, sql, statement
from leadwire.infrastructure.errors import Conflict, Invalid

_ONE: Final = (Conversation.workspace_id == param("workspace"), Conversation.id == param("id"))
_LOCK: Final = statement(Conversation.select(Conversation.status, Conversation.assigned_to).where(*_ONE), "FOR UPDATE")
# Assigns a conversation that nobody has, or `held_by`, or the user already.
_CLAIM: Final = sql("""
UPDATE conversation SET assigned_to = :user_id, assigned_at = :now
WHERE workspace_id = :workspace AND id = :id AND status = 'handoff'
  AND (assigned_to IS NOT DISTINCT FROM :held_by OR assigned_to = :user_id)
RETURNING id""")
_ASSIGN: Final = statement(Conversation.update(assigned_to=param("user_id"), assigned_at=param("at")).where(*_ONE))
_GIVE_BACK: Final = statement(
    Conversation.update(status="active", assigned_to=None, assigned_at=None, updated_at=param("now")).where(*_ONE)
)
_ADD_NOTE: Final = insert(*ConversationNote._meta.columns)


async def claim(workspace: str, conversation_id: str, user_id: str, *, held_by: str | None = None) -> None:
    """Take a conversation, also from the bot, or from the colleague `held_by` who has it now.

    A compare-and-set: of two who try at once, one gets it. Raise ConversationNotFound, AlreadyEnded; Conflict
    `already_claimed` when another user has it.
    """
    async with _locked(workspace, conversation_id) as (status, _):
        if status == "active":
            await lifecycle.hand_off(workspace, conversation_id, "taken over by an operator")
        place = {"workspace": workspace, "id": conversation_id}
        if not await _CLAIM.row(**place, user_id=user_id, held_by=held_by, now=clock.now()):
            present, holder = await _LOCK.one(ConversationNotFound(), **place)
            raise AlreadyEnded if present == "ended" else await _claimed(workspace, holder)


async def release(workspace: str, conversation_id: str, user_id: str) -> None:
    """Return a conversation to the queue. Raise as `claim`; Conflict when it is not this user's."""
    async with _locked(workspace, conversation_id) as (status, holder):
        if status != "handoff" or holder != user_id:
            raise AlreadyEnded if status == "ended" else await _claimed(workspace, holder)
        await _ASSIGN.rows(workspace=workspace, id=conversation_id, user_id=None, at=None)


async def reply(workspace: str, conversation_id: str, user_id: str, content: str) -> StoredMessage:
    """Reply to the visitor; that claims a conversation nobody has. Raise as `claim`; Invalid."""
    content = _text(content)
    async with _locked(workspace, conversation_id) as (status, holder):
        if status == "ended":
            raise AlreadyEnded
        if status == "active":
            raise Conflict("The bot has this conversation: claim it first.", code="not_in_handoff")
        if holder is None:
            await _ASSIGN.rows(workspace=workspace, id=conversation_id, user_id=user_id, at=clock.now())
        elif holder != user_id:
            raise await _claimed(workspace, holder)
        message = NewMessage(role="agent", content=content, user_id=user_id)
        (stored,) = await messages.add_messages(workspace, conversation_id, [message])
    return stored


async def note(workspace: str, conversation_id: str, user_id: str, content: str) -> Note:
    """Add a note for the other operators, at any time. Raise ConversationNotFound, Invalid."""
    now = clock.now()
    added = Note(ids.new("note"), user_id, _text(content), clock.iso(now))
    async with _locked(workspace, conversation_id):
        place = {"workspace_id": workspace, "conversation_id": conversation_id}
        await _ADD_NOTE.rows(id=added.id, **place, user_id=user_id, content=added.content, created_at=now)
    return added


async def give_back(workspace: str, conversation_id: str, user_id: str) -> None:
    """Give the conversation back to the bot: handoff -> active. There is no event for it. Raise as `claim`."""
    async with _locked(workspace, conversation_id) as (status, holder):
        if status == "ended":
            raise AlreadyEnded
        if status == "active":
            raise Conflict("The bot has it already.", code="not_in_handoff")
        if holder not in (None, user_id):
            raise await _claimed(workspace, holder)
        await _GIVE_BACK.rows(workspace=workspace, id=conversation_id, now=clock.now())


async def end(workspace: str, conversation_id: str, user_id: str) -> None:
    """End the conversation, unless another operator has it. Raise as `claim`."""
    async with _locked(workspace, conversation_id) as (status, holder):
        if status == "handoff" and holder not in (None, user_id):
            raise await _claimed(workspace, holder)
        await lifecycle.end(workspace, conversation_id, "agent", "closed by an operator")


@asynccontextmanager
async def _locked(workspace: str, conversation_id: str) -> AsyncIterator[tuple[str, str | None]]:
    """Lock a conversation in a transaction: its status and who has it. Wakes watchers. Raise ConversationNotFound."""
    async with db.transaction():
        status, holder = await _LOCK.one(ConversationNotFound(), workspace=workspace, id=conversation_id)
        yield status, holder
        pubsub.publish(workspace, conversation_id)


def _text(content: str) -> str:
    content = content.strip()
    if not content or len(content) > MAX_TEXT or "\0" in content:
        raise Invalid(f"A text has 1 to {MAX_TEXT} characters.")
    return content


async def _claimed(workspace: str, holder: str | None) -> Conflict:
    if holder is None:
        return Conflict("Nobody has this conversation yet.", code="already_claimed")
    emails = {person.id: person.email for person in await accounts.users(workspace)}
    return Conflict(f"{emails.get(holder, 'A colleague')} has this conversation.", code="already_claimed")
