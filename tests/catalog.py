"""Every metric that any process has."""

import leadwire.processes.deliver
import leadwire.processes.relay
import leadwire.processes.serve  # noqa: F401 - together they load whatever counts
from leadwire.infrastructure.telemetry.metrics import known

__all__ = ["known"]
