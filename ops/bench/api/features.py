"""The cost of each feature: a whole server and servers without one feature, in turns."""

import random
import statistics
import sys
from typing import Any

from ops.bench.api import measure, servers
from ops.bench.api.data import Data
from ops.bench.api.servers import Program
from ops.bench.api.variants import VARIANTS

Costs = dict[tuple[str, str], list[float]]
_MODULE = "ops.bench.api.variants"


def programs(features: list[str]) -> dict[str, Program]:
    """The whole server, and one without each of `features`."""
    return {"whole": servers.leadwire(), **{name: servers.leadwire(_MODULE, name) for name in features}}


def costs(urls: tuple[str, str], data: Data, core: int, postgres: int, options: Any) -> Costs:
    """Microseconds of server CPU a request that each feature adds, by feature and kind, one for each round.

    In each round the whole server runs first and last, the others between them in random order.
    """
    found: Costs = {}
    with servers.running(programs(options.features), urls, data, core, options.port) as started:
        whole, *others = started
        for number in range(options.slices + 1):  # the first one is to warm up
            for kind in dict.fromkeys(kind for one in others for kind in VARIANTS[one.name].kinds):
                turns = [one for one in others if kind in VARIANTS[one.name].kinds]
                random.shuffle(turns)
                took = [
                    1e6 / measure.run(one, kind, data, postgres, options.slice, options.connections)["per_cpu"]
                    for one in (whole, *turns, whole)
                ]
                if number:
                    all_of_it = (took[0] + took[-1]) / 2
                    found.setdefault(("whole", kind), []).append(all_of_it)
                    for one, without in zip(turns, took[1:-1], strict=True):
                        found.setdefault((one.name, kind), []).append(all_of_it - without)
            print(f"features: round {number} of {options.slices}", file=sys.stderr)
    return found


def table(found: Costs, options: Any) -> None:
    """Print it."""
    kinds = list(dict.fromkeys(kind for _, kind in found))
    print("\nWhat each feature adds, in microseconds of server CPU a request: median (quartiles) of")
    print(f"{options.slices} rounds of {options.slice:g} s, whole server less a server without it.")
    print(f"{'':56}" + "".join(f"{kind:>24}" for kind in kinds))
    for name in ("whole", *options.features):
        does = VARIANTS[name].does if name in VARIANTS else "the whole request"
        print(f"{does:56}" + "".join(f"{_cell(found.get((name, kind), [])):>24}" for kind in kinds))


def _cell(values: list[float]) -> str:
    if not values:
        return "-"
    low, middle, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return f"{middle:.1f} ({low:.1f} to {high:.1f})"
