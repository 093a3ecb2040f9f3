"""How many of the endpoints that were tried lately fail, and whether they have answered."""

import pytest

from leadwire.delivery.monitoring import reach
from leadwire.delivery.worker import hourly_stats
from leadwire.infrastructure import db
from tests import make
from tests.delivery.test_gauges import shown
from tests.delivery.wired import endpoint


async def tried(workspace: str, *outcomes: str) -> None:
    """An endpoint for each, whose last attempt has ended so."""
    made = [await endpoint(workspace, "http://127.0.0.1:9000/", "lead.created") for _ in outcomes]
    await db.rows(
        """INSERT INTO endpoint_hour (endpoint_id, hour, delivered, failed, took, last_at, last_outcome)
           SELECT id, date_trunc('hour', now()), 1, 1, '{}', now(), outcome
           FROM unnest($1::text[], $2::text[]) AS given (id, outcome)""",
        [one.id for one in made],
        list(outcomes),
    )


@pytest.mark.parametrize(
    ("outcomes", "failing"),
    [
        ((), {"unreached": 0}),
        (("delivered", "delivered", "dns_error"), {"unreached": 0}),
        (("http_5xx", "http_5xx"), {"refused": 0}),  # two receivers of their own
        (("http_5xx", "gone", "timeout", "delivered"), {"refused": 0.75}),
        (("dns_error", "connect_error", "proxy_error"), {"unreached": 1}),
        (("tls_error", "timeout", "http_4xx", "http_5xx"), {"unreached": 1}),
    ],
)
async def test_the_share_that_fails_and_whether_they_have_answered(workspace, outcomes, failing):
    await tried(workspace, *outcomes)
    await reach.update()
    assert shown(reach.FAILING) == failing
    assert {outcome: count for outcome, count in shown(reach.TRIED).items() if count} == {
        outcome: outcomes.count(outcome) for outcome in outcomes
    }


async def test_the_last_attempt_counts_and_for_five_minutes(wire, workspace, bot, receiver, db_clock):
    await endpoint(workspace, receiver.url, "lead.created")
    assert await reach.lately() == []
    for receiver.answer in (500, 200):
        await make.lead(workspace, bot)
        await wire.turn()
        await hourly_stats.flush()
        await db_clock.forward(60)
    await reach.update()
    assert (shown(reach.TRIED)["delivered"], shown(reach.TRIED)["http_5xx"]) == (1, 0)
    assert await reach.lately() == [receiver.url]
    await db_clock.forward(301)
    await reach.update()
    assert sum(shown(reach.TRIED).values()) == 0
