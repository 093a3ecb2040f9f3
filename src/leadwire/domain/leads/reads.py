"""Looking leads up. Every query takes the workspace first."""

from typing import Annotated, Final

from msgspec import Meta

from leadwire.domain.leads.schema import COLUMNS, Lead, StoredLead, from_row
from leadwire.domain.listing.page_query import BotId, Moment, PageQuery
from leadwire.domain.listing.totals import Listing, Totals
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import NotFound
from leadwire.infrastructure.ids import is_id

_Score = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class LeadQuery(PageQuery, frozen=True, kw_only=True):
    """The filters of the list."""

    score_min: _Score | None = None
    """Minimum score, inclusive."""
    score_max: _Score | None = None
    """Maximum score, inclusive."""
    bot_id: BotId | None = None
    """Only leads of this bot."""
    since: Moment | None = None
    """Created after this time (exclusive)."""
    until: Moment | None = None
    """Created before this time (exclusive)."""


_ONE: Final = f"SELECT {COLUMNS}, version FROM lead WHERE workspace_id = $1 AND id = $2"
LISTING: Final = Listing(
    table="lead",
    columns=COLUMNS,
    conditions={
        "score_min": "score >= {}::int",
        # Not `score <= {}`: with `score_min` the planner would expect few leads in between and sort all that there are,
        # where it can walk the newest and stop.
        "score_max": "(score, score) <= ({0}::int, {0}::int)",
        "bot_id": "bot_id = {}",
        "since": "created_at > {}",
        "until": "created_at < {}",
    },
    kinds=("lead.created", "lead.deleted"),
    kinds_when={"score_min": ("lead.updated",), "score_max": ("lead.updated",)},  # a score can leave the range
)
_totals = Totals(LISTING)


async def stored(workspace: str, lead_id: str, *, lock: bool = False) -> StoredLead:
    """One lead with its version; `lock` takes its row for the open transaction. Raises NotFound."""
    found = None
    if is_id("lead", lead_id):  # anything else cannot be there, and NUL bytes would upset the database
        found = await db.row(f"{_ONE} FOR UPDATE" if lock else _ONE, workspace, lead_id)
    if found is None:
        raise NotFound("There is no such lead.")
    *columns, version = found
    return StoredLead(from_row(columns), version)


async def page(workspace: str, query: LeadQuery) -> tuple[list[Lead], int]:
    """The leads of one page, newest first, and how many match in all."""
    found, total = await _totals.page(workspace, query, query.limit, query.offset)
    return [from_row(row) for row in found], total


async def holder_of_email(workspace: str, lead_id: str, email: str) -> str | None:
    """Which other lead of the same bot holds this address (compared without case)."""
    return await db.value(  # type: ignore[no-any-return]
        """SELECT other.id FROM lead JOIN lead other USING (workspace_id, bot_id)
           WHERE workspace_id = $1 AND lead.id = $2 AND lower(other.email) = lower($3)""",
        workspace, lead_id, email,
    )  # fmt: skip
