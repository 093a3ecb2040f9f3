"""A search reads a bounded part of very many documents, whatever is searched for: told by rows, not by a stopwatch."""

from functools import partial

import pytest
from msgspec import structs

from leadwire.domain.leads import reads as leads
from leadwire.domain.leads.reads import LeadSearch
from leadwire.domain.search import documents, reads
from leadwire.domain.search.query import parse
from leadwire.infrastructure import db
from tests import statements
from tests.plans import crowd as crowds
from tests.plans.explained import explained, vacuum

_LEADS, _WALKED = 20_000, 3_000
# All have a word, one in a hundred another, the older half a third; and there every second one has a custom field.
_DOCUMENTS = """
INSERT INTO search_document (id, workspace_id, kind, created_at, lexemes)
SELECT id, $1, 'lead', created_at, array_to_tsvector(array_remove(ARRAY['lead ' || $1, 'hello',
    CASE WHEN n % 100 = 0 THEN 'unicorn' END, CASE WHEN n > $2::int / 2 THEN 'refrigerator' END,
    CASE WHEN n > $2 / 2 AND n % 2 = 0 THEN $3 END, CASE WHEN n % 1000 = 999 THEN $4 END,
    CASE WHEN n % 1000 = 999 THEN $5 END], NULL))
FROM (SELECT id, created_at, row_number() OVER (ORDER BY created_at DESC) AS n FROM lead) numbered"""
_FIELDS = """
UPDATE lead SET custom_fields = CASE WHEN n % 1000 = 999 THEN '{"plan": "gold"}' ELSE '{"tier": "x"}' END::json
FROM (SELECT id, row_number() OVER (ORDER BY created_at DESC) AS n FROM lead) numbered
WHERE lead.id = numbered.id AND (n > $1::int / 2 AND n % 2 = 0 OR n % 1000 = 999)"""


@pytest.fixture(scope="module")
async def crowd(servers, connected):
    async with crowds.crowd(servers.database_url, _LEADS) as crowd:
        marks = [documents.field(crowd.workspace, *one) for one in (("tier",), ("plan",), ("plan", "gold"))]
        await db.rows(_DOCUMENTS, crowd.workspace, _LEADS, *marks)
        await db.rows(_FIELDS, _LEADS)
        await vacuum("search_document", "lead")
        yield crowd


@pytest.fixture(autouse=True)
def smaller(monkeypatch):
    """Bounds for as few documents as a test has."""
    monkeypatch.setattr(reads, "FEW", 500)
    monkeypatch.setattr(reads, "COMMON", 2_000)
    monkeypatch.setattr(leads, "WALKED", _WALKED)
    monkeypatch.setattr(reads, "_NEWEST", structs.replace(reads._NEWEST, looked_at=_WALKED))


async def looked_at(read):
    """What `read` returns; how many rows its statements take from tables; and whether the index of lexemes is used."""
    with statements.sent() as sent:
        found = await read()
    reads = [partial(db.rows, sql, *args) for sql, args in sent if not sql.startswith("EXPLAIN")]
    plans = [node for one in reads for node in await explained(one)]
    scans = [node for node in plans if "Relation Name" in node or "Index Name" in node]
    assert "Seq Scan" not in {node["Node Type"] for node in scans}
    rows = sum((one["Actual Rows"] + one.get("Rows Removed by Filter", 0)) * one["Actual Loops"] for one in scans)
    return found, rows, "search_document_lexemes" in {node.get("Index Name") for node in scans}


@pytest.mark.parametrize(
    ("text", "found", "most", "indexed"),
    [
        ("hello", 20, 50, False),  # among the newest
        ("unicorn", 20, 2_000, True),  # the newest 500, then the index
        ("refrigerator", 0, 2 * _WALKED + 1_000, False),  # in too many for the index, and in none of the newest
        ("refrigerator unicorn", 20, 2_000, True),
        ("nobody", 0, 1_000, True),
    ],
)
async def test_a_word_is_looked_for_where_it_costs_least(crowd, text, found, most, indexed):
    read = partial(reads.page, crowd.workspace, "lead", parse(text, {}))
    page, rows, used = await looked_at(read)
    assert (len(page.items), used) == (found, indexed)
    assert rows <= most


@pytest.mark.parametrize("sort", ["newest", "oldest", "score"])
@pytest.mark.parametrize(
    ("asked", "found", "most", "indexed"),
    [
        ({"field": "plan", "test": "equals", "value": "Gold"}, 20, 1_200, True),
        ({"field": "plan", "test": "set"}, 20, 1_200, True),
        ({"field": "plan", "test": "contains", "value": "OL"}, 20, 1_200, True),
        ({"field": "tier", "test": "set"}, None, 2 * _WALKED + 1_000, False),
        ({"field": "nothing", "test": "contains", "value": "x"}, 0, 1_200, True),
    ],
)
async def test_a_custom_field_is_looked_for_where_it_costs_least(crowd, asked, found, most, indexed, sort):
    page, rows, used = await looked_at(partial(leads.search, crowd.workspace, LeadSearch(sort=sort, **asked)))
    assert rows <= most
    assert used == indexed
    assert found is None or len(page.items) == found
