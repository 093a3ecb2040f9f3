"""Shares of the pool: a workspace that wants every connection leaves some to the others, and the turns are fair."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from leadwire.infrastructure.db import shares
from leadwire.infrastructure.db.pool import Pool
from leadwire.infrastructure.db.shares import Crowded
from leadwire_development.embedded import Services
from tests.waiting import eventually

SIZE = 10


class Callers:
    """Callers of a pool, each with what it holds."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.held: list[tuple[str, Any]] = []  # in the order in which they were served

    async def want(self, workspace: str, count: int) -> list[asyncio.Task[None]]:
        """So many callers of a workspace ask for a connection and keep it. Return when each has one or waits."""
        before = self.pool.use()["awaited"]
        asked = [asyncio.create_task(self._take(workspace)) for _ in range(count)]
        await eventually(lambda: sum(not one.done() for one in asked) == self.pool.use()["awaited"] - before)
        return asked

    async def _take(self, workspace: str) -> None:
        shares.workspace.set(workspace)
        self.held.append((workspace, await self.pool.acquire()))

    async def give(self, workspace: str) -> None:
        """One of a workspace is done with the connection that it has held for longest."""
        one = next(one for one in self.held if one[0] == workspace)
        self.held.remove(one)
        self.pool.release(one[1])
        for _ in range(3):  # whoever is next has it
            await asyncio.sleep(0)

    def counts(self) -> dict[str, int]:
        return dict(Counter(workspace for workspace, _ in self.held))


@pytest.fixture
async def callers(servers: Services) -> AsyncIterator[Callers]:
    callers = Callers(Pool(await asyncpg.create_pool(servers.database_url, min_size=0, max_size=SIZE)))
    yield callers
    while callers.held:
        await callers.give(callers.held[0][0])
    assert callers.pool.use() | {"idle": 0} == {"used": 0, "idle": 0, "awaited": 0, "held_back": 0, "limit": SIZE}
    await asyncio.wait_for(callers.pool.close(), 240)


async def test_one_workspace_has_four_fifths_and_others_need_not_wait(callers: Callers) -> None:
    await callers.want("a", 30)
    assert callers.counts() == {"a": 8}
    assert callers.pool.use() == {"used": 8, "idle": 0, "awaited": 22, "held_back": 22, "limit": SIZE}
    await callers.want("b", 1)
    assert callers.counts() == {"a": 8, "b": 1}


async def test_the_last_connection_is_for_a_workspace_that_has_none(callers: Callers) -> None:
    for workspace in "abc":
        await callers.want(workspace, 30)
    assert callers.counts() == {"a": 8, "b": 1, "c": 1}
    await callers.want("d", 1)
    await callers.give("a")
    assert callers.counts() == {"a": 7, "b": 1, "c": 1, "d": 1}
    await callers.give("d")
    for workspace in "efg":
        await callers.want(workspace, 1)
        assert callers.counts()[workspace] == 1, "served at once"
        await callers.give(workspace)


async def test_workspaces_that_all_want_more_come_to_have_about_the_same(callers: Callers) -> None:
    for workspace in "abc":
        await callers.want(workspace, 60)
    for _ in range(20):
        await callers.give(max(callers.counts(), key=callers.counts().__getitem__))
        assert sum(callers.counts().values()) == SIZE - 1
    assert min(callers.counts().values()) >= 2


async def test_within_a_workspace_who_came_first_is_served_first(callers: Callers) -> None:
    await callers.want("a", 8)
    second, third = await callers.want("a", 2)
    await callers.give("a")
    assert (second.done(), third.done()) == (True, False)


async def test_what_is_nobodys_has_no_share_and_takes_its_turn(callers: Callers) -> None:
    await callers.want("", SIZE + 1)
    await callers.want("a", 1)
    assert callers.counts() == {"": SIZE}
    await callers.give("")
    assert callers.counts() == {"": SIZE}
    await callers.give("")
    assert callers.counts() == {"": SIZE - 1, "a": 1}


async def test_who_stops_waiting_leaves_no_trace(callers: Callers) -> None:
    asked = await callers.want("a", 10)
    waiting = [one for one in asked if not one.done()]
    waiting[0].cancel()
    callers.pool.release(callers.held.pop()[1])  # goes to the other
    waiting[1].cancel()  # in the very moment it came
    await asyncio.wait(waiting)
    assert (callers.pool.use()["awaited"], callers.counts()) == (0, {"a": 7})
    await callers.want("a", 1)
    assert callers.counts() == {"a": 8}


async def test_a_connection_that_is_dropped_goes_to_a_workspace_that_may_have_it(callers: Callers) -> None:
    await callers.want("a", 9)
    workspace, connection = callers.held.pop()
    await callers.pool.drop(connection)
    await eventually(lambda: callers.counts() == {workspace: 8})


async def test_a_workspace_may_not_keep_any_number_of_requests_waiting(
    callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "MOST_WAITING", 2)
    await callers.want("a", 10)
    (refused,) = await callers.want("a", 1)
    with pytest.raises(Crowded) as told:
        await refused
    assert told.value.headers == {"Retry-After": "1"}
    assert (await callers.want("b", 1))[0].done(), "another workspace is not concerned"


@pytest.mark.parametrize(("size", "most"), [(1, 1), (2, 1), (3, 2), (4, 3), (5, 4), (20, 16), (500, 400)])
def test_the_share_of_one_workspace_alone(size: int, most: int) -> None:
    pool = shares.Shares(size)
    while len(pool.users) < size and (len(pool.users) < pool.few or pool.allow("a")):
        pool.users[object()] = "a"
    assert len(pool.users) == most
    assert pool.allow("b") == (size > most)
