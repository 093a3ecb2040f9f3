"""The streams: which deliveries are to be made now. They carry ids only; PostgreSQL knows the rest.

An entry that is finished is acknowledged and deleted in one step, so the length minus the pending is the lag, exact
and O(1) on every server version. Nothing is ever trimmed: that could drop what was not delivered. Every function that
asks Redis raises one of `redis_pool.AWAY` when it does not answer.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from leadwire.infrastructure import ids, redis_pool

# What is one step. Of one stream: KEYS[1] is the stream, ARGV[1] the group. No MULTI: in a cluster redis-py starts a
# thread for each command of one.
_ADD, _DONE, LEAVE, _STATE = (
    Path(__file__).with_name(f"{name}.lua").read_text(encoding="utf-8") for name in ("add", "done", "leave", "state")
)
GROUP: Final = "deliverers"
_EXAMINED: Final = 1000  # pending entries
_ADDED: Final = 500  # entries in a step: nobody else is served meanwhile
_MOST_ATTEMPTS: Final = 2**15 - 1


class Key(NamedTuple):
    """A delivery, and the attempts made so far: they are the fence against stale entries."""

    event_id: str
    endpoint_id: str
    attempts: int


_NO_KEY: Final = Key("", "", 0)
_LAST_ID: Final = ids.floor("evt", datetime.max.replace(tzinfo=UTC))  # a later one has no day


class Entry(NamedTuple):
    """A key and where it was read from."""

    stream: bytes
    id: bytes
    key: Key


class StreamState(NamedTuple):
    """What is in one stream, and who reads it. Times are in seconds, by Redis's own clock."""

    name: str
    length: int
    pending: int
    oldest: float
    """Age of its oldest entry."""
    unread: float
    """Age of the oldest that no worker has read."""
    read_to: str
    """The id of the last that was read."""
    held: float
    """Longest time that a consumer has held an entry and asked for nothing, among the oldest 100."""
    consumers: dict[str, float]
    """Time since each consumer asked for something."""

    @property
    def lag(self) -> int:
        """Entries that no worker has read."""
        return self.length - self.pending


def names(shards: int) -> list[str]:
    """Every stream, by shard. The hash tag keeps them on one server of a cluster: one command reads all."""
    return [f"leadwire:{{deliveries}}:{shard}" for shard in range(shards)]


def shard_of(endpoint_id: str, shards: int) -> int:
    """Which shard an endpoint's deliveries go through; `reconcile` computes it in SQL."""
    return int.from_bytes(hashlib.md5(endpoint_id.encode(), usedforsecurity=False).digest()[:2]) % shards


async def add(redis: Redis, keys: Sequence[Key], shards: int, channels: Sequence[str] = ()) -> None:
    """Append one entry per key to the endpoints' shards, and wake whoever has subscribed to one of `channels`."""
    streams = names(shards)
    for start in range(0, len(keys), _ADDED):
        arguments: list[str | int] = [len(channels), *channels]
        for event_id, endpoint_id, attempts in keys[start : start + _ADDED]:
            arguments += (1 + shard_of(endpoint_id, shards), event_id, endpoint_id, attempts)
        await redis.eval(_ADD, shards, *streams, *arguments)
        channels = ()


async def prepare(redis: Redis, shards: int) -> None:
    """Make the group of every stream, from the beginning, where it is missing."""
    for stream in names(shards):
        try:
            await redis.xgroup_create(stream, GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise


async def read(redis: Redis, consumer: str, shards: int, count: int, block_ms: int | None) -> list[Entry]:
    """Take up to `count` new entries per stream, waiting for the first up to `block_ms` (None: not at all)."""
    wanted = dict.fromkeys(names(shards), ">")
    answer = await redis.xreadgroup(GROUP, consumer, wanted, count=count, block=block_ms)  # type: ignore[arg-type]
    return [entry for stream, entries in _streams(answer) for entry in entries_of(stream, entries)]


async def done(redis: Redis, entries: Sequence[Entry]) -> None:
    """Acknowledge and delete: these are recorded, or stale."""
    by_stream: dict[bytes, list[bytes]] = {}
    for entry in entries:
        by_stream.setdefault(entry.stream, []).append(entry.id)
    arguments = [part for entry_ids in by_stream.values() for part in (len(entry_ids), *entry_ids)]
    if entries:
        await redis.eval(_DONE, len(by_stream), *by_stream, GROUP, *arguments)  # type: ignore[arg-type]


async def length(redis: Redis, shards: int) -> int:
    """Return how many entries all streams have together."""
    pipeline = redis.pipeline(transaction=False)
    for stream in names(shards):
        pipeline.xlen(stream)
    return sum(await pipeline.execute())


async def states(redis: Redis, shards: int) -> list[StreamState]:
    """Return how full every stream is. Raise NotPrimary for a replica, which may not know the latest entries."""
    await redis_pool.check_primary(redis)
    result = []
    for stream in names(shards):
        answer: Any = await redis.eval(_STATE, 1, stream, GROUP)
        (seconds, microseconds), length, oldest, unread, read_to, pending, held, idle_times = answer
        now = int(seconds) + int(microseconds) / 1e6
        age, lag = (max(now - int(entry.partition(b"-")[0]) / 1e3, 0.0) if entry else 0.0 for entry in (oldest, unread))
        consumers = {name.decode(): idle / 1000 for name, idle in idle_times}
        result.append(StreamState(stream, length, pending, age, lag, read_to.decode(), held / 1000, consumers))
    return result


async def pending(redis: Redis, streams: Sequence[StreamState]) -> list[Key]:
    """Return of which deliveries there are entries that were read and are not acknowledged."""
    keys = []
    for stream in streams:
        start = "-" if stream.pending else None
        while start:
            page: Any = await redis.xrange(stream.name, start, stream.read_to, _EXAMINED)
            keys += [entry.key for entry in entries_of(stream.name.encode(), page)]
            start = f"({page[-1][0].decode()}" if len(page) == _EXAMINED else None
    return keys


def _streams(answer: Any) -> Iterable[tuple[bytes, Any]]:
    """XREADGROUP's answer is a list of pairs under RESP2 and a map under RESP3."""
    if isinstance(answer, dict):
        return [
            (stream, entries[0] if entries and isinstance(entries[0], list) else entries)
            for stream, entries in answer.items()
        ]
    return [(stream, entries) for stream, entries in answer or ()]


def entries_of(stream: bytes, entries: Any) -> Iterable[Entry]:
    """Return the entries of an answer of Redis."""
    for entry_id, fields in entries:
        if fields:  # older servers answer nothing for one that was deleted
            yield Entry(stream, entry_id, _key(fields))


def _key(fields: dict[bytes, bytes]) -> Key:
    """The key an entry carries; one of no delivery when somebody else wrote the entry: it is then stale."""
    try:
        key = Key(fields[b"e"].decode(), fields[b"w"].decode(), int(fields[b"n"]))
    except (KeyError, ValueError):
        return _NO_KEY
    valid = ids.is_id("evt", key.event_id) and ids.is_id("we", key.endpoint_id) and 0 <= key.attempts <= _MOST_ATTEMPTS
    return key if valid and key.event_id <= _LAST_ID else _NO_KEY
