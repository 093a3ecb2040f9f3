"""The overview tells the workspace's own numbers."""

import re
from datetime import timedelta

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.webhooks import stats
from leadwire.domain.webhooks.stats import Span, Stats
from leadwire.infrastructure import clock
from leadwire.interfaces.web import charts, rendering
from tests import make


def figures(page: str) -> list[str]:
    """The four large numbers."""
    return re.findall(r"<dd>([^<]+)</dd>", page)


async def test_a_fresh_workspace_is_told_what_will_be_counted(viewer):
    page = await viewer.open("/")
    assert "Nothing has happened in this time" in page
    assert figures(page) == ["0", "0", "—", "0"]


async def test_what_happened_is_counted_by_day_and_score(viewer, workspace, bot):
    with clock.at(clock.ago(days=3)):
        await make.lead(workspace, bot, score=95)
        talk = await make.conversation(workspace, bot)
        await conversations.hand_off(workspace, talk, "asked")
    page = await viewer.open("/")
    assert figures(page) == ["2", "1", "50", "1"]
    day = f"{clock.ago(days=3):%d %b}"
    assert f"<title>{day}: Conversations 2, New leads 1</title>" in page
    assert "<title>90–100: Leads 1</title>" in page


async def test_the_period_has_whole_days(viewer, workspace, bot):
    midnight = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    for moment in (midnight - timedelta(days=6), midnight - timedelta(days=6, milliseconds=1)):
        with clock.at(moment):
            await make.conversation(workspace, bot)
    assert figures(await viewer.open("/?days=7"))[0] == "1"
    assert figures(await viewer.open("/?days=30"))[0] == "2"


async def test_one_bot_alone(viewer, workspace, bot):
    other = await bots.create(workspace, "Other")
    await make.lead(workspace, bot, score=10)
    await make.lead(workspace, other, score=50)
    page = await viewer.open(f"/?bot_id={other}")
    assert figures(page)[:2] == ["1", "1"]
    assert "<title>50–59: Leads 1</title>" in page
    assert "<title>10–19: Leads 0</title>" in page


async def test_another_workspace_s_numbers_are_not_there(viewer):
    elsewhere = await accounts.create_workspace("Other")
    theirs = await bots.create(elsewhere, "Theirs")
    await make.lead(elsewhere, theirs)
    assert figures(await viewer.open("/"))[0] == "0"
    await viewer.open(f"/?bot_id={theirs}", 404)


@pytest.mark.parametrize("query", ["days=0", "days=91", "days=x", "bot_id=bot_1", "days=7&days=30"])
async def test_odd_questions_are_refused(viewer, query):
    await viewer.open(f"/?{query}", 400)


async def test_a_bot_s_name_is_text(viewer, workspace):
    await bots.create(workspace, "<script>alert(1)</script>")
    assert "<script>alert" not in await viewer.open("/")


@pytest.mark.parametrize(
    ("peak", "marks"),
    [
        (0, [0, 1]),
        (1, [0, 1]),
        (2, [0, 1, 2]),
        (12, [0, 5, 10, 15]),
        (50, [0, 10, 20, 30, 40, 50]),
        (120, [0, 25, 50, 75, 100, 125]),
    ],
)
def test_counts_are_marked_by_whole_numbers(peak, marks):
    assert charts.ticks(peak, whole=True) == marks


def test_an_empty_chart_of_counts_has_no_fractions():
    plot = rendering.environment().get_template("charts.html").module.plot
    drawn = plot("Leads", ["a", "b"], [charts.Series("Leads", [0, 0])], bars=True)
    assert re.findall(r'text-anchor="end">([^<]*)<', drawn) == ["0", "1"]


def test_endpoints_together_are_as_slow_as_the_slowest_and_next_when_the_first_is():
    hour, soon = clock.parse("2026-01-02T03:00:00Z"), clock.parse("2026-01-02T04:00:00Z")
    quiet = Stats(0, 0, None, [Span(0, 0, None, hour)], None, None, None, 0, 0)
    busy = Stats(2, 1, 9.0, [Span(2, 1, 9.0, hour)], hour, "delivered", soon, 3, 4)
    both = stats.together([quiet, busy, busy])
    assert both.hours == [Span(4, 2, None, hour)]
    assert (both.delivered, both.failed, both.p95, both.next_at) == (4, 2, 9.0, soon)
    assert (both.waiting, both.dead, stats.together([quiet]).share) == (6, 8, None)
