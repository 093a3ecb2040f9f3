"""A batch that fails comes apart, so that an item that fails holds up no other."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from leadwire.infrastructure import db, redis_pool, telemetry

T = TypeVar("T")

_SERVERS: Final[tuple[type[BaseException], ...]] = (*db.TRANSIENT, *redis_pool.AWAY)


async def most(
    items: Sequence[T], work: Callable[[Sequence[T]], Awaitable[object]], event: str, *, least: int = 1
) -> int:
    """Do `work` with all items in the open transaction, each part behind a savepoint. Return how many are done.

    What fails is left as it is, and logged as `event`. Raise the error where fewer than `least` are done.
    """
    failed = await undone(items, work)
    if failed and len(items) - len(failed) < least:
        raise failed[0][1]
    for item, error in failed:
        telemetry.fail(event, error=error, item=str(item))
    return len(items) - len(failed)


async def undone(items: Sequence[T], work: Callable[[Sequence[T]], Awaitable[object]]) -> list[tuple[T, Exception]]:
    """Do `work` as `apart` does, in the open transaction, each part behind a savepoint."""

    async def undoable(part: Sequence[T]) -> None:
        roll_back = await db.savepoint()
        try:
            await work(part)
        except Exception:
            await roll_back()
            raise

    return await apart(items, undoable)


async def apart(items: Sequence[T], work: Callable[[Sequence[T]], Awaitable[object]]) -> list[tuple[T, Exception]]:
    """Do `work` with all items at once, and what fails with each half of them, until what fails is a single item.

    `work` takes effect for all items that it is called with, or for none. Return those that failed, each with its
    error; the others are done. Raise db.TRANSIENT or redis_pool.AWAY: that a server is away is the fault of no item.
    """
    if not items:
        return []
    try:
        await work(items)
    except _SERVERS:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it is about these items
        if len(items) == 1:
            return [(items[0], error)]
        half = len(items) // 2
        return [*await apart(items[:half], work), *await apart(items[half:], work)]
    return []
