"""Ours, the FastAPI app and pgbench on the same data, in turns."""

import statistics
import sys
from typing import Any

from ops.bench.api import limit, measure
from ops.bench.api.data import Data
from ops.bench.api.measure import KINDS, Run
from ops.bench.api.servers import Running

Runs = dict[tuple[str, str], list[Run]]


def runs(pair: list[Running], data: Data, url: str, postgres: int, options: Any) -> Runs:
    """Every kind on all of them, `rounds` times, after a round to warm up; who goes first alternates."""
    found: Runs = {}
    pgbench, _ = limit.pgbench()
    for number in range(options.rounds + 1):
        seconds = options.seconds if number else min(2.0, options.seconds)
        for kind in options.kinds:
            turn: dict[str, Run] = {}
            for server in pair if number % 2 else pair[::-1]:
                turn[server.name] = measure.run(server, kind, data, postgres, seconds, options.connections)
            if pgbench:
                per_second = limit.measure(pgbench, url, kind, data, seconds, options.connections)
                turn["pgbench"] = {"per_second": per_second}
            if number:
                for name, run in turn.items():
                    found.setdefault((kind, name), []).append(run)
                told = ", ".join(f"{name} {run.get('per_cpu', run['per_second']):.0f}" for name, run in turn.items())
                print(f"round {number} {kind}: {told}", file=sys.stderr)
    return found


def table(found: Runs, options: Any) -> None:
    """Print it."""
    print(
        f"{'':28} {'':9} {'req/CPU-s':>9} {'ratio':>6} {'(rounds)':>13} {'req/s':>6} {'p50 ms':>7} {'p99 ms':>7} ",
        end="",
    )
    print(f"{'PG us/req':>9} {'pgbench/s':>9} {'share':>6}")
    for kind in options.kinds:
        ours, theirs = found[kind, "leadwire"], found[kind, "fastapi"]
        pairs = [mine["per_cpu"] / other["per_cpu"] for mine, other in zip(ours, theirs, strict=True)]
        ratio = f"{_median(ours, 'per_cpu') / _median(theirs, 'per_cpu'):.2f}x"
        line = f"{KINDS[kind]:28} {_line('leadwire', ours, ratio, f'({min(pairs):.2f}-{max(pairs):.2f})')}"
        print(f"{line} {_share(ours, found.get((kind, 'pgbench'), []))}")
        print(f"{'':28} {_line('fastapi', theirs, '', '')}")
    print("\nCPU is the server process's. Leadwire also writes request ids and a Link header, checks its key against")
    print(
        "the database every 5 s, counts against a limit and nudges its relay; it keeps exact totals where the FastAPI"
    )
    print("app counts every time, so that list waits for PostgreSQL, which is in req/s, p50, p99 and PG.")
    print(
        "pgbench/s: the statements that Leadwire sends, by `pgbench -M prepared` with as many connections, on the core"
    )
    print("of PostgreSQL; share: Leadwire's req/s of that. ", end="")
    print(limit.pgbench()[1] or "In pgbench the statements make the id, and values come as text.")


def _line(name: str, runs: list[Run], ratio: str, spread: str) -> str:
    return (
        f"{name:9} {_median(runs, 'per_cpu'):9.0f} {ratio:>6} {spread:>13} {_median(runs, 'per_second'):6.0f} "
        f"{_median(runs, 'p50'):7.1f} {_median(runs, 'p99'):7.1f} {_median(runs, 'postgres'):9.0f}"
    )


def _share(ours: list[Run], alone: list[Run]) -> str:
    if not alone:
        return f"{'-':>9} {'-':>6}"
    most = _median(alone, "per_second")
    return f"{most:9.0f} {_median(ours, 'per_second') / most:6.0%}"


def _median(runs: list[Run], what: str) -> float:
    return statistics.median(run[what] for run in runs)
