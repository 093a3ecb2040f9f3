"""What is counted of bots: each conversation once at each step, and nothing of a turn that did not happen."""

from datetime import timedelta

import asyncpg
import pytest

from leadwire.domain.bots import figures, reads
from leadwire.domain.bots.changes import counts
from leadwire.domain.bots.figures import StepCount
from leadwire.domain.bots.flow import engine
from leadwire.domain.bots.flow.parse import parse
from leadwire.domain.bots.visitors import store
from leadwire.domain.leads.schema import Source
from leadwire.infrastructure import clock, db
from tests.domain.bots.conftest import Visitor
from tests.domain.bots.visitors.test_runtime import BROKEN

LOOP = """
format = 1
start = "hello"
nodes = [
    { type = "ask", id = "hello", text = "Hello?", next = "more" },
    { type = "ask", id = "more", text = "More?", input = "choice", options = [
        { label = "Yes", next = "hello" }, { label = "No", next = "bye" } ], next = "bye" },
    { type = "end", id = "bye", text = "Bye." },
]
"""


async def counted(bot_id, *kinds):
    await counts.write()
    rows = await db.rows("SELECT kind, name, total FROM bot_count WHERE bot_id = $1 ORDER BY kind, name", bot_id)
    return {(row["kind"], row["name"]): row["total"] for row in rows if row["kind"] in kinds}


async def test_a_conversation_counts_once_at_each_step_and_where_it_came_no_further(workspace, live, operators):
    first, second = Visitor(live), Visitor(live)
    await first.says("ada@example.com")
    await first.says("l")
    await second.says("nothing")
    await second.says("grace@example.org")
    await counts.write()
    assert await figures.steps(workspace, live.id, clock.now()) == {
        "email": StepCount(2, 0),
        "size": StepCount(2, 1),
        "points": StepCount(1, 0),
        "route": StepCount(1, 0),
        "human": StepCount(1, 0),
    }
    assert await figures.steps(workspace, live.id, clock.now() + timedelta(days=1)) == {}
    assert await figures.steps("ws_other", live.id, clock.now()) == {}
    assert await counted(
        live.id, "started", "lead", "handoff", "source", "source_lead", "campaign", "campaign_lead"
    ) == {
        ("started", ""): 2,
        ("lead", ""): 2,
        ("handoff", ""): 1,
        ("source", "Direct"): 2,
        ("source_lead", "Direct"): 2,
        ("campaign", "spring"): 2,
        ("campaign_lead", "spring"): 2,
    }


def test_a_flow_that_goes_round_counts_a_node_once():
    flow = parse(LOOP)
    state, _ = engine.begin(flow)
    turns = [((), state.visited)]
    for text in ("a", "Yes", "b", "Yes", "c", "No"):
        after, _ = engine.step(flow, state, text)
        turns.append((state.visited, after.visited))
        state = after
    assert state.visited == ("hello", "more", engine.WENT_ON, "bye", engine.WENT_ON)
    found = []
    for before, after in turns:
        assert after[: len(before)] == before
        found += [node for node in after[max(len(before) - 1, 0) : max(len(after) - 1, 0)] if node]
    assert found == ["hello", "more", "bye"]


async def test_a_turn_that_is_undone_is_not_counted(live, visitor, monkeypatch):
    await visitor.says("ada@example.com")
    before = await counted(live.id, "entered", "passed")

    monkeypatch.setitem(store._PARTS, "state", BROKEN)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await visitor.says("l")
    assert await counted(live.id, "entered", "passed") == before


async def test_names_beyond_the_most_of_a_day_are_one(live, monkeypatch):
    for number in range(120):
        counts.began(live.id, Source(None, f"c{number}", "https://www.search.example/?q=x"))
    found = await counted(live.id, "campaign", "source")
    assert (len(found), sum(found.values())) == (counts._MOST_NAMES + 2, 240)
    assert (found["source", "search.example"], found["campaign", counts.OTHER]) == (120, 20)
    counts.began(live.id, Source(None, "c0", None))
    counts.began(live.id, Source(None, "new", None))
    after = await counted(live.id, "campaign")
    assert sum(after.values()) == 122
    assert after["campaign", counts.OTHER] == 21


async def test_counts_of_a_bot_that_is_gone_are_dropped(database):
    counts.count("bot_0000000000000000000000gone", "shown")
    await counts.write()
    assert await db.value("SELECT count(*) FROM bot_count") == 0


async def test_an_erased_lead_leaves_counts_without_names(workspace, live, visitor):
    await visitor.says("ada@example.com")
    await counts.write()
    rows = await db.rows("SELECT * FROM bot_count")
    assert "ada@" not in str([tuple(row) for row in rows])
    assert (await reads.session_by_token(visitor.token)).state.visited == ("email", "size")
