"""The figures of the overview are read from indexes alone, according to PostgreSQL's plans."""

from functools import partial

import pytest

from leadwire.domain.conversations import reads as conversations
from leadwire.domain.leads import reads as leads
from tests.plans import crowd as crowds
from tests.plans.crowd import FIRST_DAY
from tests.plans.explained import explained


@pytest.fixture(scope="module")
async def crowd(servers, connected):
    async with crowds.crowd(servers.database_url, 20_000) as crowd:
        yield crowd


@pytest.mark.parametrize("of_bot", [False, True], ids=["all", "one bot"])
@pytest.mark.parametrize("read", [leads.captured, conversations.by_day, conversations.handed_off])
async def test_a_figure_reads_no_row(crowd, read, of_bot):
    bot_id = crowd.rare_bot if of_bot else None
    nodes = await explained(partial(read, crowd.workspace, FIRST_DAY, bot_id))
    assert {node["Node Type"] for node in nodes} <= {"Aggregate", "Index Only Scan", "Nested Loop", "Function Scan"}
    (scan,) = [node for node in nodes if "Index Cond" in node]
    assert scan["Heap Fetches"] == 0
    counted = crowd.leads if read is leads.captured else crowd.conversations  # once each, by all days together
    assert scan["Actual Rows"] * scan["Actual Loops"] < counted * 1.01
    assert "created_at" in scan["Index Cond"]
    assert ("bot_id" in scan["Index Cond"]) == of_bot
