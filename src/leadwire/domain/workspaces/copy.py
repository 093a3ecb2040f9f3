"""The rows of a workspace copied from another installation: PostgreSQL writes them there as JSON, and reads them here.

Secrets are sealed anew. Events get new positions, in the order of their feed, as those of two servers do not compare.
What a worker had in hand waits. Not copied are what triggers and jobs make again: documents of the search.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from piccolo.columns import Column

from leadwire.delivery.endpoints import table as endpoints
from leadwire.domain.accounts import table as accounts
from leadwire.domain.mail import table as mail
from leadwire.infrastructure import db, secret_box
from leadwire.infrastructure.db.other import Other, at_home
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import NotFound
from leadwire.infrastructure.secret_box import SecretBox

_PAGE: Final = 200  # rows, each with those that belong to it


class _Kind(NamedTuple):
    """Rows of a table, and the tables whose rows belong to one of them, each with the column that has its id."""

    table: str
    parts: tuple[tuple[str, str], ...] = ()
    where: str = "workspace_id = $1"

    def rows(self) -> str:
        """The query of the rows, each with its id where there are parts."""
        order = "ORDER BY xact, position" if self.table == "event" else ""
        return (
            f"SELECT {'t.id' if self.parts else 'NULL'}, row_to_json(t) FROM {self.table} t WHERE {self.where} {order}"
        )

    def belonging(self) -> str:
        """The query of what belongs to some rows: one, so that nothing is missed on its way between two tables."""
        tables = (
            f"(SELECT json_agg(p) FROM {table} p WHERE {key} = ANY($1) AND {key} BETWEEN $2 AND $3)"
            for table, key in self.parts
        )
        return f"SELECT {', '.join(tables)}"


_OWN: Final = _Kind("workspace", where="id = $1")
KINDS: Final = (
    _Kind("identity_provider"),
    _Kind("user_account", tuple((table, "user_id") for table in (
        "user_session", "passkey", "recovery_code", "password_reset", "notice_choice"))),
    _Kind("user_identity"), _Kind("invitation"), _Kind("api_key", (("idempotent_answer", "api_key_id"),)),
    _Kind("audit_chain"), _Kind("audit_entry"),
    _Kind("bot", (("bot_version", "bot_id"), ("bot_count", "bot_id"), ("faq_entry", "bot_id"))),
    _Kind("saved_reply"), _Kind("blocked_visitor"),
    _Kind("webhook_endpoint", (("endpoint_sequence", "endpoint_id"), ("endpoint_hour", "endpoint_id"))),
    _Kind("redrive_job"), _Kind("retention"), _Kind("lead_view"), _Kind("bulk_change"), _Kind("export_job"),
    _Kind("notice"), _Kind("mail_suppression"), _Kind("lead"),
    _Kind("conversation", tuple((table, "conversation_id") for table in (
        "message", "conversation_note", "conversation_read", "score_entry", "visit"))),
    _Kind("consent"),
    _Kind("event", tuple((table, "event_id") for table in ("delivery_result", "attempt", "delivery", "outbox"))),
    _Kind("discard", where="endpoint_id IN (SELECT d.endpoint_id FROM delivery d WHERE d.workspace_id = $1)"),
    _Kind("mail"), _Kind("job"),
)  # fmt: skip
"""What is copied besides the workspace's own row: those first that others refer to, last what jobs act on."""
NOT_COPIED: Final = {"workspace", "lead_by_update", "search_document", "search_due", "sign_on_used"}
_OF_EVENT: Final = "(SELECT v.position FROM event v WHERE v.id = event_id)"
_HANDED_OUT: Final = "owner LIKE 'pull:%'"
_CHANGED: Final[dict[str, dict[str, str]]] = {
    "user_account": {"operator": "false"}, "invitation": {"operator": "false"},  # each installation has its own
    "webhook_endpoint": {
        "open": "false", "due_at": "'infinity'", "paused_until": "'infinity'", "queued": "0", "queued_from": "''",
        "waiting_from": "'-infinity'", "ordered_from": "0", "looked_at": "NULL",
    },
    "event": {"position": "", "xact": "", "writer": ""},
    "delivery": {
        "position": f"CASE WHEN position IS NOT NULL THEN {_OF_EVENT} END",
        "state": f"CASE WHEN {_HANDED_OUT} THEN state ELSE 'waiting' END",
        **{name: f"CASE WHEN {_HANDED_OUT} THEN {name} END" for name in ("queued_at", "owner", "lease_until")},
    },
    "outbox": {"position": _OF_EVENT},
    "job": {"owner": "NULL", "again": "false", "due_at": "CASE WHEN owner IS NULL THEN due_at ELSE now() END"},
}  # fmt: skip
"""Columns that have another value here, as SQL; empty: the default."""
_OFFERED: Final = {"job", "notice"}
"""What the jobs here may have made already."""
_SEALED: Final[dict[str, list[Column]]] = {}
for _column in (*endpoints.SEALED, *accounts.SEALED, *mail.SEALED):
    _SEALED.setdefault(_column._meta.table._meta.tablename, []).append(_column)
