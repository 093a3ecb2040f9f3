"""How much one workspace may have: a setting `max_...` for each kind of thing, or a quota of its own; of what costs
little, a number that is the same for all.

Something is added, and then all of it is counted, with the workspace locked until the transaction ends: so two that add
at once count each other, and nothing is added while it is being suspended. This lock is taken last.
"""

from typing import Any, Final, cast

import msgspec

from leadwire.domain.accounts.reads import locked, why_closed
from leadwire.domain.accounts.schema import Quota
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.db.statements import Statement
from leadwire.infrastructure.errors import Conflict, QuotaExceeded

_THINGS: Final[dict[Quota, str]] = {
    "endpoints": "webhook endpoints",
    "host_endpoints": "webhook endpoints at one host",
    "bots": "bots",
    "bot_versions": "versions of a bot",
    "faq_entries": "questions that a bot was taught",
    "flow_bytes": "bytes of flows, all versions and drafts together",
    "users": "people, open invitations included",
    "api_keys": "API keys in use",
    "requests": "requests a minute with each API key",
}


async def check(workspace: str, quota: Quota, count: Statement, **values: Any) -> None:
    """See that a workspace has not too much, after something was added in the open transaction, and may add at all.

    `count` counts what `workspace` has; `values` are its other values. Raise QuotaExceeded, and as `at_most`.
    """
    most = own_quotas(await _locked(workspace)).get(quota, default(quota))
    if await count.value(workspace=workspace, **values) > most:
        raise QuotaExceeded(
            f"A workspace may have {most:,} {_THINGS[quota]}. Whoever runs this instance can raise it:"
            " `leadwire workspaces quota`."
        )


async def at_most(workspace: str, most: int, refusal: Conflict, count: Statement, **values: Any) -> None:
    """The same for a number that no setting changes.

    Raise `refusal` where there are more, what `why_closed` returns; RuntimeError outside a transaction.
    """
    await _locked(workspace)
    if await count.value(workspace=workspace, **values) > most:
        raise refusal


def default(quota: Quota) -> int:
    """The quota of a workspace that has none of its own."""
    most: int = getattr(settings.get(), "rate_limit" if quota == "requests" else f"max_{quota}")
    return most


async def _locked(workspace: str) -> msgspec.Raw:
    if not db.in_transaction():
        raise RuntimeError("counted outside the transaction of the change")
    row = await locked(workspace)
    if row["suspended_at"]:
        raise await why_closed(workspace)
    return cast(msgspec.Raw, row["quotas"])


def own_quotas(stored: msgspec.Raw) -> dict[Quota, int]:
    """The quotas that a workspace has of its own, from the column."""
    return msgspec.json.decode(stored, type=dict[Quota, int])
