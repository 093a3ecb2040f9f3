"""Walking a list that changes under way: every row that stays comes exactly once."""

from datetime import UTC, datetime, timedelta

import httpx

from leadwire.domain.privacy import erasure
from leadwire.infrastructure import clock, db
from leadwire_client import AsyncLeadwire
from tests import make

START = datetime(2026, 1, 2, tzinfo=UTC)


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


async def test_a_walk_comes_to_its_end_where_a_proxy_drops_headers(in_process, api_key, workspace, bot):
    """Without `Link` it ended after the first page, as if that were all."""
    made = [(await make.lead(workspace, bot, email=f"lead{number}@example.com")).id for number in range(3)][::-1]

    class Proxy(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request):
            answer = await in_process.handle_async_request(request)
            answer.headers.pop("link", None)
            return answer

    async with AsyncLeadwire(api_key, "http://test", transport=Proxy()) as api:
        assert [lead.id async for lead in api.leads.list(limit=2)] == made
        page = await api.leads.page(limit=2, cursor="first")
        assert (page.has_next, (await api.leads.page(limit=2, cursor=page.next_cursor)).has_next) == (True, False)


async def test_deleting_what_the_walk_gives_deletes_everything(api, workspace, bot):
    await _many_leads(workspace, bot)
    async for lead in api.leads.list():
        await erasure.erase_lead(workspace, lead.id)
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
    assert [lead.id async for lead in api.leads.list(limit=2, email="lead3@example.com")] == made[1:2]
    talks = [talk.id async for talk in api.conversations.list(limit=2, sort="created_at")]
    assert len(talks) == 5


async def test_a_walk_in_another_order(api, workspace, bot):
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
