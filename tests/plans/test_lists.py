"""The lists among very many leads: what their statements read, told by PostgreSQL's own plans and never by a stopwatch.

With 100,000 leads in the usual run; with 2,000,000 by `uv run pytest tests/plans -m large`.
"""

import asyncio
import itertools
from collections import OrderedDict
from functools import partial

import pytest
from msgspec import structs

from leadwire.domain.conversations import reads as conversations
from leadwire.domain.conversations.reads import ConversationQuery
from leadwire.domain.leads import reads as leads
from leadwire.domain.leads.reads import LeadQuery
from leadwire.domain.search import reads as search
from leadwire.domain.search.query import Asked, terms
from leadwire.infrastructure import db
from tests.plans import crowd as crowds
from tests.plans.crowd import FIRST_DAY, LAST_DAY, Crowd, busy_day
from tests.plans.explained import explained, vacuum

RARE = "the rare bot"
# Few rows match each of these; a plan that walks the newest ones and throws away what does not match is caught.
LEAD_FILTERS = {"score_min": 100, "score_max": 0, "bot_id": RARE, "since": LAST_DAY, "until": FIRST_DAY}
CONVERSATION_FILTERS = {"status": "handoff", "bot_id": RARE, "since": LAST_DAY, "until": FIRST_DAY}


@pytest.fixture(scope="module", params=[100_000, pytest.param(2_000_000, marks=pytest.mark.large)])
async def gathered(request, servers, connected):
    async with crowds.crowd(servers.database_url, request.param) as crowd:
        yield crowd


@pytest.fixture
def crowd(gathered, monkeypatch) -> Crowd:
    """The crowd, with no total known."""
    for reads in (leads, conversations):
        monkeypatch.setattr(reads._LIST, "_counts", OrderedDict())
    return gathered


def asked(model, crowd, names, filters):
    values = {name: crowd.rare_bot if filters[name] is RARE else filters[name] for name in names}
    return model(**values)


def subsets(filters):
    """No filter, each alone, each pair, and all together."""
    return [(), *itertools.combinations(filters, 1), *itertools.combinations(filters, 2), tuple(filters)]


def assert_lean(nodes, table):
    """Only by an index, in the order of the index, and no row is fetched to be thrown away."""
    kinds = {node["Node Type"] for node in nodes}
    assert not kinds & {"Seq Scan", "Sort", "Incremental Sort", "Bitmap Heap Scan", "Gather", "Gather Merge"}, kinds
    scans = [node for node in nodes if node.get("Relation Name") == table]
    assert len(scans) == 2  # the count and the page
    for scan in scans:
        assert "workspace_id" in scan["Index Cond"]
        assert scan.get("Rows Removed by Filter", 0) == 0, scan


def counting(nodes):
    """How often the count was made."""
    (count,) = [node for node in nodes if node["Node Type"] == "Aggregate"]
    return count["Actual Loops"]


@pytest.mark.parametrize("names", subsets(LEAD_FILTERS), ids=" ".join)
async def test_a_page_of_leads_and_its_total(crowd, names):
    query = asked(LeadQuery, crowd, names, LEAD_FILTERS)
    nodes = await explained(partial(leads.page, crowd.workspace, query))
    assert_lean(nodes, "lead")
    assert counting(nodes) == 1


@pytest.mark.parametrize("names", subsets(CONVERSATION_FILTERS), ids=" ".join)
async def test_a_page_of_conversations_and_its_total(crowd, names):
    query = asked(ConversationQuery, crowd, names, CONVERSATION_FILTERS)
    nodes = await explained(partial(conversations.page, crowd.workspace, query))
    assert_lean(nodes, "conversation")
    assert counting(nodes) == 1


LEAD_ORDERS = [
    ({"sort": "created_at"}, "lead"),
    ({"sort": "score"}, "lead"),
    ({"sort": "-score"}, "lead"),
    ({"sort": "score", "score_min": 97}, "lead"),
    ({"sort": "score", "bot_id": RARE}, "lead"),
    ({"sort": "updated_at"}, "lead_by_update"),
    ({"sort": "-updated_at"}, "lead_by_update"),
    ({"updated_since": LAST_DAY}, "lead_by_update"),
    ({"updated_since": LAST_DAY, "sort": "-updated_at"}, "lead_by_update"),
    ({"updated_before": FIRST_DAY}, "lead_by_update"),
    ({"updated_since": LAST_DAY, "bot_id": RARE}, "lead_by_update"),
    ({"updated_since": FIRST_DAY, "score_min": 97}, "lead_by_update"),
]
CONVERSATION_ORDERS = [
    ({"sort": "created_at"}, "conversation"),
    ({"sort": "-updated_at"}, "conversation"),
    ({"updated_since": LAST_DAY}, "conversation"),
    ({"updated_before": FIRST_DAY}, "conversation"),
    ({"updated_since": LAST_DAY, "status": "handoff", "bot_id": RARE}, "conversation"),
]


@pytest.mark.parametrize(
    ("reads", "model", "asking", "table"),
    [(leads, LeadQuery, *case) for case in LEAD_ORDERS]
    + [(conversations, ConversationQuery, *case) for case in CONVERSATION_ORDERS],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)
