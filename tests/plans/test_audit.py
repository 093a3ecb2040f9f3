"""What it costs to chain and drop audit entries does not grow with the log."""

from functools import partial

from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.audit import jobs
from leadwire.infrastructure import db
from leadwire.infrastructure.jobs import Claimed
from tests.plans.explained import pages, plans_of, vacuum

_CHAINED = """
INSERT INTO audit_entry (id, workspace_id, at, actor, action, subject, detail, address, number, hash)
SELECT 'aud_' || lpad(n::text, 26, '0'), $1, now(), 'u', 'thing.done', '', '', '', n, ''
FROM generate_series($2::int, $3::int) n"""


async def cost(work) -> int:
    await vacuum("audit_entry")
    return pages(await plans_of(work))


async def test_chaining_and_dropping_cost_what_there_is_to_do(workspace, monkeypatch):
    monkeypatch.setattr(jobs, "BATCH", 50)
    job = Claimed(workspace, "")
    costs, first = [], 1
    for last in (1000, 20_000):
        await db.rows(_CHAINED, workspace, first, last)
        idle = await cost(jobs.unchained)
        async with db.transaction():
            for _ in range(50):
                await audit.record(workspace, "u", audit.Entry("thing.done"))
        busy = await cost(partial(jobs.chain, job))
        dropped = await cost(partial(jobs.drop, job))
        costs.append((idle, busy, dropped))
        first = last + 51
        await db.rows("DELETE FROM audit_chain")
    assert await db.value("SELECT count(*) FROM audit_entry WHERE number IS NULL") == 0
    (idle, busy, dropped), (idle_later, busy_later, dropped_later) = costs
    assert idle_later < idle + 50
    assert busy_later < 1.5 * busy
    assert dropped_later < dropped + 100
