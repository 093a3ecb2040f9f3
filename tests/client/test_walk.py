"""Walking a list that changes under way: every row that stays comes exactly once."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadwire.domain.privacy import changes
from leadwire.infrastructure import clock, db
from leadwire_client.types import Page
from leadwire_client.walk import Walk
from tests import make

START = datetime(2026, 1, 2, tzinfo=UTC)


class _Row:
    def __init__(self, id_: str, created_at: datetime) -> None:
        self.id, self.created_at = id_, created_at


def _page(rows, *, limit, page=1, until=None, **_) -> Page[_Row]:
    """What the API's list answers: newest first, ties by id, `until` exclusive."""
    found = [row for row in rows if until is None or row.created_at < until]
    found.sort(key=lambda row: (row.created_at, row.id), reverse=True)
    part = found[(page - 1) * limit : page * limit]
    return Page(data=part, total=len(found), page=page, per_page=limit, has_next=page * limit < len(found))


@given(
    times=st.lists(st.integers(0, 3) | st.integers(0, 400), min_size=90, max_size=420),
    changes=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10_000)), max_size=12),
    delete_own=st.booleans(),
)
def test_rows_that_stay_come_exactly_once_whatever_arrives_or_goes(times, changes, delete_own):
    rows = [_Row(f"lead_{n:05}", START + timedelta(milliseconds=ms)) for n, ms in enumerate(times)]
    staying, came = {row.id for row in rows}, []
    busiest = max(times.count(ms) for ms in set(times))
    walk = Walk(lambda **query: query, {})
    moves = iter(changes)
    while walk.call:
        page = _page(rows, **walk.call)
        for row in walk.rows(page):
            came.append(row.id)
            if delete_own:
                rows.remove(next(one for one in rows if one.id == row.id))
        arriving, victim = next(moves, (0, 0))
        newest = START + timedelta(seconds=1 + len(rows))
        rows += [_Row(f"lead_{len(rows) + n:05}_new", newest) for n in range(arriving)]
        if rows and busiest <= 100:  # what the docstring excepts
            gone = rows.pop(victim % len(rows))
            staying.discard(gone.id)
    assert len(came) == len(set(came))
    assert set(came) >= staying
    assert not [row for row in came if row.endswith("_new")]


async def _many_leads(workspace: str, bot: str) -> None:
    """250 leads, 1 ms apart but for 120 that share one."""
    with clock.at(START):
        await make.lead(workspace, bot)
    await db.rows(
        """INSERT INTO lead (id, workspace_id, bot_id, conversation_id, email, custom_fields, created_at, updated_at)
           SELECT overlay(id placing lpad(n::text, 4, '0') from 27), workspace_id, bot_id, conversation_id,
                  n || email, '{}', created_at + least(n, 130) * interval '1 ms', updated_at
           FROM lead, generate_series(1, 249) AS n WHERE workspace_id = $1""",
        workspace,
    )


async def test_leads_that_arrive_during_the_walk_neither_repeat_nor_hide_others(api, workspace, bot):
    await _many_leads(workspace, bot)
    before = {row["id"] for row in await db.rows("SELECT id FROM lead")}
    came = []
    async for lead in api.leads.list(bot_id=bot):
        came.append(lead.id)
        if len(came) % 60 == 0:
            await make.lead(workspace, bot, email=f"new{len(came)}@example.com")
    assert len(came) == 250
    assert set(came) == before


async def test_deleting_what_the_walk_gives_deletes_everything(api, workspace, bot):
    await _many_leads(workspace, bot)
    async for lead in api.leads.list():
        await changes.erase_lead(workspace, lead.id)
    assert await db.value("SELECT count(*) FROM lead") == 0


async def test_a_walk_keeps_its_filters(api, workspace, bot):
    await _many_leads(workspace, bot)
    since, until = START + timedelta(milliseconds=3), START + timedelta(milliseconds=130)
    came = [lead async for lead in api.leads.list(since=since, until=until)]
    assert [lead.created_at for lead in came] == [START + timedelta(milliseconds=n) for n in range(129, 3, -1)]
    assert [lead async for lead in api.leads.list(score_min=1)] == []


async def test_a_list_takes_the_parameters_of_the_api(api, workspace, bot):
    made = [(await make.lead(workspace, bot, email=f"lead{number}@example.com")).id for number in range(5)][::-1]
    assert [lead.id async for lead in api.leads.list(limit=2)] == made
    assert [lead.id async for lead in api.leads.list(limit=2, page=2)] == made[2:]
    talks = [talk.id async for talk in api.conversations.list(limit=2, page=2)]
    assert len(talks) == 3


async def test_a_walk_in_another_order_goes_by_cursor(api, workspace, bot):
    await _many_leads(workspace, bot)
    changed = await make.lead(workspace, bot, email="late@example.com")
    came = [lead async for lead in api.leads.list(updated_since=START - timedelta(days=1), bot_id=bot)]
    assert len({lead.id for lead in came}) == len(came) == 251
    assert [lead.updated_at for lead in came] == sorted(lead.updated_at for lead in came)
    assert came[-1].id == changed.id
    assert [lead.id async for lead in api.leads.list(email="LATE@example.com")] == [changed.id]
    talks = [talk.created_at async for talk in api.conversations.list(sort="created_at", limit=1)]
    assert talks == sorted(talks)
    assert len(talks) == 2
    first = await api.leads.page(cursor="first", limit=100)
    assert (first.has_next, first.total) == (True, 251)
    second = await api.leads.page(cursor=first.next_cursor, limit=100)
    assert not {lead.id for lead in first.data} & {lead.id for lead in second.data}


def test_a_walk_in_another_order_begins_at_its_first_page():
    with pytest.raises(ValueError, match="begins at its first page"):
        Walk(lambda **query: query, {"sort": "score"}, None, 2)
