"""How much one workspace may have: a setting `max_...` for each kind of thing."""

from typing import Final, Literal

from leadwire.infrastructure import db, settings
from leadwire.infrastructure.errors import QuotaExceeded

Quota = Literal["endpoints", "bots", "bot_versions", "faq_entries", "flow_bytes", "users", "api_keys"]

_THINGS: Final[dict[Quota, str]] = {
    "endpoints": "webhook endpoints",
    "bots": "bots",
    "bot_versions": "versions of a bot",
    "faq_entries": "questions that a bot was taught",
    "flow_bytes": "bytes of flows, all versions and drafts together",
    "users": "people, open invitations included",
    "api_keys": "API keys in use",
}


async def check(workspace: str, quota: Quota, count: str, *args: object) -> None:
    """See that a workspace has not too much, after something was added in the open transaction.

    `count` is SQL that counts what there is; the workspace is $1, `args` follow. The workspace stays locked until the
    transaction ends, so that of several who add at once none counts without the others. Take this lock last. Raises
    QuotaExceeded; RuntimeError outside a transaction.
    """
    if not db.in_transaction():
        raise RuntimeError(f"{quota} counted outside the transaction of the change")
    # Not FOR UPDATE: rows that refer to the workspace can still be written.
    await db.rows("SELECT 1 FROM workspace WHERE id = $1 FOR NO KEY UPDATE", workspace)
    most: int = getattr(settings.get(), f"max_{quota}")
    if await db.value(count, workspace, *args) > most:
        raise QuotaExceeded(
            f"A workspace may have {most:,} {_THINGS[quota]}. Whoever runs this instance can raise it:"
            f" LEADWIRE_MAX_{quota.upper()}."
        )
