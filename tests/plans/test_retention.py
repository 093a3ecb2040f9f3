"""Retention among very many rows: neither a preview nor a batch reads more with more of them."""

from functools import partial

import pytest

from leadwire.delivery import erase
from leadwire.domain.privacy import reads
from leadwire.infrastructure import clock, db
from tests.plans import crowd as crowds
from tests.plans.explained import explained, nodes, plans_of, vacuum

MOST = 100  # instead of the usual bounds, which are more than this crowd
LONG_AGO, LAST = clock.parse("1970-01-01"), crowds.LAST_DAY


@pytest.fixture(scope="module")
async def crowd(servers, connected):
    async with crowds.crowd(servers.database_url, 20_000) as crowd:
        await crowds.busy_day(crowd.workspace, "lead.created")
        await db.rows("UPDATE conversation SET lead_id = 'lead_' || substr(id, 6) WHERE right(id, 1) < '5'")
        await vacuum("conversation", "event")
        yield crowd


def reads_of(crowd):
    """Each read of retention."""
    workspace, span = crowd.workspace, {"before": LAST, "after": LONG_AGO}
    some = {
        "leads": partial(reads.leads, workspace, LAST, (LONG_AGO, ""), MOST),
        "counted leads": partial(reads.count_leads, workspace, LAST, LONG_AGO),
        "ended": partial(reads.ended, workspace, LAST, LONG_AGO, MOST),
    }
    for lead in (False, True):
        some[f"counted {lead}"] = partial(reads.count_ended, workspace, **span, with_lead=lead)
        some[f"locked {lead}"] = partial(reads.lock_ended, workspace, LAST, MOST, with_lead=lead)
    return some


def check(name, nodes):
    """Nothing was read in another order than an index has, or beyond what was asked for."""
    read = [one for one in nodes if one["Actual Loops"] and one["Actual Rows"] + one.get("Rows Removed by Filter", 0)]
    assert not {one["Node Type"] for one in read} & {"Seq Scan", "Gather"}, name
    touched = sum((one["Actual Rows"] + one.get("Rows Removed by Filter", 0)) * one["Actual Loops"] for one in read)
    assert touched <= 12 * MOST, (name, touched)  # a row is counted once in each node it passes


async def test_what_is_read_does_not_grow(crowd, monkeypatch):
    monkeypatch.setattr(reads, "COUNTED", MOST)
    for name, read in reads_of(crowd).items():
        check(name, await explained(read))


async def test_nor_are_the_events_of_everybody_read(crowd, monkeypatch):
    monkeypatch.setattr(erase, "_AT_ONCE", MOST)
    span = clock.ago(days=1), clock.ago(days=-1)
    for work in (
        partial(erase.count_events, crowd.workspace, *span, MOST),
        partial(erase.blank_events, crowd.workspace, *span),
        partial(erase.blank_events, "ws_of_nobody", *span),
    ):
        for plan in await plans_of(work):
            check(work, [*nodes(plan)])
