"""What every process exposes: its version and role, its database connections, its CPU and memory."""

import platform
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector, generate_latest
from prometheus_client.registry import Collector

from leadwire import __version__
from leadwire.infrastructure import db
from leadwire.infrastructure.telemetry import metrics
from leadwire.infrastructure.telemetry.metrics import Gauge

_BUILD: Final = Gauge("build_info", "Always 1; the version and the role of this process.", "role", "version", "python")
Gauge(
    "db_connections",
    "Database connections of this process: `used`, `idle`, the most it may have (`limit`), and `awaited`: callers"
    " that wait for one.",
    "state",
    read=lambda: {(state,): float(count) for state, count in db.pool_use().items()},
)


class _Ours(Collector):
    collect = staticmethod(metrics.collect)


_REGISTRY: Final = CollectorRegistry(auto_describe=False)
_REGISTRY.register(_Ours())
ProcessCollector(registry=_REGISTRY)
GCCollector(registry=_REGISTRY)


def begin(role: str) -> None:
    """Expose that this process is a `role` (`serve`, `relay` or `deliver`)."""
    _BUILD.show_all({(role, __version__, platform.python_version()): 1.0})


def exposition() -> bytes:
    """Return every metric of this process in Prometheus's text format, 0.0.4."""
    return generate_latest(_REGISTRY)
