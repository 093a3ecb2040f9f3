"""Reports: a funnel beside the period before, where visitors stop and come from, how people answer; each as a file."""

import csv
import io
import re
from datetime import timedelta

import pytest

from leadwire.domain.bots.changes import counts
from leadwire.domain.bots.flow import library
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.changes import seen
from leadwire.domain.leads.schema import Source
from leadwire.infrastructure import clock
from tests import make
from tests.domain.bots.conftest import Visitor, published

AT = timedelta(days=40)


@pytest.fixture
async def live(workspace):
    return await published(workspace)


def table(page, key):
    """The rows of a report: its cells as text."""
    part = page.partition(f'aria-labelledby="{key}"')[2].partition("</section>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL)
    return [
        [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows[1:]
    ]


async def test_the_funnel_is_beside_the_period_before(viewer, live):
    with clock.at(clock.now() - AT):
        for _ in range(4):
            counts.count(live.id, "shown")
        counts.count(live.id, "started")
    for _ in range(8):
        counts.count(live.id, "shown")
    for _ in range(4):
        counts.count(live.id, "opened")
    visitor = Visitor(live)
    await visitor.says("ada@example.com")
    await visitor.says("l")
    await Visitor(live).says("nothing")
    await counts.write()
    page = await viewer.open(f"/reports?bot_id={live.id}")
    assert table(page, "funnel") == [
        ["Widget shown", "8", "—", "4", "+100 %"],
        ["Widget opened", "4", "50 %", "0", "—"],
        ["First message", "2", "50 %", "1", "+100 %"],
        ["Left contact details", "1", "50 %", "0", "—"],
        ["Asked for a person", "1", "50 %", "0", "—"],
    ]
    assert table(page, "steps")[:3] == [
        ["email: Your e-mail?", "2", "1", "50 %"],
        ["size: How big?", "1", "0", "0 %"],
        ["human: One moment.", "1", "0", "0 %"],
    ]
    assert [row[:4] for row in table(page, "campaigns")] == [["spring", "2", "1", "50 %"]]
    assert [row[:4] for row in table(page, "sources")] == [["Direct", "2", "1", "50 %"]]


async def test_steps_are_in_the_order_in_which_visitors_come_to_them(viewer, workspace):
    live = await published(workspace, library.text("lead-qualification"))
    steps = [row[0].partition(":")[0] for row in table(await viewer.open(f"/reports?bot_id={live.id}"), "steps")]
    assert steps == ["hello", "goal", "size", "email", "name", "company", "hot", "ask_human", "human", "thanks"]


async def test_how_soon_people_answer_and_what_visitors_think(viewer, workspace, bot):
    start = clock.now() - timedelta(hours=5)
    for seconds in (30, 90, None):
        with clock.at(start) as set_clock:
            talk = await make.conversation(workspace, bot)
            await conversations.hand_off(workspace, talk, "asked")
            if seconds:
                set_clock(start + timedelta(seconds=seconds))
                await conversations.add_message(workspace, talk, "agent", "Hello")
                await conversations.end(workspace, talk, "agent")
                await seen.rate(workspace, talk, 5 if seconds == 30 else 2, "")
    page = await viewer.open("/reports")
    assert table(page, "people")[:5] == [
        ["Asked for a person", "3", "0"],
        ["Answered by a person", "2", "0"],
        ["First response, half within", "1 min 0 s", "—"],
        ["First response, 9 in 10 within", "1 min 24 s", "—"],
        ["Waiting at this moment", "1", "—"],
    ]
    assert table(page, "people")[5][1].startswith("5 h 0 min")
    assert "On average 3.5 of 5." in page
    assert table(page, "ratings")[0][:3] == ["5 of 5", "1", "50 %"]


async def test_each_is_a_file_that_a_spreadsheet_does_not_run(viewer, live):
    counts.began(live.id, Source(None, "=HYPERLINK(1)", None))
    await counts.write()
    answer = await viewer.get("/reports/campaigns/csv?days=7")
    assert answer.headers["content-disposition"] == 'attachment; filename="campaigns.csv"'
    rows = list(csv.reader(io.StringIO(answer.text.removeprefix("\N{BYTE ORDER MARK}"))))
    assert rows == [
        ["Campaign", "Conversations", "New leads", "Became leads", "Before", "Change"],
        ["'=HYPERLINK(1)", "1", "0", "0.0", "0", ""],
    ]
    for key in ("funnel", "sources", "people", "ratings"):
        assert (await viewer.get(f"/reports/{key}/csv")).status_code == 200
    assert (await viewer.get(f"/reports/steps/csv?bot_id={live.id}")).status_code == 200
    assert (await viewer.get("/reports/elsewhere/csv")).status_code == 404


async def test_others_bots_and_wrong_periods_are_refused(viewer, workspace):
    await viewer.open(f"/reports?bot_id=bot_{'0' * 26}", 404)
    await viewer.open("/reports?days=91", 400)
    await viewer.open("/reports?days=x", 400)
    assert "Nothing in this period." in await viewer.open("/reports")
