"""`Idempotency-Key`: a request that is repeated within 24 hours gets the first response again.

The response is stored in the transaction of its change, so neither can exist without the other: a client whose
connection broke at the commit can safely send the request again. Errors below 500 are stored, too, after what the
operation wrote is undone. What a key is refused (401, 403, 429) is not, nor what no operation answers (405).
"""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

from litestar import Request
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from leadwire.infrastructure import db, idempotency_store, ids
from leadwire.infrastructure.errors import InvalidParameter
from leadwire.interfaces.http import error_responses
from leadwire.interfaces.http.body import LARGEST, is_json, received

_LONGEST: Final = 255  # characters of a key
_TELLING: Final = (b"if-match", b"content-type", b"content-encoding")
_REFUSED: Final = (401, 403, 429)
_METHODS: Final = ("POST", "PATCH", "PUT", "DELETE")


def idempotent(app: ASGIApp) -> ASGIApp:
    """Wrap the unsafe methods of /v1; without a key, this costs a look at the headers."""

    async def once(scope: Scope, receive: Receive, send: Send) -> None:
        key = _key(scope) if scope["method"] in _METHODS else None  # type: ignore[typeddict-item]
        if key is None:
            await app(scope, receive, send)
        else:
            await _once(app, key, scope, receive, send)

    return once


async def _once(app: ASGIApp, key: str, scope: Scope, receive: Receive, send: Send) -> None:
    body = await received(scope, receive, LARGEST)  # of one that is too large the beginning: the handler refuses it
    if body is None:  # half a request: nothing to do, and no client to respond to
        return
    caller = scope["auth"].key_id
    fingerprint = _fingerprint(scope, body)
    whole: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]
    response: list[Message] = []

    async def replay() -> Any:
        return whole.pop() if whole else await receive()

    async def collect(message: Message) -> None:
        response.append(message)

    try:
        async with db.transaction():
            await idempotency_store.lock(caller, key)
            if stored := await idempotency_store.stored(caller, key, fingerprint):
                response.extend(stored)
            else:
                undo = await db.savepoint()
                await app(scope, replay, collect)
                await _keep(caller, key, fingerprint, scope["path"], response, undo)
    except _Failed:
        pass
    except Exception as error:
        if not response:
            raise
        # Litestar has sent the response that is held back: of a failed commit it would make a bare 500.
        await error_responses.to_response(Request(scope, receive, send), error)(scope, receive, send)
        return
    for message in response:
        await send(message)


class _Failed(Exception):
    """The response is not stored: roll back, and send it."""


def _key(scope: Scope) -> str | None:
    """Return the request's key. Raise InvalidParameter for one that is empty, too long or given twice."""
    values = [value for name, value in scope["headers"] if name == b"idempotency-key"]
    if not values:
        return None
    text = values[0].decode("latin-1")
    if len(values) > 1 or not 1 <= len(text) <= _LONGEST or not (text.isascii() and text.isprintable()):
        raise InvalidParameter(f"Idempotency-Key must be 1 to {_LONGEST} printable ASCII characters, once.")
    return text


def _fingerprint(scope: Scope, body: bytes) -> bytes:
    """A digest of what makes one request another than the next: method, address, conditions, type and body."""
    usual = is_json(scope)
    head = f"{scope['method']} {scope['path']}".encode()  # type: ignore[typeddict-item]
    head += b"?" + scope["query_string"] if scope["query_string"] else b""
    for name, value in scope["headers"]:
        if name in _TELLING and not (usual and name == b"content-type"):
            head += b"\n" + name + b": " + value
    return hashlib.sha256(head + b"\n" + body).digest()


async def _keep(
    caller: str, key: str, fingerprint: bytes, path: str, response: list[Message], undo: Callable[[], Awaitable[None]]
) -> None:
    start: Any = response[0]
    if start["status"] >= 500 or start["status"] in _REFUSED:
        raise _Failed
    if start["status"] >= 400:
        await undo()
    body = b"".join(message.get("body", b"") for message in response[1:])  # type: ignore[misc]
    headers = [(name.decode(), value.decode()) for name, value in start["headers"] if name != b"content-length"]
    subject = next((part for part in path.split("/") if ids.is_id(part.partition("_")[0], part)), "")
    await idempotency_store.store(caller, key, fingerprint, subject, start["status"], headers, body)
