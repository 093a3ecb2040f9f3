"""Counts for figures: what happened with each bot on each day. A visitor's turn does not wait for them."""

import functools
import operator
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final, Literal
from urllib.parse import urlsplit

from leadwire.domain.bots.flow.engine import WENT_ON
from leadwire.domain.leads.schema import Lead, Source
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.collected import Collected
from leadwire.infrastructure.db.statements import lists, named, sql

Kind = Literal[
    "shown", "opened", "started", "lead", "handoff",
    "entered", "passed", "source", "source_lead", "campaign", "campaign_lead",
]  # fmt: skip
"""Of a count. The first five are of the bot. `entered` and `passed` are conversations that came to a node, and went on
from it; `source` and `campaign` count conversations, `..._lead` new leads.
"""
_Key = tuple[str, date, Kind, str]
DIRECT: Final = "Direct"
OTHER: Final = "Other"  # also in `counts.sql`
_NAMED: Final = 200  # characters
_MOST_NAMES: Final = 100  # websites or campaigns of a bot on a day; what comes later is `OTHER`

(_ADD,) = named(__file__, "add")
# Processes write one after the other: else two that count at once would both find room for their names.
_TURN: Final = sql("SELECT pg_advisory_xact_lock(hashtextextended('bot_count', 0))")


def count(bot_id: str, kind: Kind, name: str = "") -> None:
    """Count something once the open transaction has committed; at once when there is none."""
    db.after_commit(functools.partial(_count, (bot_id, clock.now().date(), kind, name[:_NAMED])))


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


def _origin(source: Source) -> list[tuple[Kind, str]]:
    """The website that led there, without `www.`, and the campaign if there is one."""
    counts: list[tuple[Kind, str]] = [("source", _website(source.referrer) or DIRECT)]
    return [*counts, ("campaign", source.campaign)] if source.campaign else counts


def _website(url: str | None) -> str:
    try:
        return (urlsplit(url or "").hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _count(key: _Key) -> None:
    _counted[key] += 1
    _counted.write_soon()


async def _write(collected: Mapping[_Key, int]) -> None:
    rows = [(*key, number) for key, number in collected.items()]
    async with db.transaction():
        await _TURN.rows()
        await _ADD.rows(**lists("bots days kinds names counts", rows), most=_MOST_NAMES)


_counted = Collected("counts", every=3.0, most=20_000, none=int, add=operator.add, write=_write)
write: Final = _counted.flush
