"""The receiver behind `leadwire listen`: an ASGI app that verifies, answers and reports."""

import asyncio
import json
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from leadwire import clock
from leadwire.wire import signing

_LARGEST: Final = 1_000_000  # bytes
_REMEMBERED: Final = 20
_EVENTS_COUNTED: Final = 100_000


class Seen(Struct):
    """One delivery as it came. `verified` is None when there is no secret to verify with."""

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
    body: Any
    headers: dict[str, str]


class Receiver:
    """Answers `status`, but 401 to what does not verify and 500 to the first `fail_first` tries of each event."""

    def __init__(
        self, secret: str | None, *, status: int, fail_first: int, delay: float, show: Callable[[Seen], None]
    ) -> None:
        self._secret = secret
        self._status = status
        self._fail_first = fail_first
        self._delay = delay
        self._show = show
        self._tries: Counter[str] = Counter()
        self._recent: deque[str] = deque(maxlen=_REMEMBERED)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] in ("GET", "HEAD"):
            text = "leadwire listen: POST webhooks here.\n\n" + "".join(f"{line}\n" for line in self._recent)
            await _answer(send, 200, text.encode())
        elif scope["method"] != "POST":
            await _answer(send, 405, b"POST, please\n", (b"allow", b"GET, HEAD, POST"))
        elif (body := await _body(receive)) is None:
            await _answer(send, 413, b"too large\n")
        else:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            status = self._receive(body, headers)
            if self._delay:
                await asyncio.sleep(self._delay)
            await _answer(send, status, b"")

    def _receive(self, body: bytes, headers: dict[str, str]) -> int:
        verified, reason = self._verify(body, headers)
        webhook_id = headers.get("webhook-id", "")
        if len(self._tries) > _EVENTS_COUNTED:
            self._tries.clear()
        self._tries[webhook_id] += 1
        status = self._status if self._tries[webhook_id] > self._fail_first else 500
        status = 401 if verified is False else status
        decoded = _decoded(body)
        envelope = decoded if isinstance(decoded, dict) else {}
        data = envelope.get("data")
        subject = str(data.get("id", "")) if isinstance(data, dict) else ""
        seen = Seen(
            received_at=clock.iso(clock.now()),
            verified=verified,
            reason=reason,
            status=status,
            event=str(envelope.get("event", "")),
            subject=subject,
            webhook_id=webhook_id,
            attempt=_ours(headers, "attempt"),
            test=_ours(headers, "test") == "true",
            timestamp=str(envelope.get("timestamp", "")),
            body=decoded,
            headers=headers,
        )
        self._recent.append(f"{seen.received_at} {seen.event!a} {seen.webhook_id!a} answered {status}")
        self._show(seen)
        return status

    def _verify(self, body: bytes, headers: dict[str, str]) -> tuple[bool | None, str | None]:
        if self._secret is None:
            return None, None
        try:
            signing.verify(body, headers, self._secret, now=int(clock.now().timestamp()))
        except ValueError as error:
            return False, str(error)
        return True, None


def _ours(headers: dict[str, str], name: str) -> str:
    """`X-Service-Attempt` and the like, whatever prefix the sender was given."""
    return next((value for key, value in headers.items() if key.startswith("x-") and key.endswith(f"-{name}")), "")


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


async def _body(receive: Any) -> bytes | None:
    """The body, or None when it is too large."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"".join(parts)
        size += len(message.get("body", b""))
        if size > _LARGEST:
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _answer(send: Any, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    own = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": own if status not in (204, 304) else []})
    await send({"type": "http.response.body", "body": body if status not in (204, 304) else b""})
