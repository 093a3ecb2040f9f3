"""The transport of what a process sends besides deliveries: heads of the audit log, notices, questions to providers."""

import functools
from typing import Final

from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.infrastructure import settings

PATIENCE: Final = 10.0  # seconds for a whole request


@functools.cache  # one a process
def transport() -> GuardedTransport:
    """Return what sends to public addresses, and to networks that the operator allows."""
    chosen = settings.get()
    return GuardedTransport(chosen.allowed_networks, timeout=PATIENCE, proxy=chosen.egress_proxy)
