"""The rows of a workspace copied from another installation: PostgreSQL writes them there as JSON, and reads them here.

They come in rounds, each from one snapshot there, so that changes go on meanwhile. A round takes what is newer than the
snapshot before: that showed all of older transactions than its `xmin`, and a row's own `xmin` says which wrote it. What
is here and no longer there is found by its key, where the numbers of old rows differ. What the processes here act on,
though the workspace is closed, comes with the last round.

Events get new positions, in the order of their feed, as those of two servers do not compare. A round takes those before
its `xmin`: more may come between others. Secrets are sealed anew. What a worker had in hand waits. Not copied are what
triggers and jobs make again: documents of the search.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from piccolo.columns import Column

from leadwire.delivery.endpoints import table as endpoints
from leadwire.domain.accounts import table as accounts
from leadwire.domain.accounts.changes import workspaces
from leadwire.domain.bots import table as bots
from leadwire.domain.mail import table as mail
from leadwire.domain.notices import table as notices
from leadwire.infrastructure import db, ids, secret_box
from leadwire.infrastructure.db.other import Other, at_home
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.secret_box import SecretBox

_PAGE: Final = 500  # rows
_END: Final = 2**64 - 1  # no transaction comes after it


class _Table(NamedTuple):
    """A table, the clauses that find the rows of a workspace (`t`), and the transaction that orders their events."""

    name: str
    rows: str
    xact: str = ""


def _own(*names: str) -> tuple[_Table, ...]:
    return tuple(_Table(name, f"FROM {name} t WHERE t.workspace_id = $1") for name in names)


def _with_parts(name: str, key: str, *parts: str) -> tuple[_Table, ...]:
    """A table, and those whose rows belong to one of it, by a column `key`."""
    xact = "p.xact" if name == "event" else ""
    where = f"t JOIN {name} p ON p.id = t.{key} WHERE p.workspace_id = $1"
    return *_own(name), *(_Table(part, f"FROM {part} {where}", xact) for part in parts)


_PEOPLE: Final = "FROM user_account WHERE workspace_id = $1"
_EVENT, *_OF_EVENTS = _with_parts("event", "event_id", "delivery_result", "attempt", "delivery", "outbox")
TABLES: Final = (
    *_own("identity_provider", "email_domain"),
    _Table("login", f"FROM login t WHERE id IN (SELECT login_id {_PEOPLE}) AND id <> ALL(SETTLED)"), *(
        _Table(part, f"FROM {part} t WHERE user_id IN (SELECT login_id {_PEOPLE}) AND user_id <> ALL(SETTLED)")
        for part in ("passkey", "recovery_code", "password_reset")
    ),
    *_with_parts("user_account", "user_id", "user_session", "notice_choice"),
    *_own("user_identity", "invitation"), *_with_parts("api_key", "api_key_id", "idempotent_answer"),
    *_with_parts("bot", "bot_id", "bot_version", "bot_count", "faq_entry"), *_own("saved_reply", "blocked_visitor"),
    *_with_parts("webhook_endpoint", "endpoint_id", "endpoint_sequence", "endpoint_hour"),
    *_own("redrive_job", "retention", "lead_view", "bulk_change", "export_job", "notice", "notice_address"),
    *_own("mail_suppression", "lead"),
    *_with_parts(
        "conversation", "conversation_id", "message", "conversation_note", "conversation_read", "score_entry", "visit"
    ),
    *_own("consent"), _EVENT._replace(xact="t.xact"), *_OF_EVENTS,
    _Table("discard", "FROM discard t WHERE endpoint_id IN (SELECT endpoint_id FROM delivery WHERE workspace_id = $1)"),
    *_own("audit_chain", "audit_entry", "mail", "job"),
)  # fmt: skip
"""What is copied besides the workspace's own row: those first that others refer to, last what jobs act on."""
_LATE: Final = {
    "outbox": "true", "discard": "true", "audit_chain": "true", "audit_entry": "t.number IS NULL", "job": "true"
}  # fmt: skip
"""Which rows come with the last round: here they would be relayed, chained or done."""
NOT_COPIED: Final = {"workspace", "audit_count", "lead_by_update", "search_document", "search_due", "sign_on_used"}
_OF_EVENT: Final = "(SELECT v.position FROM event v WHERE v.id = event_id)"
_PROVEN_HERE: Final = """EXISTS (SELECT 1 FROM email_domain d
    WHERE d.domain = json_populate_recordset.domain AND d.proven_at IS NOT NULL)"""
