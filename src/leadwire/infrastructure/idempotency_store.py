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
from leadwire.infrastructure.db.declared import Declared
from leadwire.infrastructure.db.statements import insert, sql
from leadwire.infrastructure.errors import IdempotencyInProgress, IdempotencyMismatch

KEPT: Final = timedelta(hours=24)


class IdempotentResponse(Table, db=DB, tablename="idempotent_answer"):
    """The first response to a request with an Idempotency-Key. Key: (api_key_id, key)."""

    declared = Declared(
        of="api_key", cascades=False, person="subject = :lead",
        ends=f"created_at < now() - make_interval(secs => {KEPT.total_seconds()})",
    )  # fmt: skip
    api_key_id = Text(primary_key=True)
    key = Text()
    fingerprint = Bytea()  # of the whole request
    subject = Text()  # the id it is about: deleted with an erased lead
    status = SmallInt()
    headers = JSON()
    body = Bytea()
    created_at = Timestamptz()


_LOCK: Final = sql("SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 7))")
_STORED: Final = sql("""
SELECT fingerprint, status, headers, body FROM idempotent_answer
WHERE api_key_id = :caller AND key = :key AND created_at > :since""")
_STORE: Final = insert(
    *IdempotentResponse.all_columns(),
    end="""ON CONFLICT (api_key_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, subject = excluded.subject,
        status = excluded.status, headers = excluded.headers, body = excluded.body, created_at = excluded.created_at""",
)


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
