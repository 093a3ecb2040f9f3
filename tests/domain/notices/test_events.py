"""What endpoints are told of others: each change once, with a signature, also where no mail is sent."""

from datetime import timedelta

import msgspec
import pytest

from leadwire.domain.notices.schema import ENDPOINTS
from leadwire.domain.webhooks import changes as webhooks
from leadwire.infrastructure import clock, db
from leadwire_client import verify
from tests import make
from tests.delivery.wired import endpoint
from tests.domain.notices.telling import tell

PAUSE = ENDPOINTS.pause.total_seconds() + 1
NAMED = ("endpoint.failing", "endpoint.disabled", "endpoint.recovered", "delivery.dead")
BAD = "https://bad.example/secret-path?key=1"


@pytest.fixture
async def watching(workspace, receiver):
    """An endpoint that names all of it, and works."""
    return await endpoint(workspace, receiver.url, *NAMED)


@pytest.fixture
async def bad(workspace):
    """An endpoint that fails, and names all of it, too. Another one has not named it."""
    await endpoint(workspace, "https://usual.example/", "lead.created")
    made = await endpoint(workspace, BAD, "lead.created", *NAMED)
    since = "UPDATE webhook_endpoint SET failing_since = now() - $2 * interval '1 minute', failures = 3 WHERE id = $1"
    await db.rows(since, made.id, 6.0)
    return made


async def told(wire, receiver):
    """What has arrived, by kind, since this was asked last."""
    await wire.turn()
    arrived = [msgspec.json.decode(one.body) for one in receiver.deliveries]
    receiver.deliveries.clear()
    return [(one["event"], one["data"]) for one in arrived]


async def test_each_change_is_sent_once_without_a_mail_server(watching, bad, wire, receiver, db_clock):
    assert [await tell("endpoints") for _ in range(2)] == [0, 0]
    about = {"endpoint_id": bad.id, "host": "bad.example"}
    row = await db.row("SELECT failing_since AS since FROM webhook_endpoint WHERE id = $1", bad.id)
    since, until = clock.iso(row["since"]), clock.iso(row["since"] + timedelta(days=5))
    assert await told(wire, receiver) == [("endpoint.failing", about | {"since": since, "disabled_at": until})]
    await db_clock.forward(4 * 86_400)
    assert [await tell("endpoints") for _ in range(2)] == [0, 0]
    assert await told(wire, receiver) == [("endpoint.failing", about | {"since": since, "disabled_at": until})]
    await db_clock.forward(86_400)
    disable = "UPDATE webhook_endpoint SET enabled = false, disabled_reason = 'failing' WHERE id = $1"
    await db.rows(disable, bad.id)  # as a worker does
    assert [await tell("endpoints") for _ in range(2)] == [0, 0]
    assert await told(wire, receiver) == [("endpoint.disabled", about | {"since": since, "reason": "failing"})]
    await webhooks.enable(None, bad.id)
    await db_clock.forward(PAUSE)
    assert [await tell("endpoints") for _ in range(2)] == [0, 0]
    assert await told(wire, receiver) == [("endpoint.recovered", about)]


async def test_it_is_told_once_however_many_processes_look_and_signed(watching, bad, wire, receiver):
    await tell("endpoints", processes=4)
    await wire.turn()
    (one,) = receiver.deliveries
    event = verify(one.body, one.headers, watching.secret)
    assert (event.kind, event.data.endpoint_id, event.data.host) == ("endpoint.failing", bad.id, "bad.example")
    assert event.data.disabled_at - event.data.since == timedelta(days=5)
    assert b"secret-path" not in one.body


async def test_nobody_is_told_of_itself_directly_or_by_the_relay(bad, workspace, wire, receiver):
    assert await tell("endpoints") == 0
    assert await db.value("SELECT count(*) FROM event WHERE kind = 'endpoint.failing'") == 1
    assert await db.value("SELECT count(*) FROM outbox") + await db.value("SELECT count(*) FROM delivery") == 0
    await db.rows("INSERT INTO outbox (event_id, workspace_id, kind, subject, position, recorded_at)"
        " SELECT id, workspace_id, kind, subject, position, recorded_at FROM event")  # fmt: skip
    await wire.turn()
    assert await db.value("SELECT count(*) FROM outbox") + await db.value("SELECT count(*) FROM delivery") == 0


async def test_dead_letters_are_counted_by_endpoint_and_lost_counts_are_not(
    watching, workspace, bot, wire, receiver, db_clock
):
    bad = await endpoint(workspace, BAD, "lead.created")
    for _ in range(3):
        await make.somebody(workspace, bot)
        event = await db.value("SELECT max(id) FROM event WHERE kind = 'lead.created'")
        await db.rows("DELETE FROM delivery")
        await make.ended(event, bad.id, "dead")
    await db_clock.forward(360)
    assert [await tell("dead_letters") for _ in range(2)] == [0, 0]
    listed = [{"endpoint_id": bad.id, "host": "bad.example", "count": 3}]
    assert await told(wire, receiver) == [("delivery.dead", {"count": 3, "endpoints": listed})]
    event = await db.value("SELECT id FROM event WHERE kind = 'delivery.dead'")
    await db.rows("DELETE FROM delivery_result WHERE event_id = $1", event)
    await make.ended(event, watching.id, "dead")
    await db_clock.forward(86_400)
    assert await tell("dead_letters") == 0
    assert await told(wire, receiver) == []
    assert await db.value("SELECT before IS NOT NULL FROM notice WHERE kind = 'dead_letters'")  # it has looked
