"""What operators do in a conversation: claim it, reply, note, give it back, end it; and their saved replies.

`bots.runtime.hand_back` also lets the bot go on; `bots.changes.visitor_sessions.block` blocks the visitor.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.conversations import changes, pubsub
from leadwire.domain.conversations.schema import MAX_TEXT, AlreadyEnded, ConversationNotFound, NewMessage, StoredMessage
from leadwire.domain.conversations.table import Conversation, ConversationNote, SavedReply
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import insert, param, sql, statement
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid, NotFound

_MOST_REPLIES: Final = 100  # in a workspace
_LONGEST_NAME: Final = 60

_ONE: Final = (Conversation.workspace_id == param("workspace"), Conversation.id == param("id"))
_LOCK: Final = statement(Conversation.select(Conversation.status, Conversation.assigned_to).where(*_ONE), "FOR UPDATE")
_ASSIGN: Final = statement(Conversation.update(assigned_to=param("user_id"), assigned_at=param("at")).where(*_ONE))
_GIVE_BACK: Final = statement(
    Conversation.update(status="active", assigned_to=None, assigned_at=None, updated_at=param("now")).where(*_ONE)
)
_ADD_NOTE: Final = insert(*ConversationNote.all_columns())
# Adds a reply unless the workspace has as many as it may.
_ADD_REPLY: Final = sql("""
INSERT INTO saved_reply (id, workspace_id, name, content, created_at) SELECT :id, :workspace, :name, :content, :now
WHERE (SELECT count(*) FROM saved_reply WHERE workspace_id = :workspace) < :most RETURNING id""")
_REMOVE_REPLY: Final = statement(
    SavedReply.delete()
    .where(SavedReply.workspace_id == param("workspace"), SavedReply.id == param("id"))
    .returning(SavedReply.name)
)


async def claim(workspace: str, conversation_id: str, user_id: str, *, held_by: str | None = None) -> None:
    """Take a conversation, also from the bot, or from the colleague `held_by` who has it now.

    Of two who try at once, one gets it. Raise ConversationNotFound, AlreadyEnded; Conflict `already_claimed` when
    another user has it.
    """
    async with _locked(workspace, conversation_id) as (status, holder):
        await _check(workspace, status, holder, held_by, user_id)
        if status == "active":
            await changes.hand_off(workspace, conversation_id, "taken over by an operator")
        await _ASSIGN.rows(workspace=workspace, id=conversation_id, user_id=user_id, at=clock.now())


async def release(workspace: str, conversation_id: str, user_id: str) -> None:
    """Return a conversation to the queue. Raise as `claim`; Conflict when it is not this user's."""
    async with _locked(workspace, conversation_id) as (status, holder):
        await _check(workspace, status, holder, user_id)
        await _ASSIGN.rows(workspace=workspace, id=conversation_id, user_id=None, at=None)


async def reply(workspace: str, conversation_id: str, user_id: str, content: str) -> StoredMessage:
    """Reply to the visitor; that claims a conversation nobody has. Raise as `claim`; Invalid."""
    message = NewMessage(role="agent", content=_text(content), user_id=user_id)
    async with _locked(workspace, conversation_id) as (status, holder):
        with_bot = "The bot has this conversation: claim it first."
        await _check(workspace, status, holder, None, user_id, with_bot=with_bot)
        if holder is None:
            await _ASSIGN.rows(workspace=workspace, id=conversation_id, user_id=user_id, at=clock.now())
        (stored,) = await changes.add_messages(workspace, conversation_id, [message])
    return stored


async def note(workspace: str, conversation_id: str, user_id: str, content: str) -> None:
    """Add a note for the other operators, at any time. Raise ConversationNotFound, Invalid."""
    values = {"user_id": user_id, "content": _text(content), "mentions": [], "created_at": clock.now()}
    async with _locked(workspace, conversation_id):
        await _ADD_NOTE.rows(id=ids.new("note"), workspace_id=workspace, conversation_id=conversation_id, **values)


async def give_back(workspace: str, conversation_id: str, user_id: str) -> None:
    """Give the conversation back to the bot: handoff -> active. There is no event for it. Raise as `claim`."""
    async with _locked(workspace, conversation_id) as (status, holder):
        await _check(workspace, status, holder, None, user_id, with_bot="The bot has it already.")
        await _GIVE_BACK.rows(workspace=workspace, id=conversation_id, now=clock.now())


async def end(workspace: str, conversation_id: str, user_id: str) -> None:
    """End the conversation, unless another operator has it. Raise as `claim`."""
    async with _locked(workspace, conversation_id) as (status, holder):
        if status == "handoff":
            await _check(workspace, status, holder, None, user_id)
        await changes.end(workspace, conversation_id, "agent", "closed by an operator")


async def add_reply(workspace: str, name: str, content: str) -> str:
    """Save a reply. Return its id. Raise Invalid; Conflict when the name is taken or there are 100."""
    name, content = name.strip(), content.replace("\r\n", "\n").strip()
    faults = []
    if not 1 <= len(name) <= _LONGEST_NAME:
        faults.append(FieldError("wrong_length", f"1 to {_LONGEST_NAME} characters.", "/name"))
    if not 1 <= len(content) <= MAX_TEXT or "\0" in content:
        faults.append(FieldError("wrong_length", f"1 to {MAX_TEXT} characters.", "/content"))
    if faults:
        raise Invalid("This cannot be saved.", errors=tuple(faults))
    values = {"id": ids.new("reply"), "workspace": workspace, "name": name, "content": content, "now": clock.now()}
    try:
        reply_id: str | None = await _ADD_REPLY.value(**values, most=_MOST_REPLIES)
    except db.UniqueViolation as error:
        raise Conflict(f"There is a reply called {name} already.", code="name_taken") from error
    if reply_id is None:
        raise Conflict(f"There are {_MOST_REPLIES} already: remove one first.", code="too_many")
    return reply_id


async def remove_reply(workspace: str, reply_id: str) -> str:
    """Remove a saved reply. Return its name. Raise NotFound."""
    removed = await _REMOVE_REPLY.one(NotFound("There is no such reply."), workspace=workspace, id=reply_id)
    return str(removed["name"])


@asynccontextmanager
async def _locked(workspace: str, conversation_id: str) -> AsyncIterator[tuple[str, str | None]]:
    """Lock a conversation in a transaction: its status and who has it. Wakes watchers. Raise ConversationNotFound."""
    async with db.transaction():
        status, holder = await _LOCK.one(ConversationNotFound(), workspace=workspace, id=conversation_id)
        yield status, holder
        pubsub.publish(workspace, conversation_id)


async def _check(workspace: str, status: str, holder: str | None, *may: str | None, with_bot: str = "") -> None:
    """Raise AlreadyEnded; Conflict unless `holder` is one of `may`, and with the text `with_bot` while a bot has it."""
    if status == "ended":
        raise AlreadyEnded
    if status == "active" and with_bot:
        raise Conflict(with_bot, code="not_in_handoff")
    if holder not in may:
        emails = {person.id: person.email for person in await accounts.users(workspace)}
        whose = (
            f"{emails.get(holder, 'A colleague')} has this conversation."
            if holder
            else "Nobody has this conversation yet."
        )
        raise Conflict(whose, code="already_claimed")


def _text(content: str) -> str:
    content = content.strip()
    if not content or len(content) > MAX_TEXT or "\0" in content:
        raise Invalid(f"A text has 1 to {MAX_TEXT} characters.")
    return content