_HANDED_OUT: Final = "owner LIKE 'pull:%'"
_CHANGED: Final[dict[str, dict[str, str]]] = {
    "audit_entry": {"in_count": "false"}, "audit_chain": {"head_due": "true"},  # its count begins anew
    "login": {"verified_at": "CASE WHEN NOT EXISTS (SELECT 1 FROM login l WHERE l.verified_at IS NOT NULL"
        " AND lower(l.email) = lower(json_populate_recordset.email) AND l.id <> json_populate_recordset.id)"
        " THEN verified_at END"},
    "user_account": {
        "operator": "false", "password_hash": "", "totp_secret": "", "totp_step": "", "known_browsers": "",
    }, "invitation": {"operator": "false"},  # each installation has its own
    "email_domain": {  # not proven to us: it counts until it should be, unless somebody here has proven it
        "proven_at": "NULL", "missing_since": "NULL", "check_at": "now()",
        "taken_over_until": f"""CASE WHEN {_PROVEN_HERE} THEN NULL
            WHEN proven_at IS NULL THEN taken_over_until ELSE now() + interval '7 days' END""",
    },
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
_STAYS: Final = {"job", "bot_version"}
"""What is left as it is here: the jobs here may have made it already, or it never changes."""
_SEALED: Final[dict[str, list[Column]]] = {}
for _column in (*endpoints.SEALED, *accounts.SEALED, *bots.SEALED, *mail.SEALED, *notices.SEALED):
    _SEALED.setdefault(_column._meta.table._meta.tablename, []).append(_column)
_COLUMNS: Final = sql("""
SELECT attname, coalesce(attnum = ANY(indkey), false) AS key FROM pg_attribute
LEFT JOIN pg_index ON indrelid = attrelid AND indisprimary
WHERE attrelid = to_regclass(:name) AND attnum > 0 AND NOT attisdropped ORDER BY attnum""")


# People of the workspace who are here already, with another one: their logins stay as they are here.
_SETTLED: Final = sql("""
SELECT quote_literal(coalesce(array_agg(DISTINCT login_id), '{}')) || '::text[]' FROM user_account
WHERE login_id = ANY(:logins) AND workspace_id <> :workspace""")


class Copy:
    """Copies rows, and counts them by table. `theirs` opens what they have sealed, `ours` seals it."""

    def __init__(self, other: Other, workspace: str, theirs: SecretBox, ours: SecretBox) -> None:
        self._other, self._workspace, self._theirs, self._ours = other, workspace, theirs, ours
        same_key = theirs.derived("") == ours.derived("")
        # Visitors' addresses are known by a value that the key makes.
        self._tables = [table for table in TABLES if same_key or table.name != "blocked_visitor"]
        self._since = 0
        self.move_id = ids.new("move")
        self.rows: Counter[str] = Counter()

    async def round(self, *, last: bool = False) -> None:
        """Copy what is not here yet, and delete what is no longer there. The last comes when nothing changes there."""
        async with self._other.snapshot() as xmin:
            await self._own_row()
            if not self._since:
                await self._settle()
            until = _END if last else xmin
            changed = {table: await self._changed(table, until) for table in reversed(self._tables)}
            for table in self._tables:
                if rows := changed[table]:
                    await self._add(table, rows)
        self._since = xmin

    async def _settle(self) -> None:
        logins = [row["login_id"] for row in await db.rows(f"SELECT login_id {_PEOPLE}", self._workspace)]
        with at_home():
            settled = await _SETTLED.value(logins=logins, workspace=self._workspace)
        self._tables = [table._replace(rows=table.rows.replace("SETTLED", settled)) for table in self._tables]

    async def _own_row(self) -> None:
        """Copy the workspace's own row. Here it is closed."""
        row = await db.value("SELECT json_agg(t) FROM workspace t WHERE id = $1", self._workspace)
        with at_home():
            async with db.transaction():
                await self._write("workspace", row)
                await workspaces.begin_move(self._workspace, self.move_id)

    async def _changed(self, table: _Table, until: int) -> str:
        """Delete here what is no longer there. Return the clauses that find what is to be copied, or nothing."""
        late = _LATE.get(table.name, "false")
        rows = table.rows + (f" AND {table.xact} < '{until}'::xid8" if table.xact else "")
        rows += "" if until == _END else f" AND NOT ({late})"
        if not self._since:
            return rows
        # An `xmin` of the future is one of long ago: its row is frozen.
        new = f"({late} OR age(t.xmin) BETWEEN 0 AND age('{self._since}'::xid8::xid)"
        new += f" OR {table.xact} >= '{self._since}'::xid8)" if table.xact else ")"
        names = [f"t.{row['attname']}" for row in await _COLUMNS.rows(name=table.name) if row["key"]]
        key = f"json_build_array({', '.join(names)})::text" if len(names) > 1 else names[0]
        counted = f"SELECT count(*) FILTER (WHERE NOT {new}), array_agg({key}) FILTER (WHERE {new}) {rows}"
        ((old, keys),) = await db.rows(counted, self._workspace)
        self.rows[table.name] = old + len(keys or ())
        others = f"{table.rows} AND NOT EXISTS (SELECT FROM unnest($2::text[]) AS k (key) WHERE k.key = {key})"
        with at_home():
            here = await db.value(f"SELECT count(*) {others}", self._workspace, keys or [])
        if here != old:
            every = await db.value(f"SELECT array_agg({key}) {rows}", self._workspace)
            gone = f"DELETE FROM {table.name} t WHERE ({', '.join(names)}) IN (SELECT {', '.join(names)} {others})"
            with at_home():
                here -= len(await db.rows(f"{gone} RETURNING 1", self._workspace, every or []))
        if here < old:  # something here has taken rows away
            return rows
        return f"{rows} AND {new}" if keys else ""

    async def _add(self, table: _Table, rows: str) -> None:
        """Copy rows; a page is a transaction here."""
        order = ""
        if table.name == "event":
            order = "ORDER BY t.xact, t.position"
        elif self._since:
            order = "ORDER BY age(t.xmin) DESC"  # what two rows had in turn, the first lets go of before
        async for page in self._other.pages(f"SELECT row_to_json(t) {rows} {order}", self._workspace, size=_PAGE):
            with at_home():
                async with db.transaction():
                    await self._write(table.name, self._sealed(table.name, page))

    async def _write(self, table: str, rows: bytes) -> None:
        """Add or update rows here, a JSON array of them, as columns of their names."""
        changed = _CHANGED.get(table, {})
        columns = [row for row in await _COLUMNS.rows(name=table) if changed.get(row["attname"]) != ""]
        names = [row["attname"] for row in columns]
        key = ", ".join(row["attname"] for row in columns if row["key"])
        updated = ", ".join(f"{row['attname']} = excluded.{row['attname']}" for row in columns if not row["key"])
        await db.rows(
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(changed.get(name, name) for name in names)}"
            f" FROM json_populate_recordset(NULL::{table}, $1) ON CONFLICT ({key})"
            f" DO {f'UPDATE SET {updated}' if updated and table not in _STAYS else 'NOTHING'}",
            rows,
        )

    def _sealed(self, table: str, page: Sequence[db.Row]) -> bytes:
        """Rows whose secrets are sealed with our key."""
        rows = b"[" + b",".join(bytes(row[0]) for row in page) + b"]"
        if not (columns := _SEALED.get(table)):
            return rows
        found = msgspec.json.decode(rows, type=list[dict[str, Any]])
        for row, column in itertools.product(found, columns):
            if sealed := row[name := column._meta.db_column_name]:
                place = secret_box.place(column, row["id"])
                plain = self._theirs.open_once(bytes.fromhex(sealed[2:]), place)
                row[name] = f"\\x{self._ours.seal(plain, place).hex()}"
        return msgspec.json.encode(found)
