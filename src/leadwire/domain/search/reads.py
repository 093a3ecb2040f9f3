"""Finding documents: newest first, by page. Every query takes the workspace first. Rows are for templates.

The newest documents are looked at first: they have a page of what is in most. What few have is found by the index of
lexemes, and sorted. What more than `FEW` have is found by walking on from the newest, `WALKED` at a time. The index
reads all entries of the rarest word before it finds anything; where that is in more than `COMMON` documents by
PostgreSQL's statistics, it is not asked. So no word is slow, however often it occurs.
"""

from typing import Any, Final

import msgspec
from msgspec import structs

from leadwire.domain.listing.cursors import refused
from leadwire.domain.listing.keyset import BY_TIME, Found, Keyset
from leadwire.domain.listing.queries import PageQuery
from leadwire.domain.search.query import MOST, Asked, Kind, terms
from leadwire.infrastructure import db
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named

FEW: Final = 2_000
COMMON: Final = 20_000
WALKED: Final = 10_000
"""Documents that one page of a search walks at most."""
BEHIND: Final = 10_000
"""Changes: some ten seconds of writing."""
_front = 0  # where the oldest change that waits was last: below it there may be many that are gone (decision 30)

_SOME, _ESTIMATE, _WAITING = named(__file__, "some estimate waiting")


class _Documents(Keyset[str], frozen=True, kw_only=True):
    def sought(self, words: Any) -> tuple[str, dict[str, Any]]:
        """As every list; here, words are a tsquery."""
        return "lexemes @@ :lexemes::tsquery", {"lexemes": words}


_NEWEST: Final = _Documents(
    make=lambda row: str(row[0]),
    table="search_document",
    columns="id, created_at",
    filters={
        "kind": "kind = :kind",
        "since": "created_at >= :since",
        "until": "created_at < :until",
        "ids": "id = ANY(:ids::text[])",
    },
    key=BY_TIME,
    looked_at=WALKED,
)
_FIRST: Final = structs.replace(_NEWEST, looked_at=500)


async def complete() -> bool:
    """Return whether documents are written of all but the last `BEHIND` changes, of whatever workspace: not so for a
    while after an upgrade or an import.
    """
    global _front  # noqa: PLW0603 - a hint
    ((newest, oldest),) = await _WAITING.rows(front=_front)
    _front = newest if oldest is None else oldest
    return bool(newest - _front <= BEHIND)


async def few(workspace: str, lexemes: str) -> list[str] | None:
    """Return the ids of the documents with these lexemes (a tsquery); None when there are more than `FEW`."""
    rows = await _SOME.rows(workspace=workspace, lexemes=lexemes, most=FEW + 1)
    return [row["id"] for row in rows] if len(rows) <= FEW else None


async def few_at_once(workspace: str, parts: list[str]) -> list[str] | None:
    """Return the ids of the documents that are found by all of these tsqueries; None when there are more than `FEW`, or
    when finding them would take long.
    """
    for part in reversed(parts):  # words last: they are rare more often than kinds and states
        plan = msgspec.json.decode(await _ESTIMATE.value(lexemes=part))
        if plan[0]["Plan"]["Plan Rows"] <= COMMON:
            return await few(workspace, " & ".join(parts))
    return None


async def having(kind: Kind, workspace: str, query: PageQuery) -> tuple[list[str], bool]:
    """Return the ids of the documents with the words and phrases of `q`, of the bot and in the state that are asked
    for; and whether documents are `complete`. Raise InvalidParameter for `q` where it has no words, or `MOST`, or more
    than `FEW` documents have them.
    """
    filters = {"bot": query.bot_id, "status": getattr(query, "status", None)}
    search = Asked(terms(query.q or ""), [f"{name}:{value}" for name, value in filters.items() if value])
    if not search.terms:
        raise refused("q", "no_words", "Must have a letter or a digit.")
    if len(search.terms) > MOST:
        raise refused("q", "too_many_words", f"Must have at most {MOST} words and phrases.")
    lead_ids = await few(workspace, search.lexemes(workspace, kind))
    if lead_ids is None:
        message = f"More than {FEW:,} have these words, which are not counted. Ask for more words, or for one bot."
        raise refused("q", "too_many_found", message)
    return lead_ids, await complete()


async def page(workspace: str, kind: Kind, search: Asked, after: str = "", limit: int = 20) -> Found[str]:
    """Return the ids of one page, newest first. Raise InvalidParameter for an `after` that no page gave."""
    lexemes = search.lexemes(workspace, kind)
    wanted = {"kind": kind, "since": search.since, "until": search.until}
    first = await _FIRST.page(workspace, wanted, after, limit, lexemes)
    if not first.stopped:
        return first
    ids = await few_at_once(workspace, search.parts(workspace, kind))
    if ids is None:
        return await _NEWEST.page(workspace, wanted, after, limit, lexemes)
    if not ids:
        return Found([], None)
    return await _NEWEST.page(workspace, wanted | {"ids": ids}, after, limit)


@query()
async def leads(workspace: str, ids: list[str], pattern: str) -> list[db.Row]:
    """Return these leads, in this order, with the custom fields that have one of the words of a pattern
    (`Asked.pattern`); what has gone meanwhile is left out.
    """


@query()
async def notes(workspace: str, ids: list[str]) -> list[db.Row]:
    """Return these notes, in this order."""


@query()
async def conversations(workspace: str, ids: list[str], pattern: str) -> list[db.Row]:
    """Return these conversations, in this order; `said` has role and text of messages with one of the words."""
