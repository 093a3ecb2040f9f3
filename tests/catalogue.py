"""Every metric that any process has."""

import leadwire.processes.deliver
import leadwire.processes.relay
import leadwire.processes.serve  # noqa: F401 - together they load whatever counts
from leadwire.telemetry.cells import known

__all__ = ["known"]
