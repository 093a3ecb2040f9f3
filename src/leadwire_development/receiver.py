"""The receiver behind `leadwire listen`: an ASGI app that verifies, answers and reports."""

import asyncio
import json
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct

from leadwire.infrastructure import clock
from leadwire.infrastructure.backoff import rest
from leadwire_development import verifying

_LARGEST: Final = 1_000_000  # bytes
_POST_ONLY: Final = b"POST, please\n"


class Seen(Struct):
    """One delivery as it came; `size` is the body's, in bytes. `verified` is None without a secret to verify with."""

    received_at: str
    verified: bool | None
    reason: str | None
    status: int
    event: str
    subject: str
    webhook_id: str
    attempt: str
    test: bool
    timestamp: str
    size: int
    body: Any
    headers: dict[str, str]


Forward = Callable[[bytes, dict[str, str]], Awaitable[tuple[int, str | None]]]
"""Hands a delivery on. Returns the status that was answered, and what went wrong if nobody answered."""


class Receiver:
    """Answers `status`, or what `forward` answers; but 401 to what does not verify and 500 to the first `fail_first`
    tries of each event.
    """

    def __init__(
        self, secret: str | None, *, status: int, fail_first: int, delay: float, show: Callable[[Seen], None]
    ) -> None:
        self.secret = secret
        self.forward: Forward | None = None
        self._status = status
        self._fail_first = fail_first
        self._delay = delay
        self._show = show
        self.stop = asyncio.Event()  # once set, a `delay` under way ends at once
        self._tries: Counter[str] = Counter()
        self._recent: deque[str] = deque(maxlen=20)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        root = scope["path"] == "/"
        if scope["method"] == "POST":
            await self._post(scope, receive, send)
        elif root and scope["method"] in ("GET", "HEAD"):
            lines = ["leadwire listen: POST webhooks here.", "", *self._recent, ""]
            await _answer(send, 200, "\n".join(lines).encode())
        else:
            await _answer(send, 405, _POST_ONLY, (b"allow", b"GET, HEAD, POST" if root else b"POST"))

    async def _post(self, scope: Any, receive: Any, send: Any) -> None:
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if len(body) > _LARGEST:
                await _answer(send, 413, b"too large\n")
                return
            more = message.get("more_body")
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        await _answer(send, await self.take(bytes(body), headers), b"")

    async def take(self, body: bytes, headers: dict[str, str]) -> int:
        """Report a delivery, whose headers are in lower case. Return the status to answer, in time."""
        verified, reason = self._verify(body, headers)
        webhook_id = headers.get("webhook-id", "")
        if len(self._tries) > 100_000:  # events
            self._tries.clear()
        self._tries[webhook_id] += 1
        status = 401 if verified is False else 500 if self._tries[webhook_id] <= self._fail_first else self._status
        if self.forward and verified is not False and status == self._status:
            status, reason = await self.forward(body, headers)
        self._report(body, headers, verified, reason, status)
        if self._delay:
            await rest(self._delay, self.stop)
        return status

    def _report(
        self, body: bytes, headers: dict[str, str], verified: bool | None, reason: str | None, status: int
    ) -> None:
        own = _prefix(headers).lower()
        decoded: Any = None
        with suppress(ValueError, RecursionError):
            decoded = json.loads(body)
        seen = Seen(
            received_at=clock.iso(clock.now()),
            verified=verified,
            reason=reason,
            status=status,
            event=_text(decoded, "event"),
            subject=_text(decoded, "data", "id"),
            webhook_id=headers.get("webhook-id", ""),
            attempt=headers.get(f"{own}attempt", ""),
            test=headers.get(f"{own}test") == "true",
            timestamp=_text(decoded, "timestamp"),
            size=len(body),
            body=decoded,
            headers=headers,
        )
        self._recent.append(f"{seen.received_at} {seen.event[:100]!a} {seen.webhook_id[:100]!a} answered {status}")
        self._show(seen)

    def _verify(self, body: bytes, headers: dict[str, str]) -> tuple[bool | None, str | None]:
        if self.secret is None:
            return None, None
        try:
            now = int(clock.now().timestamp())
            verifying.verify(body, headers, self.secret, now=now, prefix=_prefix(headers))
        except ValueError as error:
            return False, str(error)
        return True, None


def _prefix(headers: dict[str, str]) -> str:
    """What the sender's own headers begin with: `X-Service-`, or what it was given. As its signature's name tells."""
    signatures = (key for key, value in headers.items() if key.endswith("signature") and value.startswith("sha256="))
    return next(signatures, "x-service-signature").removesuffix("signature").title()


def _text(value: Any, *path: str) -> str:
    """What is there in nested objects if it is a text; str() of what strangers nest can be endless."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


async def _answer(send: Any, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    own = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *headers]
    bare = status in (204, 304)
    await send({"type": "http.response.start", "status": status, "headers": [] if bare else own})
    await send({"type": "http.response.body", "body": b"" if bare else body})
