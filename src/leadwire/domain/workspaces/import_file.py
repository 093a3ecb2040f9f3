"""A workspace made from an export, on another installation: what `export.write` has written.

Rows keep their ids, so links and cursors of the feed go on. No export has secrets: endpoints get new ones and are
disabled, people choose a new password, and API keys, invitations and blocks of visitors are not made. Redrives and
changes of many leads are not made either. What was still to be sent is canceled, and can be resent.

Anybody may have written the file. Where a row of it names one of another workspace, it is refused.

Each page of lines is a transaction. Until all are there the workspace is closed like one whose deletion has begun: it
can be imported further, or deleted.
"""

import itertools
import operator
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

import msgspec
from piccolo.columns import Timestamptz
from piccolo.table import Table

from leadwire.delivery import signing
from leadwire.delivery.endpoints.changes import is_strangers
from leadwire.delivery.endpoints.table import WebhookEndpoint, sealed
from leadwire.delivery.table import DeliveryResult, EveryDelivery
from leadwire.domain.accounts.changes import workspaces
from leadwire.domain.listing.rows import hidden
from leadwire.domain.workspaces import export
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.declared import declaration, derived
from leadwire.infrastructure.db.statements import Statement, sql
from leadwire.infrastructure.errors import Invalid, OperatorError

Line = dict[str, Any]

_PAGE: Final = 200  # lines
_LAST: Final = 200  # bytes, more than the last line has
_LONGEST_ID: Final = 64
_UNFIT: Final[tuple[type[BaseException], ...]] = (
    msgspec.MsgspecError, KeyError, TypeError, AttributeError, RecursionError, *db.UNSTORABLE
)  # fmt: skip


async def read(path: Path) -> tuple[str, Counter[str]]:
    """Make the workspace of an export, or go on with one whose import was interrupted. Return its id, and how many rows
    of each kind there are in the file.

    Raise Invalid when the file is no whole export, or names rows of another workspace; Conflict when the workspace is
    here already; OperatorError when the file cannot be read.
    """
    try:
        with _open(path) as file:
            workspace = await _begin(path, file)
            file.seek(0)
            return workspace, await _go_on(file, workspace)
    except _UNFIT as error:
        cause = str(error).partition("\n")[0]
        raise Invalid(f"{path} has a line that is none of an export of this version: {cause}") from error


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise OperatorError(f"{path} cannot be read: {error.strerror}") from error


async def _begin(path: Path, file: IO[bytes]) -> str:
    """Refuse what cannot be imported, before anything is written. Add the workspace, and return its id."""
    if not file.seekable():
        raise OperatorError(f"{path} cannot be read twice, as it has to be: it is no file.")
    file.seek(-min(_LAST, file.seek(0, os.SEEK_END)), os.SEEK_END)
    if not file.read().rpartition(b"\n{")[2].startswith(b'"kind":"end"'):
        raise Invalid(f'{path} is no whole export: its last line has the kind "end".')
    file.seek(0)
    first = next(_lines(file))
    workspace: str = first["data"]["id"]
    if not ids.is_id("ws", workspace):  # `installation` has a log of its own
        raise ValueError(f"{workspace} is no id of a workspace")
    async with db.transaction():
        await _write(export.kinds()[0], [first["data"]], workspace)
        await workspaces.begin_import(workspace)
    return workspace


async def _go_on(file: IO[bytes], workspace: str) -> Counter[str]:
    """Write what is not there yet, and open the workspace. Return how many rows of each kind there are. Raise Conflict
    where another process has opened it meanwhile, or it was deleted.
    """
    rows: Counter[str] = Counter()
    kinds = {kind.name: kind for kind in export.kinds()}
    for kind, lines in itertools.groupby(_lines(file), operator.itemgetter("kind")):
        while page := [line["data"] for line in itertools.islice(lines, _PAGE)]:
            rows[kind] += len(page)
            if kind != export.END and declaration(kinds[kind].table).imported:
                async with db.transaction():
                    await workspaces.go_on_importing(workspace)
                    await _write(kinds[kind], page, workspace)
    await workspaces.finish_import(workspace)
    return rows


