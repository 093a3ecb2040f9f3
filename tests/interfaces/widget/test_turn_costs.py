"""What a visitor's turn costs on every machine: statements, with BEGIN and COMMIT, and trips to Redis."""

import asyncio
from contextvars import ContextVar

import pytest
from redis.asyncio.connection import AbstractConnection

from leadwire.delivery.envelope import KINDS
from leadwire.delivery.relay.admit import admit
from leadwire.infrastructure import redis_pool
from leadwire.infrastructure.db.pool import Connection
from leadwire.infrastructure.redis_direct import Line
from tests.delivery.wired import endpoint
from tests.domain.bots.conftest import published
from tests.domain.bots.flows import SMALL
from tests.interfaces.widget.conftest import Caller

_PHONE = SMALL.replace('input = "email"\nsave_to = "email"', 'input = "phone"\nsave_to = "phone"').replace(
    "{{email}}", "{{phone}}"
)
# Counts for figures are written for many turns, rate limits are settled for many messages, and a new connection to
# Redis introduces itself.
_NOT_OF_A_TURN = ("INSERT INTO bot_count", "leadwire:rate:", "HELLO", "SETINFO")

_own: ContextVar[bool] = ContextVar("own", default=False)  # whether the request sends it that is looked at


class Costs:
    """What was sent."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.trips: list[str] = []

    async def of(self, request) -> tuple[int, int]:
        """How many statements and how many trips to Redis a request takes, with what follows from it."""
        await _told()  # what was before
        self.statements.clear()
        self.trips.clear()
        token = _own.set(True)
        answer = await request
        _own.reset(token)
        assert answer.status_code in (200, 201), answer.text
        await _told()
        return _counted(self.statements), _counted(self.trips)


async def _told():
    """Wait until everything is told to Redis."""
    while tasks := tuple(redis_pool._background_tasks):
        await asyncio.gather(*tasks)


def _counted(sent):
    return len([text for text in sent if not any(other in text for other in _NOT_OF_A_TURN)])


@pytest.fixture
def costs(monkeypatch):
    noted = Costs()

    def watch(owner, name, note):
        send = getattr(owner, name)

        async def sending(connection, sent, *args, **options):
            note(sent)
            return await send(connection, sent, *args, **options)

        monkeypatch.setattr(owner, name, sending)

    for name in ("fetch", "execute"):
        watch(Connection, name, lambda text: noted.statements.append(text) if _own.get() else None)
    for owner, name in ((AbstractConnection, "send_packed_command"), (Line, "ask")):
        watch(owner, name, lambda sent: noted.trips.append(str(sent)))
    return noted


async def test_a_turn_takes_few_statements_and_one_trip_to_redis(workspace, caller, costs):
    await endpoint(workspace, "http://127.0.0.1:9001/open", *KINDS)
    await admit()  # opens it: changes make their deliveries themselves
    took = [await costs.of(caller.says(text)) for text in ("hm", "ada@example.com", "Small")]
    assert took == [(4, 1), (3, 1), (2, 1)]


async def test_a_turn_that_asks_for_a_person_takes_one_more(caller, costs):
    assert [(await costs.of(caller.says(text)))[0] for text in ("hm", "hm")] == [4, 3]


async def test_who_has_been_here_before_takes_no_more(caller, costs):
    await Caller(caller.client, caller.bot).says("ada@example.com")
    assert (await costs.of(caller.says("hm")))[0] == 4
    assert (await costs.of(caller.says("ada@example.com")))[0] == 3


async def test_one_phone_number_at_a_time(workspace, anonymous, shop, costs):
    caller = Caller(anonymous, await published(workspace, _PHONE))
    await caller.says("hm")
    assert (await costs.of(caller.says("+442079460000")))[0] == 6
