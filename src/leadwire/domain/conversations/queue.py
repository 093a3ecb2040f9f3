"""What the inbox lists: who waits for a person, whom I talk to, and who is with the bot just now."""

from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

from leadwire.infrastructure import db

_MOST: Final = 100  # of each kind

Place = Literal["waiting", "mine", "theirs", "bot"]

_THREADS: Final = """
SELECT c.id, c.bot_id, coalesce(l.name, l.email, c.visitor_name, c.visitor_email) AS name,
    CASE WHEN c.status = 'active' THEN 'bot' WHEN c.assigned_to IS NULL THEN 'waiting'
        WHEN c.assigned_to = $2 THEN 'mine' ELSE 'theirs' END AS place,
    c.assigned_to, coalesce(c.handoff_requested_at, c.created_at) AS since, said.role, left(said.content, 160), said.at,
    said.user_id
FROM (
    (SELECT * FROM conversation WHERE workspace_id = $1 AND status = 'handoff'
        ORDER BY created_at DESC, id DESC LIMIT $3)
    UNION ALL
    (SELECT * FROM conversation WHERE workspace_id = $1 AND status = 'active'
        ORDER BY created_at DESC, id DESC LIMIT $3)
) AS c
LEFT JOIN lead l ON l.id = c.lead_id
LEFT JOIN LATERAL (SELECT m.role, m.content, m.created_at AS at, m.user_id FROM message m WHERE m.conversation_id = c.id
    ORDER BY m.conversation_id DESC, m.seq DESC LIMIT 1) AS said ON true"""


class Thread(Struct, frozen=True):
    """One open conversation. `role`, `said`, `at` and `said_by` (a user's id) are of what was said last."""

    id: str
    bot_id: str
    name: str | None
    place: Place
    assigned_to: str | None
    since: datetime
    role: str | None
    said: str | None
    at: datetime | None
    said_by: str | None

    @property
    def unanswered(self) -> bool:
        """The visitor spoke last, and no bot will answer."""
        return self.role == "user" and self.place != "bot"


async def threads(workspace: str, user_id: str) -> dict[Place, list[Thread]]:
    """Open conversations by place: those who wait longest first, the others by what was said last."""
    found = [Thread(*row) for row in await db.rows(_THREADS, workspace, user_id, _MOST)]
    places: dict[Place, list[Thread]] = {"waiting": [], "mine": [], "theirs": [], "bot": []}
    for thread in sorted(found, key=lambda one: one.at or one.since, reverse=True):
        places[thread.place].append(thread)
    places["waiting"].sort(key=lambda one: one.since)
    return places


async def waiting(workspace: str) -> int:
    """How many wait for a person whom nobody has taken yet; 100 stands for as many and more."""
    return int(
        await db.value(
            """SELECT count(*) FROM (SELECT 1 FROM conversation
               WHERE workspace_id = $1 AND status = 'handoff' AND assigned_to IS NULL LIMIT $2) AS few""",
            workspace, _MOST,
        )
    )  # fmt: skip
