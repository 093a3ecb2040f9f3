"""What operators do in a conversation: claim it, answer, note, give it back, end it.

`bots.runtime.hand_back` also lets the bot go on; `bots.changes.visitor_sessions.block` blocks the visitor.
"""

from typing import Final

from msgspec import Struct

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.conversations import changes, pubsub, refusals
from leadwire.domain.conversations.schema import MAX_TEXT, NewMessage, StoredMessage
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import Conflict, Invalid

_CLAIM: Final = """
UPDATE conversation SET assigned_to = $3, assigned_at = $5
WHERE workspace_id = $1 AND id = $2 AND status = 'handoff' AND (assigned_to IS NOT DISTINCT FROM $4 OR assigned_to = $3)
RETURNING id"""


class Note(Struct, frozen=True):
    """What an operator wrote for the others. Never part of an event or of /v1."""

    id: str
    user_id: str
    content: str
    created_at: str


async def claim(workspace: str, conversation_id: str, user_id: str, *, held_by: str | None = None) -> None:
    """Take a conversation, also from the bot, or from the colleague `held_by` who has it now.

    A compare-and-set: of two who try at once, one gets it. Raises NotFound; Conflict `already_claimed` when somebody
    else has it, `conversation_ended`.
    """
    async with db.transaction():
        status, _ = await _held(workspace, conversation_id)
        if status == "active":
            await changes.hand_off(workspace, conversation_id, "taken over by an operator")
        if await db.value(_CLAIM, workspace, conversation_id, user_id, held_by, clock.now()) is None:
            status, holder = await _held(workspace, conversation_id)
            raise refusals.ended() if status == "ended" else await _claimed(workspace, holder)
        pubsub.publish(workspace, conversation_id)


async def release(workspace: str, conversation_id: str, user_id: str) -> None:
    """Put a conversation back into the queue. Raises NotFound; Conflict when it is not this user's."""
    async with db.transaction():
        status, holder = await _held(workspace, conversation_id)
        if status != "handoff" or holder != user_id:
            raise refusals.ended() if status == "ended" else await _claimed(workspace, holder)
        await _assign(workspace, conversation_id, None)


async def reply(workspace: str, conversation_id: str, user_id: str, content: str) -> StoredMessage:
    """Answer the visitor; that claims a conversation nobody has. Raises NotFound, Invalid, Conflict."""
    content = _text(content)
    async with db.transaction():
        status, holder = await _held(workspace, conversation_id)
        if status == "ended":
            raise refusals.ended()
        if status == "active":
            raise Conflict("The bot has this conversation: claim it first.", code="not_in_handoff")
        if holder is None:
            await _assign(workspace, conversation_id, user_id)
        elif holder != user_id:
            raise await _claimed(workspace, holder)
        message = NewMessage(role="agent", content=content, user_id=user_id)
        (said,) = await changes.add_messages(workspace, conversation_id, [message])
    return said


async def note(workspace: str, conversation_id: str, user_id: str, content: str) -> Note:
    """Write something for the other operators, at any time. Raises NotFound, Invalid."""
    content, now = _text(content), clock.now()
    async with db.transaction():
        await _held(workspace, conversation_id)
        written = Note(ids.new("note"), user_id, content, clock.iso(now))
        await db.rows(
            """INSERT INTO conversation_note (id, workspace_id, conversation_id, user_id, content, created_at)
               VALUES ($1, $2, $3, $4, $5, $6)""",
            written.id, workspace, conversation_id, user_id, content, now,
        )  # fmt: skip
        pubsub.publish(workspace, conversation_id)
    return written


async def notes(workspace: str, conversation_id: str) -> list[Note]:
    """What operators wrote about a conversation, oldest first."""
    found = await db.rows(
        """SELECT id, user_id, content, created_at FROM conversation_note
           WHERE workspace_id = $1 AND conversation_id = $2 ORDER BY created_at, id""",
        workspace, conversation_id,
    )  # fmt: skip
    return [Note(note_id, user_id, content, clock.iso(at)) for note_id, user_id, content, at in found]


async def give_back(workspace: str, conversation_id: str, user_id: str) -> None:
    """Let the bot go on: handoff -> active. No event kind tells it. Raises NotFound, Conflict."""
    async with db.transaction():
        status, holder = await _held(workspace, conversation_id)
        if status != "handoff":
            raise refusals.ended() if status == "ended" else Conflict("The bot has it already.", code="not_in_handoff")
        if holder not in (None, user_id):
            raise await _claimed(workspace, holder)
        await db.rows(
            """UPDATE conversation SET status = 'active', assigned_to = NULL, assigned_at = NULL, updated_at = $3
               WHERE workspace_id = $1 AND id = $2""",
            workspace, conversation_id, clock.now(),
        )  # fmt: skip
        pubsub.publish(workspace, conversation_id)


async def end(workspace: str, conversation_id: str, user_id: str) -> None:
    """Close the conversation as the operator who has it, or whom nobody else keeps from it. Raises as `give_back`."""
    async with db.transaction():
        status, holder = await _held(workspace, conversation_id)
        if status == "handoff" and holder not in (None, user_id):
            raise await _claimed(workspace, holder)
        await changes.end(workspace, conversation_id, "agent", "closed by an operator")


async def _held(workspace: str, conversation_id: str) -> tuple[str, str | None]:
    """The status and who has it, its row locked. Raises NotFound."""
    found = await db.row(
        "SELECT status, assigned_to FROM conversation WHERE workspace_id = $1 AND id = $2 FOR UPDATE",
        workspace, conversation_id,
    )  # fmt: skip
    if found is None:
        raise refusals.unknown()
    return found["status"], found["assigned_to"]


async def _assign(workspace: str, conversation_id: str, user_id: str | None) -> None:
    await db.rows(
        """UPDATE conversation
           SET assigned_to = $3, assigned_at = CASE WHEN $3::text IS NOT NULL THEN $4::timestamptz END
           WHERE workspace_id = $1 AND id = $2""",
        workspace, conversation_id, user_id, clock.now(),
    )  # fmt: skip
    pubsub.publish(workspace, conversation_id)


def _text(content: str) -> str:
    content = content.strip()
    if not content or len(content) > MAX_TEXT or "\0" in content:
        raise Invalid(f"A text has 1 to {MAX_TEXT} characters.")
    return content


async def _claimed(workspace: str, holder: str | None) -> Conflict:
    if holder is None:
        return Conflict("Nobody has this conversation yet.", code="already_claimed")
    names = {person.id: person.email for person in await accounts.users(workspace)}
    return Conflict(f"{names.get(holder, 'A colleague')} has this conversation.", code="already_claimed")
