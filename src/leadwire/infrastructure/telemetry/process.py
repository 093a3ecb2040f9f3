"""What every process tells of itself: which build it is, how its database connections are used, what it costs."""

import platform
from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector, generate_latest
from prometheus_client.registry import Collector

from leadwire import __version__
from leadwire.infrastructure import db
from leadwire.infrastructure.telemetry import metrics
from leadwire.infrastructure.telemetry.metrics import Gauge, Labels

_role = ""


class _Ours(Collector):
    collect = staticmethod(metrics.collect)


_REGISTRY: Final = CollectorRegistry(auto_describe=False)
_REGISTRY.register(_Ours())
ProcessCollector(registry=_REGISTRY)
GCCollector(registry=_REGISTRY)


def begin(role: str) -> None:
    """This process is a `role` (`serve`, `relay` or `deliver`)."""
    global _role  # noqa: PLW0603 - a process has one
    _role = role


def exposition() -> bytes:
    """Every metric of this process in Prometheus's text format, 0.0.4."""
    return generate_latest(_REGISTRY)


def _build() -> Mapping[Labels, float]:
    return {(_role, __version__, platform.python_version()): 1.0}


def _connections() -> Mapping[Labels, float]:
    return {(state,): float(count) for state, count in db.pool_use().items()}


Gauge("build_info", "Always 1; the version and the role of this process.", "role", "version", "python", read=_build)
Gauge(
    "db_connections",
    "Database connections of this process: `used`, `idle`, the most it may have (`limit`), and `awaited`: callers"
    " that wait for one.",
    "state",
    read=_connections,
)
