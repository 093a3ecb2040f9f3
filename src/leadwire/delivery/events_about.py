"""The events about one lead or one conversation, as far as they are still kept."""

from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

from leadwire.infrastructure import db

LATEST: Final = 100
"""Events that are answered at the most, the latest ones."""

# Materialized: else the planner may read every event there is, in the order of their ids, until it has found enough.
_ABOUT: Final = f"""
WITH about AS MATERIALIZED (
    SELECT id, kind, occurred_at, body FROM outbox_event WHERE workspace_id = $1 AND {{}} = $2
) SELECT * FROM about ORDER BY id DESC LIMIT {LATEST}"""


class StoredEvent(Struct, frozen=True):
    """An event; `body` is what was signed and sent, empty once its person is erased."""

    id: str
    kind: str
    at: datetime
    body: str


async def about(workspace: str, whom: Literal["lead_id", "conversation_id"], subject: str) -> list[StoredEvent]:
    """The latest events about a subject, newest first."""
    return [StoredEvent(*row) for row in await db.rows(_ABOUT.format(whom), workspace, subject)]