async def test_an_order(crowd, reads, model, asking, table):
    query = asked(model, crowd, asking, asking)
    nodes = await explained(partial(reads.page, crowd.workspace, query))
    assert_lean(nodes, table)
    if table == "lead_by_update":  # those of the page are looked up, and none for the total
        found = (await reads.page(crowd.workspace, query)).items
        assert sum(node["Actual Loops"] for node in nodes if node.get("Relation Name") == "lead") == len(found)
    started = structs.replace(query, cursor="first", limit=100)
    if cursor := (await reads.page(crowd.workspace, started)).next_cursor:
        following = partial(reads.page, crowd.workspace, structs.replace(started, cursor=cursor))
        nodes = await explained(following)
        assert not {node["Node Type"] for node in nodes} & {"Seq Scan", "Sort", "Incremental Sort", "Aggregate"}
        [page] = [node for node in nodes if node.get("Relation Name") == table]
        assert page["Actual Rows"] <= 101
        assert page.get("Rows Removed by Filter", 0) == 0


async def test_leads_with_an_address(crowd):
    query = LeadQuery(email="77@EXAMPLE.com")
    nodes = await explained(partial(leads.page, crowd.workspace, query))
    for node in nodes:
        if node.get("Relation Name") == "lead":
            assert node["Actual Rows"] + node.get("Rows Removed by Filter", 0) <= 1
    assert (await leads.page(crowd.workspace, query)).total == 1


_DOCUMENTS = """
INSERT INTO search_document (id, workspace_id, kind, created_at, lexemes)
SELECT id, workspace_id, 'lead', created_at,
    ('''lead ' || workspace_id || ''' ''com''' || CASE WHEN score = 96 THEN ' ''rare''' ELSE '' END)::tsvector
FROM lead"""


async def test_leads_with_words(crowd, monkeypatch):
    await db.rows(_DOCUMENTS)
    await vacuum("search_document")
    for words, found in (("rare", crowd.leads // 97), ("nobody", 0)):
        lexemes = Asked(terms(words)).lexemes(crowd.workspace, "lead")
        sought = partial(search.few, crowd.workspace, lexemes)
        nodes = await explained(sought)
        [index] = [node for node in nodes if node.get("Index Name")]
        assert (index["Index Name"], index["Actual Rows"]) == ("search_document_lexemes", pytest.approx(found, abs=1))
        ids = await sought()
        for sort in (None, "created_at", "-score", "updated_at"):
            with monkeypatch.context() as known:
                known.setattr(search, "having", lambda *_, ids=ids: asyncio.sleep(0, (ids, True)))
                query = LeadQuery(q=words, sort=sort, score_max=96)
                nodes = await explained(partial(leads.page, crowd.workspace, query))
                assert (await leads.page(crowd.workspace, query)).total == len(ids)
            scans = [node for node in nodes if node.get("Relation Name") == "lead"]
            assert [scan["Node Type"] for scan in scans] == ["Index Scan"] * 2
            for scan in scans:
                assert scan["Actual Rows"] * scan["Actual Loops"] <= len(ids)
                assert scan.get("Rows Removed by Filter", 0) == 0


@pytest.mark.parametrize(
    ("reads", "query", "other", "counted"),
    [
        (leads, LeadQuery(), "lead.updated", "lead.created"),
        (conversations, ConversationQuery(), "message.sent", "conversation.started"),
    ],
    ids=["leads", "conversations"],
)
async def test_a_total_is_counted_again_only_when_it_may_have_changed(crowd, reads, query, other, counted):
    total = crowd.leads if reads is leads else crowd.conversations
    read = partial(reads.page, crowd.workspace, query)
    assert (await read())[1] == total
    await busy_day(crowd.workspace, other)
    nodes = await explained(read)
    assert counting(nodes) == 0
    assert (await read())[1] == total
    looked_at = [node for node in nodes if (node.get("Relation Name") or "").startswith("event")]
    assert looked_at
    for node in looked_at:
        assert "kind" in node["Index Cond"]
        assert "xact" in node["Index Cond"]
        assert node["Actual Rows"] + node.get("Rows Removed by Filter", 0) == 0
    await busy_day(crowd.workspace, counted)
    assert counting(await explained(read)) == 1


@pytest.mark.parametrize(
    ("reads", "model", "table"), [(leads, LeadQuery, "lead"), (conversations, ConversationQuery, "conversation")]
)
@pytest.mark.parametrize("known", [False, True], ids=["counting", "counted"])
async def test_a_page_past_the_end_skips_no_rows(crowd, reads, model, table, known):
    past = model(page=1_000_000_000, limit=100)
    total = (await reads.page(crowd.workspace, model())).total if known else None
    nodes = await explained(partial(reads.page, crowd.workspace, past))
    (page,) = [node for node in nodes if node.get("Relation Name") == table and node["Node Type"] == "Index Scan"]
    assert page["Actual Loops"] == 0, "never begun"
    assert counting(nodes) == (0 if known else 1)
    found, counted, *_ = await reads.page(crowd.workspace, past)
    assert (list(found), counted) == ([], total or counted)
    assert counted >= 10_000
    last, *_ = await reads.page(crowd.workspace, model(page=-(-counted // 100), limit=100))
    assert 0 < len(last) <= 100
