"""Entries that a claim did not return: stale ones are acknowledged, those of rows that are locked added again."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from redis.asyncio import Redis

from leadwire.delivery import metrics, streams
from leadwire.delivery.streams import Entry
from leadwire.infrastructure import telemetry
from leadwire.infrastructure.backoff import rest

_AGAIN_AFTER: Final = 0.2  # seconds


async def acknowledge(redis: Redis, entries: Sequence[Entry]) -> None:
    """Take stale entries out of the streams."""
    if entries:
        metrics.STALE.inc(len(entries))
        telemetry.log("stream.stale", entries=len(entries))
        await streams.done(redis, entries)


async def add_again(redis: Redis, entries: Sequence[Entry], shards: int, stop: asyncio.Event) -> None:
    """Let entries be read again soon, by whichever worker; at once when this one stops."""
    await rest(_AGAIN_AFTER, stop)
    try:
        await streams.add(redis, [entry.key for entry in entries], shards)
        await streams.done(redis, entries)
    except Exception as error:  # noqa: BLE001 - they stay pending, and are taken over after the lease
        telemetry.log("stream.not_added_again", level=logging.WARNING, error=error, entries=len(entries))
