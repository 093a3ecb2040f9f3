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
from piccolo.table import Table

from leadwire.domain.accounts.changes import workspaces
from leadwire.infrastructure import db, ids, secret_box
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.declared import Declared, declaration, derived
from leadwire.infrastructure.db.other import Other, at_home
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.secret_box import SecretBox

_PAGE: Final = 500  # rows
_END: Final = 2**64 - 1  # no transaction comes after it
# What was recorded before the present epoch, perhaps on a server that had counted more transactions, is complete.
_XACT: Final = "CASE WHEN {0}.position < (SELECT max(first_position) FROM epoch) THEN '0'::xid8 ELSE {0}.xact END"
_OF_EVENTS: Final = _XACT.format("t")
_FEED: Final = "(SELECT max(first_position) FROM epoch WHERE first_position <= t.position) NULLS FIRST, xact, position"


class _Table(NamedTuple):
    """A table, the clauses that find the rows of a workspace (`t`), and the transaction that recorded their events."""

    name: str
    said: Declared
    rows: str
    xact: str


@derived
def tables(every: Sequence[type[Table]]) -> list[_Table]:
    """What is copied besides the workspace's own row: those first that others refer to, last what jobs act on."""
    return [_table(table, every) for table in every if (said := declaration(table)).of and said.moves and not said.view]


def _table(table: type[Table], every: Sequence[type[Table]]) -> _Table:
    name, said = declared.name(table), declaration(table)
    if said.of == "workspace" or said.rows:
        rows = said.rows or "t.workspace_id = $1"
        return _Table(name, said, f"FROM {name} t WHERE {rows}", _OF_EVENTS if declared.has(table, "xact") else "")
    of = next(one for one in every if declared.name(one) == said.of)
    rows = f"FROM {name} t JOIN {said.of} p ON p.id = t.{declared.belongs_by(said)} WHERE p.workspace_id = $1"
    return _Table(name, said, rows, _XACT.format("p") if declared.has(of, "xact") else "")


_COLUMNS, _SETTLED = named(__file__, "columns settled")


class Copy:
    """Copies rows, and counts them by table. `theirs` opens what they have sealed, `ours` seals it."""

    def __init__(self, other: Other, workspace: str, theirs: SecretBox, ours: SecretBox) -> None:
        self._other, self._workspace, self._theirs, self._ours = other, workspace, theirs, ours
        same_key = theirs.derived("") == ours.derived("")
        self._tables = [table for table in tables() if same_key or not table.said.keyed]
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
            changed = {table.name: await self._changed(table, until) for table in reversed(self._tables)}
            for table in self._tables:
                if rows := changed[table.name]:
                    await self._add(table, rows)
        self._since = xmin

    async def _settle(self) -> None:
        people = "SELECT login_id FROM user_account WHERE workspace_id = $1"
        logins = [row["login_id"] for row in await db.rows(people, self._workspace)]
        with at_home():
            settled = await _SETTLED.value(logins=logins, workspace=self._workspace)
        self._tables = [table._replace(rows=table.rows.replace("SETTLED", settled)) for table in self._tables]

    async def _own_row(self) -> None:
        """Copy the workspace's own row. Here it is closed."""
        row = await db.value("SELECT json_agg(t) FROM workspace t WHERE id = $1", self._workspace)
        with at_home():
            async with db.transaction():
                await self._write("workspace", Declared(), row)
                await workspaces.begin_move(self._workspace, self.move_id)

    async def _changed(self, table: _Table, until: int) -> str:
        """Delete here what is no longer there. Return the clauses that find what is to be copied, or nothing."""
        late = table.said.late or "false"
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
        if table.xact == _OF_EVENTS:
            order = f"ORDER BY {_FEED}"
        elif self._since:
            order = "ORDER BY age(t.xmin) DESC"  # what two rows had in turn, the first lets go of before
        async for page in self._other.pages(f"SELECT row_to_json(t) {rows} {order}", self._workspace, size=_PAGE):
            with at_home():
                async with db.transaction():
                    await self._write(table.name, table.said, self._sealed(table.name, page))

    async def _write(self, table: str, said: Declared, rows: bytes) -> None:
        """Add or update rows here, a JSON array of them, as columns of their names."""
        changed = said.moved
        columns = [row for row in await _COLUMNS.rows(name=table) if changed.get(row["attname"]) != ""]
        names = [row["attname"] for row in columns]
        key = ", ".join(row["attname"] for row in columns if row["key"])
        updated = ", ".join(f"{row['attname']} = excluded.{row['attname']}" for row in columns if not row["key"])
        await db.rows(
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(changed.get(name, name) for name in names)}"
            f" FROM json_populate_recordset(NULL::{table}, $1) ON CONFLICT ({key})"
            f" DO {f'UPDATE SET {updated}' if updated and not said.stays else 'NOTHING'}",
            rows,
        )

    def _sealed(self, table: str, page: Sequence[db.Row]) -> bytes:
        """Rows whose secrets are sealed with our key."""
        rows = b"[" + b",".join(bytes(row[0]) for row in page) + b"]"
        if not (columns := declared.sealed().get(table)):
            return rows
        lines = msgspec.json.decode(rows, type=list[dict[str, Any]])
        for row, column in itertools.product(lines, columns):
            if sealed := row[name := column._meta.db_column_name]:
                place = secret_box.place(column, row["id"])
                plain = self._theirs.open_once(bytes.fromhex(sealed[2:]), place)
                row[name] = f"\\x{self._ours.seal(plain, place).hex()}"
        return msgspec.json.encode(lines)
