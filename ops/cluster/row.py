"""One row of the scorecard: a topology under load, a fault, and what came of it."""

import contextlib
import json
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from leadwire.infrastructure import db, ids, settings
from leadwire.infrastructure.db.migrations import migrate
from ops.chaos import load
from ops.chaos.journal import Journal
from ops.chaos.records import Accepted, Post
from ops.chaos.run import ENDPOINTS, SHORT, RunOptions, observe
from ops.chaos.verdict import Evidence, judge, key
from ops.cluster import faults
from ops.cluster.network import HARNESS, SUBNET
from ops.cluster.topology import TOPOLOGIES, HostedCluster, previous

_SETTINGS: Final = SHORT | {"LEADWIRE_RATE_LIMIT": "0", "LEADWIRE_ALLOWED_NETWORKS": SUBNET}
_SLACK: Final = 1.0  # seconds between an event's id and the answer to its change


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a fault. Times are in seconds."""

    topology: str
    fault: str
    lasted: float = 0.0
    again: float = 0.0  # from the start of the fault until a change made after it is delivered
    longest: float = 0.0  # from a commit to its delivery, at an endpoint that answers at once
    accepted: int = 0
    gone: int = 0  # acknowledged changes that a promoted standby lacks, each of them told by the ledger
    lost: int = 0
    repeated: int = 0
    unexplained: int = 0
    failures: Sequence[str] = ()


class RowOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a row. The fault comes after a fifth of `seconds`; a cut lasts `fault_seconds`."""

    topology: str
    fault: str
    changes: int
    seconds: float
    fault_seconds: float
    revision: str


async def run(options: RowOptions, directory: Path) -> Row:
    """Run it, in namespaces of our own. `directory` is empty."""
    for name in [name for name in os.environ if name.startswith("LEADWIRE_")]:
        del os.environ[name]
    os.environ |= _SETTINGS | {"LEADWIRE_DATA_DIR": str(directory)}
    settings.get.cache_clear()
    cluster = HostedCluster(TOPOLOGIES[options.topology], directory, _SETTINGS)
    checkout = previous(options.revision, directory) if options.fault == "upgrade" else None
    url = await cluster.prepare(checkout)
    os.environ |= cluster.environment
    settings.get.cache_clear()
    if checkout:
        await cluster.migrate_with(checkout)
    await db.open_pool(url, 4)
    await migrate()
    journal = Journal(directory / "journal.jsonl", HARNESS)
    workload = await load.create_data({name: journal.url(name) for name in ENDPOINTS}, options.changes)
    journal.start(workload.secrets)
    if options.fault == "shift-clocks":
        cluster.fake_clocks()
    work = faults.kinds(options.topology)[options.fault]
    try:
        async with cluster:
            run_options = RunOptions(options.changes, options.seconds, 7, 120.0, ())
            evidence = await observe(
                cluster,
                workload,
                journal,
                run_options,
                lambda: faults.inject(cluster, work, options.seconds / 5, options.fault_seconds),
            )
            gone: list[Accepted] = []
            told = ""
            if options.topology == "patroni-async":
                _, output = await cluster.command("ledger", "--json")
                epochs = json.loads(output)["epochs"]
                evidence, gone = without_gone(evidence)
                told = untold(gone, epochs[0]["last_event"] if epochs else None)
            return _row(options, evidence, gone, told)
    finally:
        journal.stop()
        with contextlib.suppress(*db.GONE):
            await db.close_pool()


def without_gone(seen: Evidence) -> tuple[Evidence, list[Accepted]]:
    """Return what was seen less the changes that the database has lost with the old primary, and these. Pure."""
    recorded = {key(one) for one in seen.events}
    gone = [one for one in seen.accepted if key(one) not in recorded]

    def kept(ones: Sequence[Accepted] | Sequence[Post]) -> list[Accepted | Post]:
        return [one for one in ones if key(one) in recorded]

    return msgspec.structs.replace(seen, accepted=kept(seen.accepted), posts=kept(seen.posts)), gone


def untold(gone: Sequence[Accepted], last_event: str | None) -> str:
    """Return which of the changes that are gone the ledger does not tell of: '' for none. Pure."""
    if not gone:
        return ""
    if last_event is None:
        return f"{len(gone)} changes are gone, and the ledger says nothing"
    since = ids.moment(last_event).timestamp() - _SLACK
    early = [one for one in gone if one.accepted < since]
    told = datetime.fromtimestamp(since, tz=ids.moment(last_event).tzinfo)
    return f"{len(early)} changes are gone that were accepted before {told:%H:%M:%S}" if early else ""


def _row(options: RowOptions, evidence: Evidence, gone: Sequence[Accepted], told: str) -> Row:
    card = judge(evidence)
    # Numbers and order that the old primary gave are not known to an asynchronous standby: told with the epoch.
    forgiven = ("misnumbered", "misordered") if gone else ()
    failures = [one for one in card.failures if one.split()[0] not in forgiven]
    (fault,) = evidence.faults
    again = card.recovery.get(fault.kind)
    if again is None:
        failures.append("nothing was delivered after the fault")
    for first, one in card.suspects[:5]:
        print(f"  unexplained: {one}\n        after: {first}")
    return Row(
        topology=options.topology,
        fault=options.fault,
        lasted=round(fault.end - fault.start, 1),
        again=again.max if again else 0.0,
        longest=card.late["healthy"].max,
        accepted=card.accepted + len(gone),
        gone=len(gone),
        lost=card.lost,
        repeated=sum(card.duplicates.values()),
        unexplained=card.unexplained,
        failures=[*failures, *([told] if told else [])],
    )
