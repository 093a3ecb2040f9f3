"""Hosts as network namespaces of this machine, under load: cut off, slowed, upgraded, killed; then a scorecard.

    sudo uv run python -m ops.cluster [--topologies plain,patroni-sync,patroni-async] [--faults cut,kill-primary]
                                      [--changes 900] [--seconds 30] [--fault-seconds 8] [--from HEAD~1] [--json FILE]
    sudo uv run python -m ops.cluster --curve       # changes a second with 1 to 3 workers and 1 or 2 `serve`
    uv run python -m ops.cluster --list             # each row, and what happens in it

Exit 1 when a row fails: a delivery lost, a repetition unexplained, the ledger not balanced or anything else not as
promised. Exit 2 where there can be no such hosts.
"""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

import msgspec

from ops.cluster import curve, faults
from ops.cluster.network import isolated, missing
from ops.cluster.row import Row, RowOptions, run
from ops.cluster.servers import absent
from ops.cluster.topology import TOPOLOGIES

_LONGEST = 600.0  # seconds to start, to settle and to stop
_FORM = "{:<14}{:<16}{:>8}{:>8}{:>9}{:>10}{:>6}{:>6}{:>10}{:>13}  {}"


def main() -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m ops.cluster")
    parser.add_argument("--topologies", type=_names, default=list(TOPOLOGIES), help="a list with commas")
    parser.add_argument("--faults", type=_names, default=[], help="kinds, or words of them; all without it")
    parser.add_argument("--changes", type=int, default=900, help="to make while a row runs")
    parser.add_argument("--seconds", type=float, default=30.0, help="in how many")
    parser.add_argument("--fault-seconds", type=float, default=8.0, help="how long a cut lasts, for example")
    parser.add_argument("--from", dest="revision", default="HEAD~1", help="the commit that an upgrade starts from")
    parser.add_argument("--curve", action="store_true", help="throughput instead of faults")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", type=Path, help="write the scorecard there, too")
    parser.add_argument("--inside", help=argparse.SUPPRESS)  # how each row is started, in namespaces of its own
    asked = parser.parse_args()
    if asked.inside == "curve":
        asyncio.run(curve.measure(asked.json.parent))
        return 0
    if asked.inside:
        options = msgspec.json.decode(asked.inside, type=RowOptions)
        row = asyncio.run(asyncio.wait_for(run(options, asked.json.parent), options.seconds + _LONGEST))
        asked.json.write_bytes(msgspec.json.encode(row))
        return 0
    chosen = [
        RowOptions(
            topology=topology, fault=fault, changes=asked.changes, seconds=asked.seconds,
            fault_seconds=asked.fault_seconds, revision=asked.revision,
        )
        for topology in TOPOLOGIES
        if topology in asked.topologies
        for fault in faults.kinds(topology)
        if not asked.faults or any(word in (fault, *fault.split("-")) for word in asked.faults)
    ]  # fmt: skip
    if unknown := set(asked.topologies) - set(TOPOLOGIES):
        parser.error(f"no topology {', '.join(sorted(unknown))}; there are {', '.join(TOPOLOGIES)}")
    if not chosen:
        parser.error("no row has these faults; --list shows them all")
    if asked.list:
        for one in chosen:
            about = (faults.kinds(one.topology)[one.fault].__doc__ or "").strip()
            print(f"{one.topology:<14}{one.fault:<16}{about}")
        return 0
    lacking = absent(
        patroni=not asked.curve and any(one.topology != "plain" for one in chosen),
        clocks=not asked.curve and any(one.fault == "shift-clocks" for one in chosen),
    )
    if why := missing() or ", ".join(f"{name} is missing (Debian: {package})" for name, package in lacking.items()):
        print(why, file=sys.stderr)
        return 2
    if asked.curve:
        return _isolated("curve")[0]
    rows = [_row(one) for one in chosen]
    print("", *lines(rows), sep="\n")
    if asked.json:
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=2))
    return 1 if any(row.failures for row in rows) else 0


def lines(rows: list[Row]) -> list[str]:
    """Return the scorecard as text."""
    head = ["topology", "fault", "lasted", "again", "longest", "accepted", "gone", "lost", "repeated", "unexplained"]
    return [
        _FORM.format(*head, ""),
        *(
            _FORM.format(
                *(row.topology, row.fault, *(f"{took:.1f} s" for took in (row.lasted, row.again, row.longest))),
                *(row.accepted, row.gone, row.lost, row.repeated, row.unexplained),
                "FAILED: " + "; ".join(row.failures) if row.failures else "ok, ledger balanced",
            )
            for row in rows
        ),
        "again: from the start of the fault until a change made after it was delivered; longest: from a commit to its",
        "delivery, at an endpoint that answers at once",
    ]


def _row(options: RowOptions) -> Row:
    print(f"{options.topology}, {options.fault}: {options.changes} changes in {options.seconds:g} s", flush=True)
    code, result = _isolated(msgspec.json.encode(options).decode())
    if code == 0:
        return msgspec.json.decode(result, type=Row)
    return Row(topology=options.topology, fault=options.fault, failures=[f"it did not run to its end (exit {code})"])


def _isolated(what: str) -> tuple[int, bytes]:
    """Run ourselves in namespaces of its own; return the exit code and what was written."""
    place = Path(tempfile.mkdtemp(prefix="leadwire-cluster-"))
    place.chmod(0o711)  # the servers run as `nobody`
    result = place / "result.json"
    try:
        code = isolated(sys.executable, "-m", "ops.cluster", "--inside", what, "--json", str(result))
        return code, result.read_bytes() if result.exists() else b""
    finally:
        if os.environ.get("CLUSTER_KEEP"):
            print(f"logs in {place}")
        else:
            shutil.rmtree(place, ignore_errors=True)


def _names(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    sys.exit(main())
