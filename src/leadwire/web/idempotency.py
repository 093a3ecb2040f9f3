"""`Idempotency-Key`: a request that is sent again gets the first answer again, for 24 hours.

The answer is stored in the transaction of the change it speaks of, so neither can exist without the other: a client
whose connection broke at the very commit can simply ask again. What was refused changed nothing and is not stored.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from litestar import Request
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from piccolo.columns import JSON, Bytea, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire import clock, db
from leadwire.db import DB
from leadwire.errors import Conflict, InvalidParameter, Refusal
from leadwire.web import problems
from leadwire.web.body import LARGEST

KEPT: Final = timedelta(hours=24)
_LONGEST: Final = 255  # characters of a key
_METHODS: Final = ("POST", "PATCH", "PUT", "DELETE")
_KEPT_HEADERS: Final = (b"content-type", b"etag")


class IdempotentAnswer(Table, db=DB, tablename="idempotent_answer"):
    """The first answer to a request with an Idempotency-Key. Key: (api_key_id, key)."""

    api_key_id = Text(primary_key=True)
    key = Text()
    fingerprint = Bytea()  # of the whole request
    subject = Text()  # the id it is about: an erased lead takes its answers along
    status = SmallInt()
    headers = JSON()
    body = Bytea()
    created_at = Timestamptz()


def idempotent(app: ASGIApp) -> ASGIApp:
    """Wraps every unsafe method of /v1; costs a look at the headers when the key is absent."""

    async def once(scope: Scope, receive: Receive, send: Send) -> None:
        key = _key(scope) if scope["method"] in _METHODS else None  # type: ignore[typeddict-item]
        if key is None:
            await app(scope, receive, send)
        else:
            await _once(app, key, scope, receive, send)

    return once


async def _once(app: ASGIApp, key: str, scope: Scope, receive: Receive, send: Send) -> None:
    messages, body = await _read(receive)
    caller = scope["auth"].key_id
    fingerprint = hashlib.sha256(f"{scope['method']} {scope['path']}\n".encode() + body).digest()  # type: ignore[typeddict-item]
    answer: list[Message] = []

    async def replay() -> Any:
        return messages.pop(0) if messages else await receive()

    async def collect(message: Message) -> None:
        answer.append(message)

    try:
        async with db.transaction():
            await _lock(caller, key)
            if stored := await _stored(caller, key, fingerprint):
                answer.extend(stored)
            else:
                await app(scope, replay, collect)
                await _store(caller, key, fingerprint, scope["path"], answer)
    except _Refused:
        pass
    except Exception as error:
        if not answer:
            raise
        # Litestar has seen the answer that is held back, and would make no other of a lost commit than a bare 500.
        await problems.answer(Request(scope, receive, send), error)(scope, receive, send)
        return
    for message in answer:
        await send(message)


class _Refused(Exception):
    """The answer is an error: roll back, remember nothing, and send it."""


async def forget(subject: str) -> None:
    """Drop the stored answers about `subject`, in the transaction of its erasure."""
    await db.rows("DELETE FROM idempotent_answer WHERE subject = $1", subject)


async def expire() -> None:
    """Drop what is older than 24 hours."""
    await db.rows("DELETE FROM idempotent_answer WHERE created_at < $1", clock.now() - KEPT)


def _key(scope: Scope) -> str | None:
    """The request's key. Raises InvalidParameter for one that is empty, too long or given twice."""
    given = [value for name, value in scope["headers"] if name == b"idempotency-key"]
    if not given:
        return None
    text = given[0].decode("latin-1")
    if len(given) > 1 or not 1 <= len(text) <= _LONGEST or not (text.isascii() and text.isprintable()):
        raise InvalidParameter(f"Idempotency-Key must be 1 to {_LONGEST} printable ASCII characters, once.")
    return text


async def _read(receive: Receive) -> tuple[list[Any], bytes]:
    """The body, as messages to hand on and as bytes; more than the largest is left for the handler to refuse."""
    messages: list[Any] = []
    parts: list[bytes] = []
    size = 0
    while size <= LARGEST:
        message: Any = await receive()
        messages.append(message)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if not message.get("more_body"):
            break
    return messages, b"".join(parts)


async def _lock(caller: str, key: str) -> None:
    """Be the only request with this key until the transaction ends. Raises Conflict when another one is."""
    if not await db.value("SELECT pg_try_advisory_xact_lock(hashtextextended($1, 7))", f"{caller} {key}"):
        raise Conflict(
            "A request with this Idempotency-Key is still running.",
            code="idempotency_in_progress",
            headers={"Retry-After": "1"},
        )


async def _stored(caller: str, key: str, fingerprint: bytes) -> Sequence[Any] | None:
    """The first answer, as ASGI messages. Raises Refusal when it was to another request."""
    row = await db.row(
        """SELECT fingerprint, status, headers, body FROM idempotent_answer
           WHERE api_key_id = $1 AND key = $2 AND created_at > $3""",
        caller, key, clock.now() - KEPT,
    )  # fmt: skip
    if row is None:
        return None
    if row["fingerprint"] != fingerprint:
        refusal = Refusal("This Idempotency-Key was used for another request.", code="idempotency_mismatch")
        refusal.status, refusal.title = 422, "The values are not valid"
        raise refusal
    headers = [(name.encode(), value.encode()) for name, value in json.loads(bytes(row["headers"]))]
    length = (b"content-length", str(len(row["body"])).encode())
    start = {
        "type": "http.response.start",
        "status": row["status"],
        "headers": [*headers, length, (b"idempotent-replayed", b"true")],
    }
    return [start, {"type": "http.response.body", "body": row["body"], "more_body": False}]


async def _store(caller: str, key: str, fingerprint: bytes, path: str, answer: list[Message]) -> None:
    start: Any = answer[0]
    if start["status"] >= 400:
        raise _Refused
    body = b"".join(message.get("body", b"") for message in answer[1:])  # type: ignore[misc]
    headers = [(name.decode(), value.decode()) for name, value in start["headers"] if name.lower() in _KEPT_HEADERS]
    subject = next((part for part in path.split("/") if "_" in part), "")
    await db.rows(
        """INSERT INTO idempotent_answer (api_key_id, key, fingerprint, subject, status, headers, body, created_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
           ON CONFLICT (api_key_id, key) DO UPDATE SET fingerprint = $3, subject = $4, status = $5, headers = $6,
               body = $7, created_at = $8""",
        caller, key, fingerprint, subject, start["status"], json.dumps(headers), body, clock.now(),
    )  # fmt: skip
