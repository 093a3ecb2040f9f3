"""Leads as the screens list them: searched, filtered, sorted, and walked by key to the end for an export."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, structs

from leadwire.domain.leads import reads
from leadwire.domain.leads.reads import LeadQuery
from leadwire.domain.leads.schema import COLUMNS, COLUMNS_OF_LEAD, Lead, Score, from_row
from leadwire.domain.listing.keyset import Keyset
from leadwire.domain.listing.page_query import BotId, Moment
from leadwire.infrastructure import db

_DAY: Final = timedelta(days=1)
_JUST_BEFORE: Final = timedelta(milliseconds=1)
_TEXT: Final = "concat_ws(' ', name, email, company, phone)"
_BY_TIME: Final = {"created_at": "timestamptz", "id": "text"}
_ORDERS: Final = {
    "newest": Keyset(table="lead", columns=COLUMNS, key=_BY_TIME, text=_TEXT),
    "oldest": Keyset(table="lead", columns=COLUMNS, key=_BY_TIME, text=_TEXT, descending=False),
    "score": Keyset(table="lead", columns=COLUMNS, key={"score": "smallint", **_BY_TIME}, text=_TEXT),
}
_AT_ONCE: Final = 500  # leads of a walk that are in memory at a time


class LeadSearch(Struct, frozen=True, kw_only=True):
    """What is looked for. `since` and `until` are days (UTC), both included."""

    q: Annotated[str, Meta(max_length=200)] = ""
    bot_id: BotId | None = None
    score_min: Score | None = None
    since: Moment | None = None
    until: Moment | None = None
    sort: Literal["newest", "oldest", "score"] = "newest"
    after: Annotated[str, Meta(max_length=100)] = ""


class Found(Struct, frozen=True):
    """One page of leads; `after` leads to the next. `stopped`: a search looked at many leads, and can go on."""

    leads: list[Lead]
    after: str | None
    stopped: bool = False


async def page(workspace: str, search: LeadSearch, limit: int = 50) -> Found:
    """One page. A whole e-mail address is found wherever it is. Raises InvalidParameter for a strange `after`."""
    if "@" in search.q and search == LeadSearch(q=search.q) and (known := await with_email(workspace, search.q)):
        return Found(known, None)
    found = await _ORDERS[search.sort].page(workspace, _conditions(search), search.after, limit, search.q)
    return Found([from_row(row) for row in found.rows], found.after, found.stopped)


async def walk(workspace: str, search: LeadSearch) -> AsyncIterator[list[Lead]]:
    """Everything that matches, some hundreds at a time."""
    found = await page(workspace, structs.replace(search, after=""), _AT_ONCE)
    yield found.leads
    while found.after:
        found = await page(workspace, structs.replace(search, after=found.after), _AT_ONCE)
        yield found.leads


async def total(workspace: str, search: LeadSearch) -> int | None:
    """How many leads match, exactly; None where that would take looking at each."""
    if search.q:
        return None
    asked = LeadQuery(
        limit=1,
        bot_id=search.bot_id,
        score_min=search.score_min,
        since=search.since and search.since - _JUST_BEFORE,
        until=search.until and search.until + _DAY,
    )
    return (await reads.page(workspace, asked))[1]


async def with_email(workspace: str, email: str) -> list[Lead]:
    """The leads with this address (compared without case), one a bot at the most, newest first."""
    found = await db.rows(
        f"""SELECT {COLUMNS_OF_LEAD} FROM bot JOIN lead ON lead.bot_id = bot.id AND lower(lead.email) = lower($2)
            WHERE bot.workspace_id = $1""",
        workspace,
        email.strip(),
    )
    return sorted((from_row(row) for row in found), key=lambda lead: lead.created_at, reverse=True)


def _conditions(search: LeadSearch) -> dict[str, Any]:
    given = {
        "bot_id = {}": search.bot_id,
        "score >= {}::int": search.score_min,
        "created_at >= {}": search.since,
        "created_at < {}": search.until and search.until + _DAY,
    }
    return {condition: value for condition, value in given.items() if value is not None}
