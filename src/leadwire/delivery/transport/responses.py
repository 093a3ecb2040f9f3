"""What came of a request, out of what pyreqwest has of it: an answer, or a failure as an exception of httpx."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pyreqwest import exceptions as rs
from pyreqwest.response import Response

from leadwire.delivery.states import Outcome
from leadwire.infrastructure.http_client import httpx

_LARGEST_BODY: Final = 64 * 1024  # bytes that are read
_BODY_WAIT: Final = 1.0  # seconds that a body nobody depends on may take after its head
_NO_CONTENT: Final = 204
_MULTIPLE_CHOICES: Final = 300
_RETRY_AFTER: Final = "retry-after"
_CONNECTING: Final = "(Connect)"  # hyper's word for the stage
_TUNNEL: Final = "tunnel error"  # hyper's word for a proxy that has refused
_LARGE_CHAIN: Final = "HandshakePayloadTooLarge"  # rustls's word, for what announces more than it ever reads
_TLS: Final = re.compile(
    "certificate|tls|ssl|handshake|unknownissuer|peer is incompatible|alert|corrupt message", re.IGNORECASE
)


class ConnectFailed(httpx.ConnectError):
    """Nothing was sent: no address, one that may not be reached, nobody there, a proxy that refuses, or no TLS.
    `outcome` says which.
    """

    def __init__(self, outcome: Outcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


class ProtocolFailed(httpx.RemoteProtocolError):
    """What came back is not HTTP, or the connection broke off."""

    outcome: Outcome = "protocol_error"


class TimedOut(httpx.TimeoutException):
    """The deadline passed, wherever in the exchange it was."""

    outcome: Outcome = "timeout"


class ReceiverResponse(NamedTuple):
    """Status, headers and body of an answer, the body cut at 64 KiB. Header names are looked up without case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    received: Sequence[tuple[str, str]] = ()
    """Every header, for people to look at."""


def translated(error: rs.PyreqwestError, proxy: str = "") -> ConnectFailed | ProtocolFailed | TimedOut:
    """What pyreqwest raised, in these words. `proxy`: why the proxy has refused, if it was that."""
    causes = [cause["message"] for cause in (getattr(error, "details", None) or {}).get("causes") or ()]
    said = ": ".join(dict.fromkeys([error.message, *causes]))[:500]
    if isinstance(error, rs.RequestTimeoutError):
        return TimedOut(f"no complete head of a response in time: {said}"[:500])
    if _TUNNEL in said:
        return ConnectFailed("proxy_error", proxy or said)
    if _LARGE_CHAIN in said:
        said = f"the certificate chain is larger than 64 KiB: {said}"[:500]
    if any(map(_TLS.search, causes)):
        return ConnectFailed("tls_error", said)
    if isinstance(error, rs.ConnectError) and _CONNECTING in said:  # else the connection broke off after it stood
        return ConnectFailed("connect_error", said)
    return ProtocolFailed(said)


async def read(response: Response, *, whole: bool) -> ReceiverResponse:
    """The answer, once its head is there.

    `whole` is for callers that need every header and the body: raises PyreqwestError when that breaks off. For others
    the status is the answer, and `Retry-After` of one that is no success; of the body there is what came within a
    second. It is read at all so that the connection can be used again, and for people to look at.
    """
    length = _header(response, "content-length")
    most = min(int(length), _LARGEST_BODY) if re.fullmatch("[0-9]{1,9}", length) else _LARGEST_BODY
    if response.status == _NO_CONTENT:
        most = 0
    body = bytearray()
    try:
        async with asyncio.timeout(None if whole else _BODY_WAIT):
            while len(body) < most and (chunk := await response.body_reader.read_chunk()) is not None:
                body += chunk
    except (rs.PyreqwestError, TimeoutError):
        if whole:
            raise
    if whole:
        return ReceiverResponse(response.status, response.headers, bytes(body[:most]))
    retry_after = _header(response, _RETRY_AFTER) if response.status >= _MULTIPLE_CHOICES else ""
    needed = {_RETRY_AFTER: retry_after} if retry_after else {}
    return ReceiverResponse(response.status, needed, bytes(body[:most]), _pairs(response))


def _pairs(response: Response) -> Sequence[tuple[str, str]]:
    try:
        return list(response.headers.items())
    except ValueError:  # bytes that are no text
        return ()


def _header(response: Response, name: str) -> str:
    try:
        return response.get_header(name) or ""
    except ValueError:  # bytes that are no text
        return ""