_COLUMNS: Final = sql("""
SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(:name) AND attnum > 0 AND NOT attisdropped
ORDER BY attnum""")


class Copy:
    """Copies rows, and counts them by table. `theirs` opens what they have sealed, `ours` seals it."""

    def __init__(self, other: Other, workspace: str, theirs: SecretBox, ours: SecretBox) -> None:
        self._other, self._workspace, self._theirs, self._ours = other, workspace, theirs, ours
        self.rows: Counter[str] = Counter()

    async def own_row(self) -> bytes:
        """Return the workspace's own row, for `write`. Runs in a transaction there, as `all` does."""
        async for page in self._other.pages(_OWN.rows(), self._workspace, size=1):
            return _joined(page)
        raise NotFound(f"There is no workspace {self._workspace}.")

    async def all(self) -> None:
        """Copy all that the workspace has; each page is a transaction here."""
        same_key = self._theirs.derived("") == self._ours.derived("")
        for kind in KINDS:
            if kind.table == "blocked_visitor" and not same_key:
                continue  # visitors' addresses are known by a value that the key makes
            async for page in self._other.pages(kind.rows(), self._workspace, size=_PAGE):
                ids = [row[0] for row in page]
                parts = await db.row(kind.belonging(), ids, min(ids), max(ids)) if kind.parts else None
                with at_home():
                    async with db.transaction():
                        await self.write(kind.table, self._sealed(kind.table, _joined(page)))
                        for (table, _), rows in zip(kind.parts, parts or (), strict=True):
                            await self.write(table, rows)

    async def write(self, table: str, rows: bytes | None) -> None:
        """Add rows here, a JSON array of them, as columns of their names."""
        if not rows:
            return
        changed = _CHANGED.get(table, {})
        columns = [row["attname"] for row in await _COLUMNS.rows(name=table)]
        kept = {name: changed.get(name, name) for name in columns if changed.get(name) != ""}
        self.rows[table] += await db.value(
            f"WITH added AS (INSERT INTO {table} ({', '.join(kept)}) SELECT {', '.join(kept.values())}"
            f" FROM json_populate_recordset(NULL::{table}, $1)"
            f" {'ON CONFLICT DO NOTHING' if table in _OFFERED else ''} RETURNING 1) SELECT count(*) FROM added",
            rows,
        )

    def _sealed(self, table: str, rows: bytes) -> bytes:
        """Rows whose secrets are sealed with our key."""
        if not (columns := _SEALED.get(table)):
            return rows
        found = msgspec.json.decode(rows, type=list[dict[str, Any]])
        for row, column in itertools.product(found, columns):
            if sealed := row[name := column._meta.db_column_name]:
                place = secret_box.place(column, row["id"])
                plain = self._theirs.open_once(bytes.fromhex(sealed[2:]), place)
                row[name] = f"\\x{self._ours.seal(plain, place).hex()}"
        return msgspec.json.encode(found)


def _joined(page: Sequence[db.Row]) -> bytes:
    return b"[" + b",".join(bytes(row[1]) for row in page) + b"]"
