"""A database host that is simply gone, as in a failover, is noticed within half a minute.

No packet comes that would say so, and asyncpg leaves the waiting to TCP: 15 minutes for what was sent, for ever for an
answer. On Linux both have bounds of ours; elsewhere only the system's keepalive is asked for.
"""

import socket
from typing import Any, Final

_PROBES: Final = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}  # seconds, seconds, probes
_UNACKNOWLEDGED_MS: Final = 25_000  # the same 25 s for what was sent


def keep_alive(connection: Any) -> None:
    """Ask for it on an asyncpg connection; on a Unix socket there is nothing to ask for."""
    found = connection._transport.get_extra_info("socket")  # noqa: SLF001 - asyncpg has no other way in
    if found is None or found.family not in (socket.AF_INET, socket.AF_INET6):
        return
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in {**_PROBES, "TCP_USER_TIMEOUT": _UNACKNOWLEDGED_MS}.items():
        if hasattr(socket, name):
            found.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
