"""The first answers to requests with an Idempotency-Key, kept for 24 hours in the transaction of the change they speak
of. Apart from the middleware that gives them again, so that an erasure can drop what was answered about somebody.
"""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from piccolo.columns import JSON, Bytea, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.errors import IdempotencyInProgress, IdempotencyMismatch

KEPT: Final = timedelta(hours=24)


class IdempotentResponse(Table, db=DB, tablename="idempotent_answer"):
    """The first answer to a request with an Idempotency-Key. Key: (api_key_id, key)."""

    api_key_id = Text(primary_key=True)
    key = Text()
    fingerprint = Bytea()  # of the whole request
    subject = Text()  # the id it is about: an erased lead takes its answers along
    status = SmallInt()
    headers = JSON()
    body = Bytea()
    created_at = Timestamptz()


async def lock(caller: str, key: str) -> None:
    """Be the only request with this key until the transaction ends. Raise IdempotencyInProgress when another one is."""
    if not await db.value("SELECT pg_try_advisory_xact_lock(hashtextextended($1, 7))", f"{caller} {key}"):
        raise IdempotencyInProgress(
            "A request with this Idempotency-Key is still running.", headers={"Retry-After": "1"}
        )


async def stored(caller: str, key: str, fingerprint: bytes) -> Sequence[Any] | None:
    """The first answer, as ASGI messages. Raise IdempotencyMismatch when it was to another request."""
    row = await db.row(
        """SELECT fingerprint, status, headers, body FROM idempotent_answer
           WHERE api_key_id = $1 AND key = $2 AND created_at > $3""",
        caller, key, clock.now() - KEPT,
    )  # fmt: skip
    if row is None:
        return None
    if row["fingerprint"] != fingerprint:
        raise IdempotencyMismatch("This Idempotency-Key was used for another request.")
    headers = [(name.encode(), value.encode()) for name, value in json.loads(bytes(row["headers"]))]
    length = (b"content-length", str(len(row["body"])).encode())
    start = {
        "type": "http.response.start",
        "status": row["status"],
        "headers": [*headers, length, (b"idempotent-replayed", b"true")],
    }
    return [start, {"type": "http.response.body", "body": row["body"], "more_body": False}]


async def store(
    caller: str, key: str, fingerprint: bytes, subject: str, status: int, headers: list[tuple[str, str]], body: bytes
) -> None:
    """Keep the answer to a request; one that is too old to be given again makes way."""
    await db.rows(
        """INSERT INTO idempotent_answer (api_key_id, key, fingerprint, subject, status, headers, body, created_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
           ON CONFLICT (api_key_id, key) DO UPDATE SET fingerprint = $3, subject = $4, status = $5, headers = $6,
               body = $7, created_at = $8""",
        caller, key, fingerprint, subject, status, json.dumps(headers), body, clock.now(),
    )  # fmt: skip


async def erase(subject: str) -> None:
    """Drop the stored answers about `subject`, in the transaction of its erasure."""
    await db.rows("DELETE FROM idempotent_answer WHERE subject = $1", subject)


async def expire() -> None:
    """Drop what is older than 24 hours."""
    await db.rows("DELETE FROM idempotent_answer WHERE created_at < $1", clock.now() - KEPT)
