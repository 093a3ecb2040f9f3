"""One run: start the cluster, send changes while faults are injected, wait until all is delivered, judge the result."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from leadwire.infrastructure import clock, db, settings
from leadwire.infrastructure.db.migrations import migrate
from leadwire_development.embedded import Services
from ops.chaos import calm, load
from ops.chaos.acts import perform
from ops.chaos.cluster import Cluster, Deployment
from ops.chaos.customer import Customer
from ops.chaos.evidence import balanced, evidence, wait_until_settled
from ops.chaos.faults import inject
from ops.chaos.journal import Journal, free_port
from ops.chaos.load import Workload
from ops.chaos.members import KINDS, RAISED
from ops.chaos.plan import Planned
from ops.chaos.proxy import LossyProxy
from ops.chaos.puller import Puller
from ops.chaos.records import FETCHED, Accepted, Fault, Post
from ops.chaos.replays import erase
from ops.chaos.verdict import Evidence, Scorecard, judge

ENDPOINTS: Final = ("healthy", "slow", "flaky", "ordered")
_MORE: Final = ("failing", "changing-1", FETCHED)
_BESIDE: Final = ("beside", "relayed")
"""Other customers, by the name of their one endpoint: changes queue the deliveries of the first, the relay those of the
second, which has an order."""
_EVERY: Final = 0.4  # seconds between their changes
_LATE: Final = 10.0  # seconds until what could not be recorded amid a fault of this customer has been told of

SHORT: Final = {
    "LEADWIRE_DELIVERY_TIMEOUT": "2",
    "LEADWIRE_LEASE": "5",
    "LEADWIRE_RETRY_SCHEDULE": "1,2,4",
    "LEADWIRE_RECONCILE_AFTER": "5",
}
"""Settings with which a run ends soon."""


class RunOptions(NamedTuple):
    """The options of a run. `settle` is the limit, in seconds, for everything to be delivered after the last change.

    `plan` are the faults, `acts` what customers do meanwhile.
    """

    events: int
    seconds: float
    seed: int
    settle: float
    plan: Sequence[Planned]
    acts: Sequence[Planned] = ()


async def run(
    running: Services, environment: Mapping[str, str], directory: Path, options: RunOptions
) -> dict[str, Scorecard]:
    """Run everything on servers that are up. Return the scorecard of each customer."""
    _announce(options)
    logging.getLogger("asyncpg").addHandler(logging.NullHandler())  # the database goes away: we know
    await db.open_pool(running.database_url, 6)
    await migrate()
    journal = Journal(directory / "journal.jsonl")
    urls = {name: journal.url(name) for name in (*ENDPOINTS, *_MORE)} | {FETCHED: f"pull:{FETCHED}"}
    mortals = sum(planned.kind == "erase" for planned in options.acts)
    workload = await load.create_data(urls, options.events + calm.CHANGES, mortals=mortals)
    beside = {name: await load.create_data({name: journal.url(name)}, 0, name) for name in _BESIDE}
    journal.start(workload.secrets | {name: one.secrets[name] for name, one in beside.items()})
    try:
        async with (
            LossyProxy(running.redis_url) as proxy,
            Cluster(running, environment, directory, free_port(), proxy) as cluster,
            Customer(workload, journal, cluster.url) as customer,
        ):
            cluster.victim, cluster.journal, cluster.beside = customer, journal, _BESIDE
            seen = await _observe_all(cluster, customer, beside, options)
            return {name: judge(evidence) for name, evidence in seen.items()}
    finally:
        journal.stop()
        await db.close_pool()


def _announce(options: RunOptions) -> None:
    chosen = settings.get()
    print(
        f"{options.events} changes in {options.seconds:g} s, {len(options.plan)} faults, {len(options.acts)} acts, "
        f"seed {options.seed}\n"
        f"  lease {chosen.lease:g} s, delivery timeout {chosen.delivery_timeout:g} s, retries after "
        f"{', '.join(map(str, chosen.retry_schedule))} s, lost in Redis after {chosen.reconcile_after:g} s",
        flush=True,
    )


async def _observe_all(
    cluster: Cluster, customer: Customer, beside: Mapping[str, Workload], options: RunOptions
) -> dict[str, Evidence]:
    """Let everybody do what they do while faults are injected; see what came of it, and of a calm end."""
    stop, fetched = asyncio.Event(), asyncio.Event()
    puller = Puller(customer)
    fetching = asyncio.create_task(puller.run(fetched))
    share = load.changes(customer.workload, options.events + calm.CHANGES, options.seed)
    busy = [[one for one in mine if one.number < options.events] for mine in share]
    rate = options.events / options.seconds
    workspaces = [customer.workspace, *(one.workspace for one in beside.values())]
    async with asyncio.TaskGroup() as group:
        others = {
            name: group.create_task(load.change_until(one, cluster.url, stop, _EVERY)) for name, one in beside.items()
        }
        group.create_task(perform(customer, options.acts))
        sending = group.create_task(load.send_changes(customer.workload, cluster.url, busy, rate))
        happened = await inject(cluster, options.plan, settings.get().lease)
        await sending
        stop.set()
    settled = partial(wait_until_settled, cluster, workspaces, options.settle)
    await settled()
    last = [[one for one in mine if one.number >= options.events] for mine in share]
    end = await calm.observe(cluster, customer, last, settled)
    left, redriven = await settled()
    fetched.set()
    await fetching
    posts = [*cluster.journal.posts(), *puller.posts]
    known = {"unfinished": left, "redriven": redriven}
    found = {"chaos": await _of_victim(cluster, customer, [*sending.result(), *end.accepted], happened, posts, **known)}
    shared = [fault for fault in happened if fault.kind not in KINDS]
    for name, one in beside.items():
        found[name] = await evidence(one, one.endpoints, await others[name], shared, posts, **known)
    erasures = [f"erasure: {status}" for status in await erase(customer.workload, cluster.url) if status != 200]
    refused = [*found["chaos"].refused, *erasures]
    found["chaos"] = msgspec.structs.replace(
        found["chaos"],
        calm=end.start,
        slack=settings.get().reconcile_after,
        reconciled=end.reconciled,
        replayed=end.replayed,
        refused=refused,
    )
    balance = await balanced(cluster)
    return {name: msgspec.structs.replace(one, ledger=balance) for name, one in found.items()}


async def _of_victim(
    cluster: Cluster,
    customer: Customer,
    accepted: Sequence[Accepted],
    happened: Sequence[Fault],
    posts: Sequence[Post],
    **known: int,
) -> Evidence:
    """The evidence about the customer who does things, and whose rows are bad at times."""
    excused = [(fault.start, fault.end + _LATE) for fault in happened if fault.kind in KINDS]
    # A busy machine tells late of what a fault has refused, so its own words count, and not the time alone.
    lines = [
        (clock.parse(line["at"]).timestamp(), f"unrecordable: {line['error']}")
        for line in cluster.logged("delivery.unrecordable")
        if RAISED not in line["error"]
    ]
    aside = [line["event_id"] for name in ("event", "delivery") for line in cluster.logged(f"{name}.set_aside")]
    names = [name for name in customer.endpoints if not name.startswith("changing") or name == customer.changing]
    found = await evidence(customer.workload, customer.endpoints, accepted, happened, posts, **known)
    return msgspec.structs.replace(
        found,
        endpoints=names,
        since=customer.since,
        acts=customer.acts,
        aside=aside,
        refused=[
            told for at, told in (*customer.refused, *lines) if not any(start <= at <= end for start, end in excused)
        ],
    )


async def observe(
    deployment: Deployment,
    workload: Workload,
    journal: Journal,
    options: RunOptions,
    injecting: Callable[[], Awaitable[Sequence[Fault]]],
) -> Evidence:
    """Send the changes of one customer while faults are injected, wait until all is delivered, and return what was
    seen.
    """
    share = load.changes(workload, options.events, options.seed)
    async with asyncio.TaskGroup() as group:
        rate = options.events / options.seconds
        sending = group.create_task(load.send_changes(workload, deployment.url, share, rate))
        happened = await injecting()
    left, redriven = await wait_until_settled(deployment, [workload.workspace], options.settle)
    found = await evidence(
        workload, workload.endpoints, sending.result(), happened, journal.posts(), unfinished=left, redriven=redriven
    )
    return msgspec.structs.replace(found, ledger=await balanced(deployment))
