"""What operators do in a conversation: claim it, assign it, reply, note, tag, give it back; and their saved replies.

`end_and_snooze` beside it ends and snoozes; `bots.visitors.runtime.hand_back` also lets the bot go on;
`visitor_sessions.block` of `bots.changes` blocks the visitor.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from leadwire.domain.accounts import quotas
from leadwire.domain.accounts import reads as accounts
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.schema import UserListed, has_role
from leadwire.domain.conversations import changes, pubsub, reads
from leadwire.domain.conversations.changes import seen
from leadwire.domain.conversations.schema import MAX_TEXT, AlreadyEnded, ConversationNotFound, NewMessage, StoredMessage
from leadwire.domain.conversations.table import ConversationNote, SavedReply
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import insert, named
from leadwire.infrastructure.errors import Conflict, FieldError, Forbidden, Invalid
from leadwire.infrastructure.unseen import UNSEEN, is_name

_MOST_REPLIES: Final = 100  # in a workspace
_LONGEST_NAME: Final = 60
_MOST_TAGS: Final = 20  # of a conversation
_LONGEST_TAG: Final = 40
_MENTION: Final = re.compile(r"(?<![\w@])@([\w.+-]+(?:@[\w-]+(?:\.[\w-]+)+)?)")

_LOCK, _ASSIGN, _LET_GO, _RESPONDED, _GIVE_BACK, _TAG, _TAGS, _BLANKED, _COUNT_REPLIES, _ADD_MENTION, _SAYS_SO = named(
    __file__, "lock assign let_go responded give_back tag tags blanked count_replies mention says_so"
)
_ADD_NOTE: Final = insert(*ConversationNote.all_columns())
_ADD_REPLY: Final = insert(*SavedReply.all_columns())


async def claim(workspace: str, conversation_id: str, user_id: str, *, held_by: str | None = None) -> None:
    """Take a conversation, also from the bot, or from the colleague `held_by` who has it now.

    Of two who try at once, one gets it. Raise ConversationNotFound, AlreadyEnded; Conflict `already_claimed` when
    another user has it; Forbidden when they answer visitors no more.
    """
    await _give(workspace, conversation_id, user_id, user_id, held_by, "taken over by an operator")


async def assign(
    workspace: str, conversation_id: str, user_id: str, to: str, *, held_by: str | None = None
) -> UserListed:
    """Give a conversation to somebody who answers visitors, who is returned. Raise as `claim`; Invalid."""
    return await _give(workspace, conversation_id, user_id, to, held_by, "assigned by an operator")


async def release(workspace: str, conversation_id: str, user_id: str) -> None:
    """Return a conversation to the queue. Raise as `claim`; Conflict when it is not this user's."""
    async with locked(workspace, conversation_id, user_id):
        await _ASSIGN.rows(workspace=workspace, id=conversation_id, user_id=None, now=clock.now())


async def reply(workspace: str, conversation_id: str, user_id: str, content: str, once: str = "") -> StoredMessage:
    """Reply to the visitor; that claims a conversation nobody has. Sent again under the same name `once`, it is the
    same reply. Raise as `claim`; Invalid.
    """
    once = once[:_LONGEST_NAME]
    message = NewMessage(role="agent", content=_text(content), user_id=user_id, client_message_id=once or None)
    async with _locked_for(workspace, conversation_id, user_id, user_id) as (_, status, holder):
        if once and (earlier := await reads.reply_to(workspace, conversation_id, once)):
            return earlier[0]
        with_bot = "The bot has this conversation: claim it first."
        await _check(workspace, status, holder, None, user_id, with_bot=with_bot)
        if holder is None:
            await _ASSIGN.rows(workspace=workspace, id=conversation_id, user_id=user_id, now=clock.now())
        (stored,) = await changes.add_messages(workspace, conversation_id, [message])
        await _RESPONDED.rows(workspace=workspace, id=conversation_id, at=clock.now())
        await seen.by_agent(workspace, conversation_id, user_id, stored.seq)
    return stored


