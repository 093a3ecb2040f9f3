"""Who has an e-mail address or a phone number: people are recognized by them."""

from typing import Final

from leadwire.domain.leads import merge
from leadwire.domain.leads.schema import COLUMNS, LeadPatch, StoredLead, from_row
from leadwire.infrastructure import db
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import sql

# The lead of a bot with this e-mail address or, when there is none to compare, this phone number.
_WITH_ADDRESS: Final = f"""
SELECT {COLUMNS}, version FROM lead WHERE workspace_id = :workspace AND bot_id = :bot_id
  AND (lower(email) = lower(:email) OR (:email::text IS NULL AND phone = :phone))
ORDER BY created_at LIMIT 1"""
_ADDRESSED: Final = sql(_WITH_ADDRESS)
# One that another transaction gives another address meanwhile is not it.
_LOCK_ADDRESSED: Final = sql(f"{_WITH_ADDRESS} FOR UPDATE")
# Takes turns: who waits sees whom the one before has made. Nothing in the table keeps two leads from having one number.
_ONE_AT_A_TIME: Final = sql("SELECT pg_advisory_xact_lock(hashtextextended(:bot_id || lower(:address), 0))")


async def holder(workspace: str, bot_id: str, contact: LeadPatch) -> StoredLead | None:
    """The bot's lead with the e-mail address, or else the phone number, that somebody gave. Raise Invalid.

    In a transaction its row is locked until that ends, and whoever gives the same in a transaction waits as long.
    """
    email, phone = merge.address(contact)
    if lock := db.in_transaction():
        await wait_for(bot_id, contact)
    keys = {"workspace": workspace, "bot_id": bot_id}
    row = await (_LOCK_ADDRESSED if lock else _ADDRESSED).row(**keys, email=email, phone=phone)
    return StoredLead(from_row(row[:-1]), row[-1]) if row else None


async def wait_for(bot_id: str, contact: LeadPatch) -> None:
    """Wait for whoever gives the same address, and let others wait until the open transaction ends. Raise Invalid.

    This comes before the locks of conversations and leads: who has one of these does not wait here.
    """
    email, phone = merge.address(contact)
    await _ONE_AT_A_TIME.rows(bot_id=bot_id, address=email or phone)


@query()
async def holder_of_email(workspace: str, lead_id: str, email: str) -> str | None:
    """Return the id of the lead of the same bot that has this address (compared without case)."""
