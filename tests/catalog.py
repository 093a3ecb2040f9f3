"""Every metric that any process has, and what this one counts."""

from typing import NamedTuple

import leadwire.processes.deliver
import leadwire.processes.relay
import leadwire.processes.serve  # noqa: F401 - together they load whatever counts
from leadwire.infrastructure.telemetry.metrics import PREFIX, REGISTRY, Gauge
from leadwire.processes.background import find_kinds

find_kinds()


class Family(NamedTuple):
    """A metric of ours: its kind, its labels, its name as it is scraped."""

    name: str
    kind: str
    labels: tuple[str, ...]
    exposed: str


def value(name: str, **labels: str) -> float:
    """What this process exposes under a name; 0 when it is not there."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


def _family(metric) -> Family:
    if isinstance(metric, Gauge):
        return Family(metric.name, "gauge", metric.labels, metric.name)
    name, kind = metric._name, metric._type
    return Family(name, kind, metric._labelnames, f"{name}_total" if kind == "counter" else name)


_ALL = [_family(metric) for metric, names in REGISTRY._collector_to_names.items() if PREFIX in "".join(names)]
known = {family.exposed: family for family in _ALL}
