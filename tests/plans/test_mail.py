"""What a mail costs, however many wait or were sent: told by pages, never by a stopwatch."""

from functools import partial

from leadwire.domain.mail import reads
from leadwire.domain.mail.changes import attempts
from leadwire.infrastructure import db
from tests.plans.explained import pages, plans_of, vacuum

_MAILS = """
INSERT INTO mail (id, workspace_id, kind, recipient, data, state, priority, created_at, due_at, finished_at)
SELECT $2 || $3 || n, $1, 'endpoints', n || '@example.org', '', $2, 1, now(), now() + n * $4 * interval '1 ms', now()
FROM generate_series(1, $5::int) n"""
MORE = 50
"""Pages that an index a level deeper, and a row or two, may cost: 20,000 mails are in hundreds."""


async def mails(workspace, state, when, step, count):
    await db.rows(_MAILS, workspace, state, when, step, count)


async def cost(work):
    await vacuum("mail", "mail_suppression", "workspace")
    return pages(await plans_of(work))


async def test_a_claim_costs_what_it_claims(workspace):
    await mails(workspace, "waiting", "due", -1, 500)
    costs = [await cost(partial(attempts.claim, "waitingdue1"))]
    await mails(workspace, "waiting", "overdue", -10, 20_000)
    await mails(workspace, "sent", "once", -1, 20_000)
    costs.append(await cost(partial(attempts.claim, "waitingdue2")))
    assert costs[1] < costs[0] + MORE, costs


async def test_a_look_for_mails_without_a_job_does_not_read_what_was_sent(workspace):
    few = await cost(partial(attempts.without_job, 1))
    await mails(workspace, "sent", "once", -1, 20_000)
    assert await cost(partial(attempts.without_job, 1)) < few + MORE


async def test_what_was_sent_is_not_counted(workspace):
    await mails(workspace, "dead", "once", -1, 50)
    few = await cost(reads.counts)
    await mails(workspace, "sent", "once", -1, 20_000)
    assert await cost(reads.counts) < few + MORE
    assert await reads.counts() == {"waiting": 0, "dead": 50}
