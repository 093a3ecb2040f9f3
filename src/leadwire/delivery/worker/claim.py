"""Stream entries become jobs: the first fence.

A claim takes a delivery for this worker as long as it lives. What does not match the delivery's row is stale, and never
sent: it was recorded, or another worker has it.
"""

import functools
import time
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from leadwire.delivery.endpoints import discard, due
from leadwire.delivery.endpoints.table import SEALED, opened
from leadwire.delivery.streams import Entry, Key
from leadwire.delivery.transport.identity import Identity
from leadwire.delivery.worker.attempt import ClaimedDelivery
from leadwire.infrastructure import db, ids, telemetry
from leadwire.infrastructure.db.statements import Statement, lists, named
from leadwire.infrastructure.errors import OperatorError

_CLAIM, _LOCKED, _CANCEL, _PUT_BACK, _RELEASE, _NARROW = named(__file__, "claim locked cancel put_back release narrow")


class Claim(NamedTuple):
    """What is to be sent, and what is to be put back: its endpoint takes nothing now, or has an unreadable secret."""

    jobs: list[ClaimedDelivery]
    held: list[Entry]
    unreadable: set[str]


async def claim(entries: Sequence[Entry], owner: str, lease: float, gone: Collection[str] = ()) -> Claim:
    """Claim for `owner`, for `lease` seconds, what is to be sent of `entries`. The rest is done with, or `locked` by
    somebody else.

    `gone` are workers from which it may be taken. What cannot be sent any more is canceled.
    """
    asked_at = time.perf_counter()
    by_key = {entry.key: entry for entry in entries}
    rows: list[db.Row] = []
    for day, keys in groupby(sorted(by_key), key=lambda key: ids.day(key.event_id)):
        values = asked(list(keys)) | {"owner": owner, "lease": lease, "gone": list(gone)}
        try:
            rows += await _claim_of(f"event_{day}").rows(**values)
        except db.NoTable:  # of a day that is dropped, or that the relay has not made: the default partition has it
            rows += await _claim_of("event").rows(**values)
    now = time.perf_counter()
    claimed, refused = Claim([], [], set()), list[Key]()
    for event_id, endpoint_id, attempts, ended, takes, *sealed_and_job in rows:
        key = Key(event_id, endpoint_id, attempts)
        sealed, job = sealed_and_job[:5], sealed_and_job[5:]
        if ended:
            refused.append(key)
        elif not takes:
            claimed.held.append(by_key[key])
        else:
            times = (now, asked_at)
            try:
                secret, staged, signer, headers, pem = map(functools.partial(opened, endpoint_id), SEALED, sealed)
            except OperatorError as error:  # it waits until our key is set right
                names = ClaimedDelivery(by_key[key], "", "", "", (), None, *times, *job).names
                telemetry.fail("secret.unreadable", error=error, **names)
                claimed.held.append(by_key[key])
                claimed.unreadable.add(endpoint_id)
                continue
            identity = Identity(endpoint_id, pem) if pem else None
            delivery = ClaimedDelivery(by_key[key], secret, staged, signer, pairs(headers), identity, *times, *job)
            claimed.jobs.append(delivery)
    if refused:
        await _CANCEL.rows(**asked(refused), owner=owner)
    return claimed


async def locked(entries: Sequence[Entry], owner: str, gone: Collection[str] = ()) -> set[Key]:
    """Return which of the entries that a claim did not return are not stale: somebody has locked their rows."""
    keys = [entry.key for entry in entries]
    return {Key(*row) for row in await _LOCKED.rows(**asked(keys), owner=owner, gone=list(gone))}


async def release(held: Sequence[Key], owner: str) -> None:
    """Give up what `owner` has claimed a lease ago or earlier, but for what it holds: it has dropped that without an
    outcome, or never heard of its claim. While it lives, nobody else may take these; Redis may have lost their entries.
    """
    await _RELEASE.rows(**asked(held or [Key("", "", 0)]), owner=owner)


async def put_back(keys: Sequence[Key], owner: str, limits: Mapping[str, tuple[int, float]]) -> bool:
    """Let queued deliveries wait. `limits`: how many POSTs these endpoints may have, and not before so many seconds.

    Return True. Raise db.Locked when somebody is changing one of them.
    """
    async with db.transaction():
        await due.PATIENCE.rows()
        await discard.wake({key.endpoint_id for key in keys}, stay_open=False)
        if limits:
            await _NARROW.rows(**lists("endpoints posts pauses", [(name, *limit) for name, limit in limits.items()]))
        rows = await _PUT_BACK.rows(**asked(keys), owner=owner)
        await due.release_first({(endpoint_id, subject) for endpoint_id, subject in rows if subject})
    return True


@functools.cache
def _claim_of(events: str) -> Statement:
    """The claim that reads bodies from a table of events: that of a day, or their parent."""
    return Statement(_CLAIM.text.replace("JOIN event v", f"JOIN {events} v"), _CLAIM.names)


@functools.lru_cache(maxsize=1024)
def pairs(headers: str) -> tuple[tuple[str, str], ...]:
    """Return an endpoint's custom headers, from the JSON object they are kept as; '' for none."""
    return tuple(msgspec.json.decode(headers or "{}", type=dict[str, str]).items())


def asked(keys: Sequence[Key]) -> dict[str, list[Any]]:
    """Return the values by which statements name deliveries."""
    return lists("events endpoints attempts", keys)
