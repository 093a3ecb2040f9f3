"""Rows of tables as exports show them: without secrets, and without what is only ours."""

from datetime import datetime
from typing import Any, Final

import msgspec
from piccolo.table import Table

from leadwire.infrastructure import clock, db

HIDDEN: Final = frozenset({
    "workspace_id",  # the same in every line
    "password_hash", "totp_step", "search", "client_message_id", "known_browsers",
    "open", "due_at", "rate_tokens", "rate_at", "admission_window",  # the relay's
    "draft_undo", "draft_redo",  # the draft is shown
    "xact", "position", "subject", "traceparent",
})  # fmt: skip
"""Columns that are never shown, besides those of bytes."""


def columns(table: type[Table], but: str = "") -> str:
    """The columns of a table that are shown, for SQL; without the column `but`."""
    shown = [column for column in table._meta.columns if column.value_type is not bytes]
    names = [column._meta.db_column_name for column in shown]
    return ", ".join(name for name in names if name not in HIDDEN and name != but)


def shown(row: db.Row) -> dict[str, Any]:
    """A row by its columns, times as text; the body of an event is JSON, null once it is erased."""
    found = {name: clock.iso(value) if isinstance(value, datetime) else value for name, value in row.items()}
    if "body" in found:
        found["body"] = msgspec.Raw(found["body"].encode()) if found["body"] else None
    return found
