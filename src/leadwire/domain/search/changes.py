"""Documents are written in the background, and erased with what they are about.

Whoever writes or erases documents of a workspace holds its lock to the end of the transaction. So a writer has either
ended, and its document is seen and deleted, or it begins after the erasure and reads what is left.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from leadwire.domain.search import documents
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import Statement, lists, sql

BATCH: Final = 200
_LOCK: Final = "hashtextextended('search ' || :workspace::text, 0)"
_WAIT: Final = sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
_TRY: Final = sql(f"SELECT pg_try_advisory_xact_lock({_LOCK})")
# What has changed last. What waits longest may be all that there was before the first migration.
_DUE: Final = sql("SELECT number, workspace_id, subject FROM search_due ORDER BY number DESC LIMIT :most")
_TAKE: Final = sql("DELETE FROM search_due WHERE workspace_id = :workspace AND number = ANY(:numbers::bigint[])")
_FORGET: Final = sql("DELETE FROM search_document WHERE workspace_id = :workspace AND id = ANY(:ids::text[])")
_AGAIN: Final = sql("INSERT INTO search_due (workspace_id, subject) SELECT :workspace, unnest(:ids::text[])")
_DELETE_SOME: Final = tuple(
    sql(f"DELETE FROM {table} WHERE ctid = ANY(ARRAY("
        f"SELECT ctid FROM {table} WHERE workspace_id = :workspace LIMIT :most)) RETURNING 1")
    for table in ("search_due", "search_document")
)  # fmt: skip
_WRITE: Final = sql("""
INSERT INTO search_document (id, workspace_id, kind, created_at, lexemes)
SELECT id, :workspace, :kind, created_at, lexemes::tsvector
FROM unnest(:id::text[], :created_at::timestamptz[], :lexemes::text[]) AS made (id, created_at, lexemes)
ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at, lexemes = excluded.lexemes""")

# What conversations are found by; what was erased is not.
_CONVERSATIONS: Final = sql(f"""
SELECT c.id, c.created_at, c.bot_id, c.status, c.tags, c.visitor_name, c.visitor_email, (
    SELECT left(string_agg(content, E'\\n' ORDER BY seq), {documents.LONGEST}) FROM message
    WHERE conversation_id = c.id AND content <> '[deleted]') AS text
FROM conversation c WHERE c.workspace_id = :workspace AND c.id = ANY(:ids::text[])""")
# What notes are found by.
_NOTES: Final = sql("""
SELECT n.id, n.created_at, c.bot_id, n.content AS text
FROM conversation_note n JOIN conversation c ON c.id = n.conversation_id
WHERE n.workspace_id = :workspace AND n.id = ANY(:ids::text[])""")
# What leads are found by.
_LEADS: Final = sql("""
SELECT id, workspace_id, created_at, bot_id, name, email, phone, company, custom_fields FROM lead
WHERE workspace_id = :workspace AND id = ANY(:ids::text[])""")


def _conversation(row: db.Row) -> tuple[str, Iterable[str]]:
    tags = (f"tag:{documents.plain(tag)}" for tag in row["tags"])
    text = "\n".join(filter(None, (row["visitor_name"], row["visitor_email"], row["text"])))
    return text, [f"status:{row['status']}", *tags]


def _note(row: db.Row) -> tuple[str, Iterable[str]]:
    return row["text"], ()


def _lead(row: db.Row) -> tuple[str, Iterable[str]]:
    names = [row[name] for name in ("name", "email", "phone", "company")]
    fields = msgspec.json.decode(row["custom_fields"])
    of = row["workspace_id"]
    found = (documents.field(of, name, value) for name, value in fields.items())
    text = "\n".join([*filter(None, names), *map(documents.text_of, fields.values())])
    return text, [*(documents.field(of, name) for name in fields), *found, *documents.parts(*names)]


class _Kind(NamedTuple):
    read: Statement
    shown: Callable[[db.Row], tuple[str, Iterable[str]]]
    """The text of a row, and its marks."""


_KINDS: Final[Mapping[str, _Kind]] = {
    "conversation": _Kind(_CONVERSATIONS, _conversation),
    "note": _Kind(_NOTES, _note),
    "lead": _Kind(_LEADS, _lead),
}


async def write() -> int:
    """Write the documents of what has changed, some of it at a time. Return how many changes were taken."""
    changed: dict[str, dict[int, str]] = defaultdict(dict)
    for number, workspace, subject in await _DUE.rows(most=BATCH):
        changed[workspace][number] = subject
    return sum([await _write(workspace, subjects) for workspace, subjects in changed.items()])


async def forget(workspace: str, ids: list[str]) -> None:
    """Delete the documents of conversations whose words are erased in the open transaction; what is left of them is
    found again later.
    """
    await _WAIT.rows(workspace=workspace)
    await _FORGET.rows(workspace=workspace, ids=ids)
    await _AGAIN.rows(workspace=workspace, ids=ids)


async def delete_batch(workspace: str, most: int) -> int:
    """Delete at most so many documents, and notes of changes, of a workspace that is deleted. Return how many."""
    await _WAIT.rows(workspace=workspace)
    return sum([len(await some.rows(workspace=workspace, most=most)) for some in _DELETE_SOME])


async def _write(workspace: str, subjects: dict[int, str]) -> int:
    async with db.transaction():
        if not await _TRY.value(workspace=workspace):  # another process writes them, or somebody is being erased
            return 0
        await _TAKE.rows(workspace=workspace, numbers=list(subjects))
        for name, kind in _KINDS.items():
            ids = sorted({one for one in subjects.values() if one.startswith(f"{name[:4]}_")})
            rows = await kind.read.rows(workspace=workspace, ids=ids) if ids else []
            if rows:
                made = await asyncio.to_thread(_made, workspace, name, rows)
                await _WRITE.rows(workspace=workspace, kind=name, **lists("id created_at lexemes", made))
    return len(subjects)


def _made(workspace: str, kind: str, rows: list[db.Row]) -> list[tuple[object, ...]]:
    made: list[tuple[object, ...]] = []
    for row in rows:
        text, marks = _KINDS[kind].shown(row)
        vector = documents.vector(text, (documents.of_kind(kind, workspace), f"bot:{row['bot_id']}", *marks))
        made.append((row["id"], row["created_at"], vector))
    return made