async def note(workspace: str, conversation_id: str, user_id: str, content: str) -> list[UserListed]:
    """Add a note for the other operators. Return those whom it mentions: by `@` and their address, or the part of it
    before the `@`. The last one, sent again by whom it is, is the same note. Raise ConversationNotFound, Invalid;
    Conflict once what was said is no longer kept.
    """
    content, now = _text(content), clock.now()
    names = {name.rstrip(".-").lower() for name in _MENTION.findall(content)}
    people = [user for user in await accounts.users(workspace) if has_role(user.role, "agent")] if names else []
    mentioned = [person for person in people if {person.email.lower(), person.email.lower().partition("@")[0]} & names]
    others = [person for person in mentioned if person.id != user_id]
    async with locked(workspace, conversation_id):
        if await _SAYS_SO.value(workspace=workspace, id=conversation_id, user_id=user_id, content=content):
            return []
        await _check_kept(conversation_id)
        await _ADD_NOTE.rows(
            id=ids.new("note"), workspace_id=workspace, conversation_id=conversation_id, user_id=user_id,
            content=content, created_at=now, mentions=[person.id for person in mentioned],
        )  # fmt: skip
        if others:
            users = [other.id for other in others]
            await _ADD_MENTION.rows(workspace=workspace, id=conversation_id, users=users, at=now)
    return others


async def tag(workspace: str, conversation_id: str, text: str) -> None:
    """Add tags, with commas between them. Raise as `note`."""
    words = [" ".join(word.split()).lower() for word in text[: _MOST_TAGS * 100].split(",")]
    wanted = [word for word in words if word]
    if len(text) > _MOST_TAGS * 100 or any(len(word) > _LONGEST_TAG or UNSEEN.search(word) for word in wanted):
        raise Invalid(f"A tag has at most {_LONGEST_TAG} characters, a conversation at most {_MOST_TAGS} tags.")
    if not wanted:
        raise Invalid("Write a tag.")
    async with locked(workspace, conversation_id):
        await _check_kept(conversation_id)
        present = await _TAGS.value(workspace=workspace, id=conversation_id)
        tags = list(dict.fromkeys([*present, *wanted]))
        if len(tags) > _MOST_TAGS:
            raise Invalid(f"A conversation has at most {_MOST_TAGS} tags: remove one first.")
        await _TAG.rows(workspace=workspace, id=conversation_id, tags=tags)


async def untag(workspace: str, conversation_id: str, text: str) -> None:
    """Remove a tag. Raise ConversationNotFound."""
    async with locked(workspace, conversation_id):
        tags = await _TAGS.value(workspace=workspace, id=conversation_id)
        await _TAG.rows(workspace=workspace, id=conversation_id, tags=[tag for tag in tags if tag != text])


async def give_back(workspace: str, conversation_id: str, user_id: str) -> None:
    """Give the conversation back to the bot: handoff -> active. There is no event for it. Raise as `claim`."""
    async with locked(workspace, conversation_id, None, user_id, with_bot="The bot has it already."):
        await _GIVE_BACK.rows(workspace=workspace, id=conversation_id, now=clock.now())


async def add_reply(workspace: str, name: str, content: str) -> str:
    """Save a reply. Return its id. Raise Invalid; Conflict when the name is taken or there are 100."""
    name, content = name.strip(), content.replace("\r\n", "\n").strip()
    faults = []
    if not is_name(name, _LONGEST_NAME):
        faults.append(FieldError("wrong_length", f"1 to {_LONGEST_NAME} characters, on one line.", "/name"))
    if not 1 <= len(content) <= MAX_TEXT or "\0" in content:
        faults.append(FieldError("wrong_length", f"1 to {MAX_TEXT} characters.", "/content"))
    if faults:
        raise Invalid("This cannot be saved.", errors=tuple(faults))
    reply_id = ids.new("reply")
    full = Conflict(f"There are {_MOST_REPLIES} already: remove one first.", code="too_many")
    values = {"id": reply_id, "workspace_id": workspace, "name": name, "content": content, "created_at": clock.now()}
    try:
        async with db.transaction():
            await _ADD_REPLY.rows(**values)
            await quotas.at_most(workspace, _MOST_REPLIES, full, _COUNT_REPLIES)
    except db.UniqueViolation as error:
        raise Conflict(f"There is a reply called {name} already.", code="name_taken") from error
    return reply_id


