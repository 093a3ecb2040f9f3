"""The consumers of the streams, which are workers: since when each is silent, and how their entries are taken over.

A worker that lives says so every few seconds (`beat`); by the time since then Redis knows who is gone, and
`worker/reader.py` decides. That the database was away, or what its clock says, makes no difference.
"""

from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from redis.asyncio import Redis

from leadwire.delivery.streams import GROUP, LEAVE, Entry, entries_of, names

RECLAIMS: Final = 5
_SUSPECT: Final = 3  # times handed out
_EXAMINED: Final = 1000  # pending entries of a consumer
_KILLED_MS: Final = 3_600_000  # a consumer that has asked for nothing for so long
_NEVER_ADDED: Final = f"{2**64 - 1}-{2**64 - 2}"  # the id after it is what servers understand by `>`


class Reclaimed(NamedTuple):
    """What was taken over from the dead. `poison` is what nobody has survived, though it was handed out again
    `RECLAIMS` times. `soon`: there may be more; else whoever takes more at once holds it together with suspects.
    """

    taken: list[Entry]
    poison: list[Entry]
    soon: bool


async def beat(redis: Redis, consumer: str, shards: int) -> None:
    """Say that a consumer lives: it asks for what it holds after any entry. Every version of the server notes that."""
    await redis.xreadgroup(GROUP, consumer, {names(shards)[-1]: _NEVER_ADDED}, count=1)


async def idle(redis: Redis, shards: int) -> dict[str, float]:
    """Return the seconds since each consumer was heard of."""
    heard: dict[str, float] = {}
    for stream in names(shards):
        for consumer in await redis.xinfo_consumers(stream, GROUP):
            name, seconds = consumer["name"].decode(), consumer["idle"] / 1000
            heard[name] = min(seconds, heard.get(name, seconds))
    return heard


async def reclaim(
    redis: Redis, consumer: str, shards: int, idle_ms: int, count: int, holders: Collection[str],
    ours: Collection[tuple[bytes, bytes]] = (),
) -> Reclaimed:  # fmt: skip
    """Take over entries that one of `holders` has held for longer than `idle_ms`: it is gone, or has dropped them.

    At most `count` of each stream, not `ours` (stream and id): what this worker is still at work on.
    """
    reclaimed = Reclaimed([], [], soon=True)
    for stream in names(shards):
        pending: list[Any] = []
        for holder in holders:
            pending += await redis.xpending_range(
                stream, GROUP, "-", "+", _EXAMINED + len(ours), consumername=holder, idle=idle_ms
            )
        held = _to_take_over([entry for entry in pending if (stream.encode(), entry["message_id"]) not in ours], count)
        if not held:
            continue
        answer = await redis.xclaim(stream, GROUP, consumer, idle_ms, list(held))
        for entry in entries_of(stream.encode(), answer):
            (reclaimed.poison if held[entry.id] > RECLAIMS else reclaimed.taken).append(entry)
        reclaimed = reclaimed._replace(soon=reclaimed.soon and min(held.values()) < _SUSPECT)
    return reclaimed._replace(soon=reclaimed.soon and bool(reclaimed.taken))


def _to_take_over(held: Sequence[Any], count: int) -> dict[bytes, int]:
    """Return those to take over together, and how often each was handed out.

    The least often first, and a quarter as many for each time that their holder died: so what was only held together
    with poison is separated from it and delivered.
    """
    times = {entry["message_id"]: entry["times_delivered"] for entry in sorted(held, key=itemgetter("times_delivered"))}
    deadly = [entry for entry, handed in times.items() if handed > RECLAIMS]
    least = next(iter(times.values()), RECLAIMS + 1)
    alike = [entry for entry, handed in times.items() if handed == least <= RECLAIMS]
    most = max(1, count >> 2 * (min(least, RECLAIMS) - 1))
    return {entry: times[entry] for entry in (*alike[:most], *deadly[:count])}


async def leave(redis: Redis, consumer: str, shards: int) -> None:
    """Take a consumer's name off the groups, and those of workers that were killed, unless they still hold something.

    One that was only suspended gets its name back when it reads.
    """
    for stream in names(shards):
        await redis.eval(LEAVE, 1, stream, GROUP, consumer, str(_KILLED_MS))
