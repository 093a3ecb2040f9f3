"""What the inbox shows: open conversations, the notes of one, and saved replies."""

from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

from leadwire.domain.conversations.table import ConversationNote, SavedReply
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import param, sql, statement

_MOST: Final = 100  # of each status

Place = Literal["waiting", "mine", "theirs", "bot"]

# The newest open conversations of each status, with the visitor's name and the last message.
_THREADS: Final = sql(f"""
SELECT c.id, c.bot_id, coalesce(l.name, l.email, c.visitor_name, c.visitor_email) AS name,
    CASE WHEN c.status = 'active' THEN 'bot' WHEN c.assigned_to IS NULL THEN 'waiting'
        WHEN c.assigned_to = :user_id THEN 'mine' ELSE 'theirs' END AS place,
    c.assigned_to, coalesce(c.handoff_requested_at, c.created_at) AS since, last.role, left(last.content, 160),
    last.created_at, last.user_id
FROM (
    (SELECT * FROM conversation WHERE workspace_id = :workspace AND status = 'handoff'
        ORDER BY created_at DESC, id DESC LIMIT {_MOST})
    UNION ALL
    (SELECT * FROM conversation WHERE workspace_id = :workspace AND status = 'active'
        ORDER BY created_at DESC, id DESC LIMIT {_MOST})
) AS c
LEFT JOIN lead l ON l.id = c.lead_id
LEFT JOIN LATERAL (SELECT m.role, m.content, m.created_at, m.user_id FROM message m WHERE m.conversation_id = c.id
    ORDER BY m.conversation_id DESC, m.seq DESC LIMIT 1) AS last ON true""")


class Thread(Struct, frozen=True):
    """One open conversation. `last_user_id` is the operator who wrote the last message, if one did."""

    id: str
    bot_id: str
    name: str | None
    place: Place
    assigned_to: str | None
    since: datetime
    last_role: str | None
    last_message: str | None
    last_at: datetime | None
    last_user_id: str | None

    @property
    def unanswered(self) -> bool:
        """Whether the last message is the visitor's, and no bot will answer it."""
        return self.last_role == "user" and self.place != "bot"


_NOTES: Final = statement(
    ConversationNote.select("id", "user_id", "content", "created_at")
    .where(
        ConversationNote.workspace_id == param("workspace"),
        ConversationNote.conversation_id == param("conversation_id"),
    )
    .order_by("created_at", "id")
)
_REPLIES: Final = statement(
    SavedReply.select("id", "name", "content").where(SavedReply.workspace_id == param("workspace")),
    "ORDER BY lower(name), id",
)


async def threads(workspace: str, user_id: str) -> dict[Place, list[Thread]]:
    """Return open conversations by place: `waiting` the longest wait first, the others the last message first."""
    found = [Thread(*row) for row in await _THREADS.rows(workspace=workspace, user_id=user_id)]
    places: dict[Place, list[Thread]] = {"waiting": [], "mine": [], "theirs": [], "bot": []}
    for thread in sorted(found, key=lambda one: one.last_at or one.since, reverse=True):
        places[thread.place].append(thread)
    places["waiting"].sort(key=lambda one: one.since)
    return places


async def notes(workspace: str, conversation_id: str) -> list[db.Row]:
    """Return the notes of a conversation, oldest first. They are never part of an event or of /v1."""
    return await _NOTES.rows(workspace=workspace, conversation_id=conversation_id)


async def saved_replies(workspace: str) -> list[db.Row]:
    """Return the saved replies, each with `id`, `name`, `content`, by name."""
    return await _REPLIES.rows(workspace=workspace)


def fill_in(content: str, name: str | None) -> str:
    """Return a saved reply for a visitor called `name`; without one, `{{name}}` and the space or comma before it go."""
    if name:
        return content.replace("{{name}}", name)
    return content.replace(", {{name}}", "").replace(" {{name}}", "").replace("{{name}}", "")
