"""The first responses to requests with an Idempotency-Key, kept for 24 hours, written in the transaction of the change.

Apart from the middleware that sends them again, so that an erasure can delete the responses about somebody.
"""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from piccolo.columns import JSON, Bytea, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure import clock
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.statements import columns, insert, param, sql, statement
from leadwire.infrastructure.errors import IdempotencyInProgress, IdempotencyMismatch

KEPT: Final = timedelta(hours=24)


class IdempotentResponse(Table, db=DB, tablename="idempotent_answer"):
    """The first response to a request with an Idempotency-Key. Key: (api_key_id, key)."""

    api_key_id = Text(primary_key=True)
    key = Text()
    fingerprint = Bytea()  # of the whole request
    subject = Text()  # the id it is about: deleted with an erased lead
    status = SmallInt()
    headers = JSON()
    body = Bytea()
    created_at = Timestamptz()


_LOCK: Final = sql("SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 7))")
_STORED: Final = statement(
    IdempotentResponse.select(*columns(IdempotentResponse, "fingerprint status headers body")).where(
        IdempotentResponse.api_key_id == param("caller"),
        IdempotentResponse.key == param("key"),
        IdempotentResponse.created_at > param("since"),
    )
)
_STORE: Final = insert(
    *IdempotentResponse.all_columns(),
    end="""ON CONFLICT (api_key_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, subject = excluded.subject,
        status = excluded.status, headers = excluded.headers, body = excluded.body, created_at = excluded.created_at""",
)
_ERASE: Final = statement(IdempotentResponse.delete().where(IdempotentResponse.subject == param("subject")))
# Some of the responses to the requests of API keys.
_DELETE_BATCH: Final = sql("""
DELETE FROM idempotent_answer WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotent_answer WHERE api_key_id = ANY(:callers::text[]) LIMIT :most)) RETURNING 1""")
_EXPIRE: Final = statement(IdempotentResponse.delete().where(IdempotentResponse.created_at < param("before")))


async def lock(caller: str, key: str) -> None:
    """Be the only request with this key until the transaction ends. Raise IdempotencyInProgress when another one is."""
    if not await _LOCK.value(name=f"{caller} {key}"):
        raise IdempotencyInProgress(
            "A request with this Idempotency-Key is still running.", headers={"Retry-After": "1"}
        )


async def stored(caller: str, key: str, fingerprint: bytes) -> Sequence[Any] | None:
    """The first answer, as ASGI messages. Raise IdempotencyMismatch when it was to another request."""
    row = await _STORED.row(caller=caller, key=key, since=clock.now() - KEPT)
    if row is None:
        return None
    if row["fingerprint"] != fingerprint:
        raise IdempotencyMismatch("This Idempotency-Key was used for another request.")
    headers = [(name.encode(), value.encode()) for name, value in json.loads(bytes(row["headers"]))]
    headers += [(b"content-length", b"%d" % len(row["body"])), (b"idempotent-replayed", b"true")]
    start = {"type": "http.response.start", "status": row["status"], "headers": headers}
    return [start, {"type": "http.response.body", "body": row["body"], "more_body": False}]


async def store(
    caller: str, key: str, fingerprint: bytes, subject: str, status: int, headers: list[tuple[str, str]], body: bytes
) -> None:
    """Store the response to a request, in place of one that has expired."""
    await _STORE.rows(
        api_key_id=caller, key=key, fingerprint=fingerprint, subject=subject, status=status,
        headers=json.dumps(headers), body=body, created_at=clock.now(),
    )  # fmt: skip


async def erase(subject: str) -> None:
    """Delete the stored responses about `subject`, in the transaction of its erasure."""
    await _ERASE.rows(subject=subject)


async def delete_batch(callers: Sequence[str], most: int) -> int:
    """Delete at most so many of the stored responses to these API keys. Return how many."""
    return len(await _DELETE_BATCH.rows(callers=callers, most=most))


async def expire() -> None:
    """Delete what is older than 24 hours."""
    await _EXPIRE.rows(before=clock.now() - KEPT)
