"""How much one workspace may have: a setting `max_...` for each kind of thing."""

from typing import Any, Final, Literal

from leadwire.domain.accounts.table import Workspace
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.db.statements import Statement, param, statement
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
# Not FOR UPDATE: rows that refer to the workspace can still be written.
_LOCK: Final = statement(Workspace.select("id").where(Workspace.id == param("workspace")).lock_rows("NO KEY UPDATE"))


async def check(workspace: str, quota: Quota, count: Statement, **values: Any) -> None:
    """See that a workspace has not too much, after something was added in the open transaction.

    `count` counts what `workspace` has; `values` are its other values. The workspace stays locked until the
    transaction ends, so that two that add at once count each other. Take this lock last. Raise QuotaExceeded;
    RuntimeError outside a transaction.
    """
    if not db.in_transaction():
        raise RuntimeError(f"{quota} counted outside the transaction of the change")
    await _LOCK.rows(workspace=workspace)
    most: int = getattr(settings.get(), f"max_{quota}")
    if await count.value(workspace=workspace, **values) > most:
        raise QuotaExceeded(
            f"A workspace may have {most:,} {_THINGS[quota]}. Whoever runs this instance can raise it:"
            f" LEADWIRE_MAX_{quota.upper()}."
        )
