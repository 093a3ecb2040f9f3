"""Whether a bot takes new conversations: it is paused, archived or deleted. Those under way go on."""

from typing import Final, Literal

from leadwire.domain.bots.schema import BotNotFound
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import Statement, sql
from leadwire.infrastructure.errors import Conflict

Deed = Literal["paused", "resumed", "archived", "restored", "deleted"]

_BOT: Final = "WHERE workspace_id = :workspace AND id = :bot RETURNING id"
_PAUSE: Final = "paused_version = coalesce(published_version, paused_version), published_version = NULL"
_DEEDS: Final[dict[Deed, Statement]] = {
    "paused": sql(f"UPDATE bot SET {_PAUSE} {_BOT}"),
    "resumed": sql(
        "UPDATE bot SET published_version = coalesce(published_version, paused_version), paused_version = NULL,"
        f" archived_at = NULL {_BOT}"
    ),
    "archived": sql(f"UPDATE bot SET {_PAUSE}, archived_at = now() {_BOT}"),
    "restored": sql(f"UPDATE bot SET archived_at = NULL {_BOT}"),
    "deleted": sql(f"DELETE FROM bot {_BOT}"),
}
DEEDS: Final[tuple[Deed, ...]] = tuple(_DEEDS)


async def change(workspace: str, bot_id: str, deed: Deed) -> None:
    """Do one of these to a bot. Repeated, it changes nothing. A deletion takes its versions, knowledge and figures.

    Raise NotFound; Conflict when a bot is to be deleted that has conversations or leads, which have its name.
    """
    try:
        await _DEEDS[deed].one(BotNotFound(), workspace=workspace, bot=bot_id)
    except db.Orphaned:
        raise Conflict("It has conversations or leads, which keep its name. Archive it instead.") from None
