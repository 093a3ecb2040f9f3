"""The end of a run, without faults: what is queued again now was not lost, and a replay is in order."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from leadwire.domain.webhooks.redrives import Selection
from leadwire.infrastructure import clock
from ops.chaos import load
from ops.chaos.acts import start_replay
from ops.chaos.cluster import Cluster
from ops.chaos.customer import Customer
from ops.chaos.load import Change
from ops.chaos.records import ORDERED, Accepted

CHANGES: Final = 144
_RATE: Final = 18.0  # a second: several rounds of `reconcile` meet deliveries that are under way


class Calm(NamedTuple):
    """When it began, the changes that were accepted, how many deliveries were queued again, and when a replay in order
    began.
    """

    start: float
    accepted: Sequence[Accepted]
    reconciled: int
    replayed: float


async def observe(
    cluster: Cluster, customer: Customer, share: Sequence[Sequence[Change]], settled: Callable[[], Awaitable[object]]
) -> Calm:
    """Make the last changes when all else is delivered, and then replay them to an endpoint with an order."""
    start = time.time()
    customer.since = {customer.changing: start}
    first = min(change.number for mine in share for change in mine)
    accepted = await load.send_changes(customer.workload, cluster.url, share, _RATE, first)
    await settled()
    reconciled = sum(line["deliveries"] for line in cluster.logged("stream.reconciled", since=start))
    replayed = time.time()
    await start_replay(customer, ORDERED[0], Selection(since=clock.from_unix(start)))
    return Calm(start, accepted, reconciled, replayed)
