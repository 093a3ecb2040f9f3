"""A `leadwire` process for which names under `hangs.example` take 30 s to be looked up, and are then not found.

Addresses of other names are looked up again after a second, so that one sees whether these wait.

python -m ops.bench.delivery.hanging_dns deliver
"""

import socket
import time
from typing import Any, Final

from leadwire.delivery.transport import guarded

_DOMAIN: Final = "hangs.example"
_SECONDS: Final = 30.0


def url(number: int) -> str:
    """An address under a name of its own."""
    return f"https://receiver-{number}.{_DOMAIN}/"


def _hang() -> None:
    guarded._ANSWER_HOLDS = 1.0  # noqa: SLF001
    look_up = socket.getaddrinfo

    def slowly(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host.endswith(_DOMAIN.encode() if isinstance(host, bytes) else _DOMAIN):
            time.sleep(_SECONDS)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return look_up(host, *args, **kwargs)

    socket.getaddrinfo = slowly


if __name__ == "__main__":
    from leadwire.__main__ import main

    _hang()
    main()
