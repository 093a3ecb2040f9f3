"""Look-ups: how often a bot's draft has changed, and how far it can be undone."""

from typing import Final

from leadwire.domain.bots.reads import no_bot
from leadwire.domain.bots.schema import History
from leadwire.domain.bots.table import Bot
from leadwire.infrastructure.db.statements import param, sql, statement

_REVISION: Final = statement(
    Bot.select("draft_revision").where(Bot.workspace_id == param("workspace"), Bot.id == param("bot"))
)
# How many drafts can be brought back, and taken back again.
_HISTORY: Final = sql("""
SELECT cardinality(draft_undo), cardinality(draft_redo) FROM bot WHERE workspace_id = :workspace AND id = :bot""")


async def revision(workspace: str, bot_id: str) -> int:
    """How often a bot's draft has been changed. Raise NotFound."""
    return int((await _REVISION.one(no_bot(), workspace=workspace, bot=bot_id))[0])


async def history(workspace: str, bot_id: str) -> History:
    """How far a bot's draft can be undone and redone. Raise NotFound."""
    return History(*await _HISTORY.one(no_bot(), workspace=workspace, bot=bot_id))
