"""How a POST can fail: httpx's own exceptions, each with the outcome that the ledger knows it by."""

from typing import Final

import httpx
from pyreqwest import exceptions as rs

from leadwire.delivery.states import Outcome

_TLS_WORDS: Final = (
    "certificate",
    "tls",
    "ssl",
    "handshake",
    "unknownissuer",
    "peer is incompatible",
    "alert",
    "corrupt message",
)

_CONNECTING: Final = "(Connect)"  # hyper's word for the stage


class BlockedAddress(httpx.ConnectError):
    """The host, or one of the addresses behind it, may not be reached."""

    outcome: Outcome = "blocked_address"


class DnsError(httpx.ConnectError):
    """The host's name has no address."""

    outcome: Outcome = "dns_error"


class ConnectFailed(httpx.ConnectError):
    """Nobody answers at the address."""

    outcome: Outcome = "connect_error"


class TlsFailed(httpx.ConnectError):
    """The peer is not who it should be, or speaks no TLS that we speak."""

    outcome: Outcome = "tls_error"


class ProtocolFailed(httpx.RemoteProtocolError):
    """What came back is not HTTP, or the connection broke off."""

    outcome: Outcome = "protocol_error"


class TimedOut(httpx.TimeoutException):
    """The deadline passed, wherever in the exchange it was."""

    outcome: Outcome = "timeout"


def translated(error: rs.PyreqwestError) -> httpx.TransportError:
    """What pyreqwest raised, in these words."""
    causes = [cause["message"] for cause in (getattr(error, "details", None) or {}).get("causes") or ()]
    said = ": ".join(dict.fromkeys([error.message, *causes]))[:500]
    if isinstance(error, rs.RequestTimeoutError):
        return TimedOut(said)
    if any(word in cause.lower() for cause in causes for word in _TLS_WORDS):
        return TlsFailed(said)
    if isinstance(error, rs.ConnectError) and _CONNECTING in said:  # else the connection broke off after it stood
        return ConnectFailed(said)
    return ProtocolFailed(said)
