"""Deliveries that are due, retries among them, and may be sent now go from `waiting` to `queued`; the relay's loop puts
them into the streams.

This is where an endpoint's window, rate and order are kept, and the rate of a new host. None of them costs a retry:
what has to wait stays `waiting`. Only endpoints whose own time has come are looked at, so neither other endpoints nor
the length of a backlog cost anything. Receivers that wait for something to fetch are woken.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from leadwire.delivery import long_polls
from leadwire.delivery.relay.queue_front import Front
from leadwire.delivery.streams import Key
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.batches import apart
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.loop import Failing

BATCH: Final = 1000  # deliveries
_ENDPOINTS: Final = 100  # a round
_FAIR: Final = 10  # endpoints of a round that may share all of a batch

ALWAYS: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Before any delivery."""

_DUE, _WOKEN, _ADMIT, _OVERFULL, _CLOSE = named(__file__, "due woken admit overfull close")
_failing: Final = Failing("admit")


async def admit(batch: int = BATCH, front: Front[datetime] | None = None, woken: set[str] | None = None) -> list[Key]:
    """Queue what is due. Return the keys to put into the streams. Raise db.TRANSIENT.

    `woken` are endpoints that are looked at though they are not due; those that were are removed from it. Where that
    fails, each half of the endpoints is admitted by itself; an endpoint that fails alone rests.
    """
    keys, front, woken = list[Key](), front or Front(ALWAYS), woken or set()
    looked = {"most": _ENDPOINTS, "resting": (resting := _failing.resting()), "since": front.since() or ALWAYS}
    first = sorted(woken.difference(resting))[:_ENDPOINTS]

    async def queue(endpoints: Sequence[str] | None) -> None:
        async with db.transaction():
            rows = await _DUE.rows(**looked, ids=endpoints)
            due = [row["id"] for row in rows]
            if rows:
                front.at(rows[0]["front"])
            also = set(first if endpoints is None else endpoints).intersection(first).difference(due)
            if also:
                due += [row["id"] for row in await _WOKEN.rows(ids=list(also))]
            share = max(1, batch // max(_FAIR, len(due)))
            rate = settings.get().new_host_rate
            rows = await _ADMIT.rows(ids=due, share=share, new_host_rate=rate) if due else []
        for event_id, endpoint_id, attempts in rows:
            if event_id is None:
                long_polls.wake(endpoint_id)
            else:
                keys.append(Key(event_id, endpoint_id, attempts))
        _failing.succeeded(due)

    try:
        await queue(None)
    except db.TRANSIENT:
        raise
    except Exception:  # noqa: BLE001 - whatever it is, it is about these endpoints
        endpoints = {row["id"] for row in await _DUE.rows(**looked, ids=None)}.union(first)
        _failing.all_failed(await apart(sorted(endpoints), queue))
    woken.difference_update(first)
    return keys


async def close_overfull(most: int) -> None:
    """Let deliveries wait from now on where more than `most` of an endpoint are queued."""
    endpoints = [row["endpoint_id"] for row in await _OVERFULL.rows(most=most)]
    _failing.all_failed(await apart(endpoints, lambda ids: _CLOSE.rows(ids=ids)))
