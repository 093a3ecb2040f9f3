"""Each line about a delivery names its workspace."""

import asyncio
from typing import Any

import pytest

from leadwire.delivery.worker import loop, quarantine, recorder
from leadwire.delivery.worker.heartbeat import Heartbeat
from leadwire.delivery.worker.loop import Deliverer
from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import NewEndpoint
from leadwire.infrastructure import db
from tests import make
from tests.delivery.wired import begin, endpoint


class Told:
    """A delivery to be begun by a worker, and what is logged about it."""

    def __init__(self, wire: Any, made: NewEndpoint, caplog: pytest.LogCaptureFixture) -> None:
        self.wire, self.made, self._log = wire, made, caplog
        self.worker = Deliverer(wire.redis, wire.transport, wire.settings)

    async def begin(self) -> None:
        """Read what is in the streams, claim it and send it."""
        await self.wire.relay()
        await begin(self.worker, await self.wire.read())
        await asyncio.gather(*self.worker._posts)

    def fields(self, event: str) -> list[dict[str, Any]]:
        return [vars(record)["fields"] for record in self._log.records if record.message == event]

    def workspace(self, event: str) -> str:
        """The one that the line names, next to the endpoint."""
        (fields,) = self.fields(event)
        assert fields["endpoint_id"] == self.made.id
        return str(fields["workspace_id"])


@pytest.fixture
async def told(workspace, bot, wire, receiver, caplog):
    caplog.set_level("DEBUG", "leadwire")
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    return Told(wire, made, caplog)


async def test_an_attempt_and_the_end_of_an_endpoint(workspace, told, receiver):
    receiver.answer = 410
    await told.begin()
    told.worker._recorder.end()
    await told.worker._recorder.run()
    assert told.workspace("delivery.attempted") == told.workspace("endpoint.disabled") == workspace


async def test_a_test_that_fails_is_counted_as_no_dead_letter(workspace, told, receiver):
    receiver.answer = 500
    await changes.send_test(workspace, told.made.id)
    await told.begin()
    told.worker._recorder.end()
    await told.worker._recorder.run()
    batches = told.fields("batch.delivered")
    assert (sum(one["attempts"] for one in batches), sum(one["dead"] for one in batches)) == (2, 0)


async def test_what_is_set_aside(workspace, told):
    await told.wire.relay()
    await quarantine.set_aside(await told.wire.read())
    assert told.workspace("delivery.set_aside") == workspace


async def test_a_secret_that_cannot_be_read(workspace, told):
    await db.rows("UPDATE webhook_endpoint SET secret = 'nonsense'")
    await told.begin()
    await asyncio.gather(*told.worker._aside)
    assert told.workspace("secret.unreadable") == workspace


async def test_what_is_claimed_too_late(workspace, told, monkeypatch):
    in_time = iter((True, False))
    monkeypatch.setattr(Heartbeat, "covers", lambda *_: next(in_time))
    await told.begin()
    assert told.workspace("deliver.too_late") == workspace


async def test_what_fails_and_what_cannot_be_recorded(workspace, told, monkeypatch):
    monkeypatch.setattr(recorder, "_PAUSES", ())
    (job,) = (await told.wire.relay(), await told.wire.claim())[1]
    (done,) = await told.wire.post([job])
    told.worker._held[job.entry.key] = job.entry
    await told.worker._recorder._record_apart([done._replace(error="\0")])
    assert told.workspace("delivery.unrecordable") == workspace
    monkeypatch.setattr(loop, "attempt", None)
    slot = told.worker._slots.take(job.entry.key.endpoint_id)
    told.worker._held[job.entry.key] = job.entry
    await told.worker._post(job, slot, asyncio.Event())
    assert told.workspace("delivery.failed") == workspace