@query("There is no such reply.")
async def remove_reply(workspace: str, reply_id: str) -> str:
    """Remove a saved reply. Return its name. Raise NotFound."""


async def _give(workspace: str, conversation_id: str, by: str, to: str, held_by: str | None, reason: str) -> UserListed:
    async with _locked_for(workspace, conversation_id, to, by, held_by, by) as (person, status, _):
        if status == "active":
            await changes.hand_off(workspace, conversation_id, reason)
        await _ASSIGN.rows(workspace=workspace, id=conversation_id, user_id=to, now=clock.now())
        return person


async def _let_go(workspace: str, user_id: str) -> None:
    """Return to the queue what somebody has who answers visitors no more."""
    for row in await _LET_GO.rows(workspace=workspace, user_id=user_id, now=clock.now()):
        pubsub.publish(workspace, row["id"])


team.LET_GO.append(_let_go)


@asynccontextmanager
async def _locked_for(
    workspace: str, conversation_id: str, to: str, by: str, *may: str | None
) -> AsyncIterator[tuple[UserListed, str, str | None]]:
    """Lock a conversation as `locked`, and before it, as `team` does, the person who is to have it.

    Raise as `locked`; where they do not answer visitors, Invalid, or Forbidden if it is they who ask.
    """
    async with db.transaction():
        person = await accounts.agent(workspace, to)
        async with locked(workspace, conversation_id, *may) as (status, holder):
            if person is None and to == by:
                raise Forbidden("You have just been removed, or do not answer visitors any more.")
            if person is None:
                raise Invalid("Choose somebody who answers visitors.")
            yield person, status, holder


@asynccontextmanager
async def locked(
    workspace: str, conversation_id: str, *may: str | None, with_bot: str = ""
) -> AsyncIterator[tuple[str, str | None]]:
    """Lock a conversation in a transaction: its status and who has it. Wakes watchers. Raise ConversationNotFound.

    With `may`, those of whom one may have it (None: nobody), raise AlreadyEnded; Conflict where another has it, and
    with the text `with_bot` while a bot does.
    """
    async with db.transaction():
        status, holder = await _LOCK.one(ConversationNotFound(), workspace=workspace, id=conversation_id)
        if may:
            await _check(workspace, status, holder, *may, with_bot=with_bot)
        yield status, holder
        pubsub.publish(workspace, conversation_id)


async def _check(workspace: str, status: str, holder: str | None, *may: str | None, with_bot: str = "") -> None:
    if status == "ended":
        raise AlreadyEnded
    if status == "active" and with_bot:
        raise Conflict(with_bot, code="not_in_handoff")
    if holder not in may:
        names = {person.id: person.called for person in await accounts.users(workspace)}
        whose = f"{names.get(holder or '', 'A colleague')} has this conversation."
        raise Conflict(whose if holder else "Nobody has this conversation yet.", code="already_claimed")


async def _check_kept(conversation_id: str) -> None:
    """The sweep of messages has been here, and does not come again."""
    if await _BLANKED.value(id=conversation_id):
        raise Conflict("What was said here is no longer kept: nothing can be added.", code="too_late")


def _text(content: str) -> str:
    content = content.strip()
    if not content or len(content) > MAX_TEXT or "\0" in content:
        raise Invalid(f"A text has 1 to {MAX_TEXT} characters.")
    return content
