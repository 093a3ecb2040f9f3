"""Counts for figures: what happened with each bot on each day. Collected here, written every few seconds.

Beside the ledger, not part of it: a visitor's turn waits for nothing, and what a process has not written when it is
killed is missing from the figures only.
"""

import asyncio
import functools
import logging
from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Final, Literal
from urllib.parse import urlsplit

from leadwire.domain.bots.engine import WENT_ON
from leadwire.domain.leads.schema import Lead, Source
from leadwire.infrastructure import clock, db, redis_pool, telemetry
from leadwire.infrastructure.db.statements import lists, sql

Kind = Literal[
    "shown", "opened", "started", "lead", "handoff",
    "entered", "passed", "source", "source_lead", "campaign", "campaign_lead",
]  # fmt: skip
"""Of a count. The first five are of the bot. `entered` and `passed` are conversations that came to a node, and went on
from it; `source` and `campaign` count conversations, `..._lead` new leads.
"""
DIRECT: Final = "Direct"
OTHER: Final = "Other"
_NAMED: Final = 200  # characters
_MOST_NAMES: Final = 100  # websites or campaigns of a bot on a day; what comes later is `OTHER`
_EVERY: Final = 3.0  # seconds
_MOST: Final = 20_000  # counts that wait while the database is away
_KEPT: Final = 800  # days

# Adds to the counts of the days, and folds names beyond the most of a kind into one.
_ADD: Final = sql(f"""
INSERT INTO bot_count AS known (bot_id, day, kind, name, total)
SELECT bot_id, day, kind, CASE WHEN kind IN ('entered', 'passed') OR name IN ('', '{OTHER}') OR EXISTS (
        SELECT 1 FROM bot_count b WHERE (b.bot_id, b.day, b.kind, b.name) = (m.bot_id, m.day, m.kind, m.name))
    OR (SELECT count(*) FROM bot_count b WHERE (b.bot_id, b.day, b.kind) = (m.bot_id, m.day, m.kind)) + place
        <= {_MOST_NAMES} THEN name ELSE '{OTHER}' END AS named, sum(total)
FROM (SELECT *, row_number() OVER (PARTITION BY bot_id, day, kind ORDER BY total DESC) AS place
    FROM unnest(:bots::text[], :days::date[], :kinds::text[], :names::text[], :counts::int[])
    AS made(bot_id, day, kind, name, total)) m
WHERE EXISTS (SELECT 1 FROM bot WHERE bot.id = m.bot_id)
GROUP BY bot_id, day, kind, named ORDER BY bot_id, day, kind, named
ON CONFLICT (bot_id, day, kind, name) DO UPDATE SET total = known.total + EXCLUDED.total""")
_DELETE_OLD: Final = sql(f"""
DELETE FROM bot_count c USING bot b WHERE c.bot_id = b.id AND c.day < current_date - {_KEPT}""")

_LATER: Final[tuple[type[BaseException], ...]] = (*db.GONE, *db.REFUSING, db.Deadlock, db.Orphaned, db.Canceled)

_counted: Counter[tuple[str, date, Kind, str]] = Counter()
_due: list[asyncio.TimerHandle] = []


def count(bot_id: str, kind: Kind, name: str = "") -> None:
    """Count something once the open transaction has committed; at once when there is none."""
    db.after_commit(functools.partial(_add, (bot_id, clock.now().date(), kind, name[:_NAMED])))


def began(bot_id: str, source: Source, visited: Sequence[str] = ()) -> None:
    """Count a conversation, where its visitor came from, and the nodes of the greeting."""
    count(bot_id, "started")
    for kind, name in _origin(source):
        count(bot_id, kind, name)
    went(bot_id, (), visited)


def captured(bot_id: str, lead: Lead, conversation_id: str) -> None:
    """Count a conversation that has got its lead, and where the lead came from if it is new."""
    count(bot_id, "lead")
    for kind, name in _origin(lead.source) if lead.conversation_id == conversation_id else ():
        count(bot_id, "source_lead" if kind == "source" else "campaign_lead", name)


def went(bot_id: str, before: Sequence[str], after: Sequence[str]) -> None:
    """Count the nodes that a turn has entered and left for the first time: `engine.State.visited` of before and now."""
    kinds: tuple[tuple[Kind, Sequence[str]], ...] = (
        ("entered", after[len(before) :]),
        ("passed", after[max(len(before) - 1, 0) : max(len(after) - 1, 0)]),
    )
    for kind, nodes in kinds:
        for node in nodes:
            if node != WENT_ON:
                count(bot_id, kind, node)


async def write() -> None:
    """Write what is counted so far; while the database is away it waits here, but not without end."""
    collected = Counter(_counted)
    _counted.clear()
    if not collected:
        return
    try:
        rows = [(*key, number) for key, number in collected.items()]
        await _ADD.rows(**lists("bots days kinds names counts", rows))
    except _LATER as error:
        telemetry.log("counts.late", level=logging.WARNING, error=error)
        if len(_counted) + len(collected) <= _MOST:
            _counted.update(collected)


async def delete_old() -> None:
    """Delete counts that no figures show any more."""
    await _DELETE_OLD.rows()


def _origin(source: Source) -> list[tuple[Kind, str]]:
    """The website that led there, without `www.`, and the campaign if there is one."""
    found: list[tuple[Kind, str]] = [("source", _website(source.referrer) or DIRECT)]
    return [*found, ("campaign", source.campaign)] if source.campaign else found


def _website(url: str | None) -> str:
    try:
        return (urlsplit(url or "").hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _add(key: tuple[str, date, Kind, str]) -> None:
    _counted[key] += 1
    if not _due:
        _due.append(asyncio.get_running_loop().call_later(_EVERY, _start))


def _start() -> None:
    _due.clear()
    redis_pool.run_in_background(write())
