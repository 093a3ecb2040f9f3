"""`python -m ops.bench.race`: from a request to its webhook, ours and any peer that is given (README.md)."""

import argparse
import asyncio
import gc
import json
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import uvloop

from leadwire.infrastructure import settings
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import Services, services
from ops.bench.race.counts import processes, servers
from ops.bench.race.load import Load, Service
from ops.bench.race.services import leadwire, peer

_ROUNDS: Final = {f"{rate}/s": {"rate": rate} for rate in (20, 100, 400)} | {
    f"{clients} clients": {"clients": clients} for clients in (4, 32)
}
_SHOWN: Final = (
    "p50 ms", "p99 ms", "events/s", "CPU ms", "per core", "wakes",
    "transactions", "rows written", "WAL kB", "Redis calls",
)  # fmt: skip
_OWN: Final = "load and receiver"
_BARS: Final[dict[str, dict[str, dict[str, float]]]] = {  # what we want to reach, in parts of a peer's figure
    "100/s": {"p50 ms": {"svix": 1}, "p99 ms": {"svix": 1}, "CPU ms": {"svix": 1}},
    "400/s": {"p50 ms": {"svix": 1}, "p99 ms": {"svix": 1}, "CPU ms": {"svix": 1}},
    "4 clients": {"events/s": {"svix": 1}},
    "32 clients": {"events/s": {"svix": 1.5, "outpost": 1.1}, "CPU ms": {"outpost": 1}},
}
Rounds = dict[str, dict[str, Any]]  # figures by round and name


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="leadwire-bench-", ignore_cleanup_errors=True) as place:
        Path(place).chmod(0o711)
        with services(Settings(data_dir=Path(place)), durable=True) as running:
            os.environ |= {"LEADWIRE_RATE_LIMIT": "0", "LEADWIRE_LOG_LEVEL": "warning", "LEADWIRE_DATA_DIR": place}
            os.environ |= {"LEADWIRE_DATABASE_URL": running.database_url, "LEADWIRE_REDIS_URL": running.redis_url}
            os.environ |= {"LEADWIRE_ALLOWED_NETWORKS": "127.0.0.1", "LEADWIRE_MAX_CONNECTIONS_PER_ADDRESS": "4096"}
            settings.get.cache_clear()
            uvloop.run(_run(options, running))


async def _run(options: argparse.Namespace, running: Services) -> None:
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    before, found = os.getloadavg()[0], {}
    print(f"{machine}, load {before:.2f} at the start")
    async with Load(options.listen) as load, leadwire(running, options.port, load.url) as ours:
        found["leadwire"] = await _rounds("leadwire", ours, load, options)
    for name, key in (("svix", options.svix_token), ("outpost", options.outpost_key)):
        if url := getattr(options, name):
            async with Load(options.listen) as load:
                theirs = peer(name, url, key, getattr(options, f"{name}_pids"))
                found[name] = await _rounds(name, theirs, load, options)
    if options.json:
        report = {"machine": machine, "load": [before, os.getloadavg()[0]], "seconds": options.seconds}
        options.json.write_text(json.dumps(report | {"services": found}, indent=2))
    if options.baseline:
        found["before"] = json.loads(options.baseline.read_text())["services"]["leadwire"]
    print("", *table(found), sep="\n")


async def _rounds(name: str, service: Service, load: Load, options: argparse.Namespace) -> Rounds:
    for _ in range(60):  # until it serves
        await load.run(service, 1, rate=100)
        if load.arrived:
            break
    await load.run(service, 3, clients=32)
    found: Rounds = {}
    for label in options.rounds:
        before = await servers(service) | await processes(service)
        gc.disable()  # a pause of ours would be taken for theirs
        start = time.process_time()
        await load.run(service, options.seconds, **_ROUNDS[label])
        own = (time.process_time() - start) * 1e3
        gc.enable()
        after = await processes(service)
        await asyncio.sleep(2)  # for repetitions
        after |= await servers(service)
        if not (count := len(load.arrived)):
            raise SystemExit(f"{name}, {label}: nothing arrived; refused: {load.refused[:1]}")
        used = {what: (value - before.get(what, 0.0)) / count for what, value in after.items()}
        delays = sorted((at - load.planned[number]) * 1e3 for number, at in load.arrived.items())
        found[label] = {
            "sent": len(load.planned),
            "refused": len(load.refused),
            "arrived": count,
            "lost": load.lost,
            "doubled": load.doubled,
            "p50 ms": delays[count // 2],
            "p99 ms": delays[count * 99 // 100],
            "events/s": count / (max(load.arrived.values()) - load.start),
            "CPU ms": (cpu := sum(used[part] for part in service.pids)),
            "per core": 1e3 / cpu,  # events in a second of one core's time
            _OWN: own / count,
            **used,
        }
        shown = ", ".join(f"{what} {value:.4g}" for what, value in found[label].items())
        print(f"{name} {label}: {shown}", *load.refused[:1], flush=True)
    return found


def table(found: dict[str, Rounds]) -> Iterator[str]:
    """The first service, the bar, and each of the others with the ratio of the first to it."""
    ours, *others = found
    yield f"{'':<24}{ours:>10}{'bar':>9}" + "".join(f"{name:>10}{'ratio':>8}" for name in others)
    for label, figures in found[ours].items():
        for what in filter(figures.__contains__, _SHOWN):
            line = f"{label:<11}{what:<13}{figures[what]:>10.2f}{_bar(found, label, what):>9}"
            for other in others:
                theirs = found[other].get(label, {}).get(what)
                line += f"{theirs:>10.2f}{figures[what] / theirs:>8.2f}" if theirs else f"{'-':>10}{'-':>8}"
            yield line


def _bar(found: dict[str, Rounds], label: str, what: str) -> str:
    """What the peers that took part make of the bar. `!`: it is not reached."""
    parts = _BARS.get(label, {}).get(what, {})
    bars = [part * found[name][label][what] for name, part in parts.items() if label in found.get(name, {})]
    if not bars:
        return "-"
    ours, more = next(iter(found.values()))[label][what], what == "events/s"
    bar = max(bars) if more else min(bars)
    return f"{bar:.2f}" + "!" * (ours < bar if more else ours > bar)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ops.bench.race", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each round")
    parser.add_argument("--rounds", nargs="+", choices=_ROUNDS, default=list(_ROUNDS), help="all, if not given")
    parser.add_argument("--port", type=int, default=8640, help="of our API")
    parser.add_argument("--listen", type=int, default=9099, help="port of the receiver")
    for name, key in (("svix", "token"), ("outpost", "key")):
        parser.add_argument(f"--{name}", metavar="URL")
        parser.add_argument(f"--{name}-{key}", default="")
        parser.add_argument(f"--{name}-pids", type=lambda text: map(int, text.split(",")), default=())
    parser.add_argument("--json", type=Path, help="where the figures are written")
    parser.add_argument("--baseline", type=Path, help="such a file of an earlier run, to compare ours with")
    return parser.parse_args()


if __name__ == "__main__":
    main()
