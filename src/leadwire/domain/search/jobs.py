"""Documents are written in the background.

Triggers add what has changed to `search_due`, which costs a change one row that nobody waits for. Each second that is
written, several changes of one conversation once. What is much, or cannot be written now, becomes jobs, the newest
first: what was there before the first migration waits for what is new.
"""

import asyncio
import functools
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from leadwire.domain.search import documents
from leadwire.domain.search.changes import LOCK
from leadwire.infrastructure import db, jobs
from leadwire.infrastructure.db.statements import Statement, lists, named, sql
from leadwire.infrastructure.jobs import Claimed, Offer, chore, job

MOST: Final = 1000
"""Jobs that wait at once, and are added in a second: what has waited for long leaves the servers to others."""
DIRECT: Final = 500
"""So many changes are written in a second without a job."""
BATCH: Final = 50
_FULL_LOOK_EVERY: Final = 60.0  # seconds
_next_full_look = 0.0  # by time.monotonic

_TAKE, _WRITE, _NOTES, _LEADS = named(__file__, "take write notes leads")
_OFFER: Final = functools.partial(jobs.add_all, "search")
_TRY: Final = sql(f"SELECT pg_try_advisory_xact_lock({LOCK})")

# What conversations are found by; what was erased is not.
_CONVERSATIONS: Final = sql(f"""
SELECT c.id, c.created_at, c.bot_id, c.status, c.tags, c.visitor_name, c.visitor_email, (
    SELECT left(string_agg(content, E'\\n' ORDER BY seq), {documents.LONGEST}) FROM message
    WHERE conversation_id = c.id AND content <> '[deleted]') AS text
FROM conversation c WHERE c.workspace_id = :workspace AND c.id = ANY(:ids::text[])""")


def _conversation(row: db.Row) -> tuple[str, Iterable[str]]:
    tags = (f"tag:{documents.plain(tag)}" for tag in row["tags"])
    text = "\n".join(filter(None, (row["visitor_name"], row["visitor_email"], row["text"])))
    return text, [f"status:{row['status']}", *tags]


def _lead(row: db.Row) -> tuple[str, Iterable[str]]:
    names = [row[name] for name in ("name", "email", "phone", "company")]
    fields = msgspec.json.decode(row["custom_fields"])
    of = row["workspace_id"]
    texts = (documents.field(of, name, value) for name, value in fields.items())
    text = "\n".join([*filter(None, names), *map(documents.text_of, fields.values())])
    return text, [*(documents.field(of, name) for name in fields), *texts, *documents.parts(*names)]


# For each kind its rows; the text of a row, and its marks.
_KINDS: Final[Mapping[str, tuple[Statement, Callable[[db.Row], tuple[str, Iterable[str]]]]]] = {
    "conversation": (_CONVERSATIONS, _conversation),
    "note": (_NOTES, lambda row: (row["text"], ())),
    "lead": (_LEADS, _lead),
}


@chore("search.take", every=1.0)
async def take() -> None:
    """Write the documents of what has changed; make jobs of what cannot be written now, and of all beyond `DIRECT`."""
    global _next_full_look  # noqa: PLW0603 - one a process
    taken = BATCH
    for _ in range(0, DIRECT, BATCH):
        try:
            taken = await _take(BATCH, write)
        except Exception:  # noqa: BLE001 - whatever it is, as jobs each fails alone
            taken = await _take(BATCH, _OFFER)
        if taken < BATCH:
            break
    now = time.monotonic()
    everything = now >= _next_full_look
    if everything or taken == BATCH:
        room = MOST - await jobs.waiting("search", MOST)
        taken = await _take(room, _OFFER, everything=everything)
        if everything and taken < room:
            _next_full_look = now + _FULL_LOOK_EVERY


async def _take(most: int, settle: Callable[[Sequence[Offer]], Awaitable[None]], *, everything: bool = False) -> int:
    async with db.transaction():
        rows = await _TAKE.rows(most=most, everything=everything)
        await settle([Offer(subject, workspace) for workspace, subject in {tuple(row) for row in rows}])
    return len(rows)


@job("search", batch=BATCH)
async def write(changed: Sequence[Offer | Claimed]) -> None:
    """Write the documents of some conversations, notes and leads. Raise db.Locked while some are being erased."""
    subjects: dict[str, list[str]] = defaultdict(list)
    for due in changed:
        subjects[due.workspace].append(due.key)
    for workspace, keys in subjects.items():
        await _write(workspace, keys)


async def _write(workspace: str, subjects: Sequence[str]) -> None:
    async with db.transaction():
        if not await _TRY.value(workspace=workspace):
            raise db.Locked(f"another process writes or erases documents of {workspace}")
        for name, (read, _) in _KINDS.items():
            ids = sorted(subject for subject in subjects if subject.startswith(f"{name[:4]}_"))
            rows = await read.rows(workspace=workspace, ids=ids) if ids else []
            if rows:
                vectors = await asyncio.to_thread(_made, workspace, name, rows)
                await _WRITE.rows(workspace=workspace, kind=name, **lists("id created_at lexemes", vectors))


def _made(workspace: str, kind: str, rows: list[db.Row]) -> list[tuple[object, ...]]:
    (_, shown), vectors = _KINDS[kind], list[tuple[object, ...]]()
    for row in rows:
        text, marks = shown(row)
        vector = documents.vector(text, (documents.of_kind(kind, workspace), f"bot:{row['bot_id']}", *marks))
        vectors.append((row["id"], row["created_at"], vector))
    return vectors