def _lines(file: IO[bytes]) -> Iterator[Line]:
    return map(msgspec.json.Decoder(Line).decode, file)


async def _write(kind: Any, page: Sequence[Line], workspace: str) -> None:
    """Write rows with those that belong to them, unless they are there, in the open transaction."""
    parts: dict[Any, list[Line]] = {part: [] for part in kind.parts}
    for data in page:
        for part, rows in parts.items():
            rows += [row | {part.key: data["id"]} for row in data.pop(part.name)]
    texts = {text for rows in (page, *parts.values()) for row in rows for text in row.values() if isinstance(text, str)}
    named = [text for text in texts if "_" in text and len(text) <= _LONGEST_ID]
    if other := await _elsewhere().value(ids=named, workspace=workspace):
        raise Invalid(f"The file names {other}, which is another workspace's.")
    await _insert(kind.table, page, workspace)
    for part, rows in parts.items():
        await _insert(part.table, rows, workspace)


@derived
def _elsewhere(tables: Sequence[type[Table]]) -> Statement:
    """What finds those of `:ids` that another workspace has, of the tables whose rows others name."""
    named = {name for table in tables for name in f"{declaration(table).of} {declaration(table).refers}".split()}
    looks = [
        f"SELECT id FROM {declared.name(table)} WHERE id = ANY(:ids::text[]) AND workspace_id <> :workspace"
        for table in tables
        if declared.name(table) in named and declared.has(table, "id") and declared.has(table, "workspace_id")
    ]
    return sql(" UNION ALL ".join(looks))


async def _insert(table: type[Table], rows: Sequence[Line], workspace: str) -> None:
    if not rows:
        return
    computed = declaration(table).made
    rows = [_row(table, row) for row in rows]
    target = DeliveryResult if table is EveryDelivery else table
    name = declared.name(target)
    columns = {column._meta.name: column._meta.db_column_name for column in target._meta.columns}
    if "workspace_id" in columns:
        rows = [row | {"workspace_id": workspace} for row in rows]
    rows = [{columns[key]: value for key, value in row.items() if key in columns} for row in rows]
    kept = sorted(rows[0])
    await db.rows(
        f"INSERT INTO {name} ({', '.join([*kept, *computed])}) SELECT {', '.join([*kept, *computed.values()])}"
        f" FROM json_populate_recordset(NULL::{name}, $1) ON CONFLICT DO NOTHING",
        msgspec.json.encode(rows),
    )


def _row(table: type[Table], row: Line) -> Line:
    """A row as it is stored here."""
    left_out = {*hidden(table), *declaration(table).anew.split()}
    row = {name: value for name, value in row.items() if name not in left_out}
    for column in table._meta.columns:
        if isinstance(column, Timestamptz) and (at := row.get(column._meta.name)):
            clock.parse(at)  # pages of all workspaces read it: PostgreSQL has times that Python has not
    if table is WebhookEndpoint:
        secret = sealed(row["id"], WebhookEndpoint.secret, signing.new_secret())
        return row | {"secret": f"\\x{secret.hex()}", "new_host": is_strangers(row["url"])}
    if "body" in row:
        # Days are made and dropped by it, for all workspaces.
        if not ids.is_id("evt", row["id"]) or row["id"] >= ids.floor("evt", clock.ago(days=-1)):
            raise ValueError(f"{row['id']} is no id of an event")
        return row | {"body": row["body"] or ""}  # null: the event is erased
    if table is EveryDelivery:
        ended = row["state"] in ("delivered", "dead")
        return row | {
            "state": row["state"] if ended else "cancelled",
            "finished_at": row["finished_at"] or clock.iso(clock.now()),
        }
    return row
