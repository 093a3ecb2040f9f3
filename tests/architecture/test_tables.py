"""Who knows which table: a package writes its own, and reads those of others only where this page says so."""

import ast
import functools
import importlib
import re
from collections import defaultdict
from pathlib import Path

from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import Statement
from leadwire.processes.piccolo_app import TABLES

SOURCE = Path(__file__).parents[2] / "src" / "leadwire"
NAMED = re.compile(r'\b(FROM|JOIN|INTO|UPDATE)\s+(?:ONLY\s+)?"?(\w+)"?')

READS = {
    "delivery": {"job"},  # that what waits behind what was erased is still to go on
    "domain/bots": {"conversation", "job", "message", "lead", "workspace"},
    "domain/conversations": {"job", "lead", "user_account"},  # names of visitors; whose conversations the inbox lists
    "domain/exports": {"conversation", "message", "workspace"},
    "domain/leads": {"bot"},
    "domain/listing": {"event"},
    "domain/mail": {"job"},
    "domain/notices": {
        "bot",
        "conversation",
        "delivery_result",
        "event",
        "user_account",
        "webhook_endpoint",
        "workspace",
    },
    "domain/privacy": {"workspace", "lead", "conversation", "event"},
    "domain/search": {"conversation", "conversation_note", "lead", "message"},
    "domain/bulk_changes": {"user_account"},
    "domain/webhooks": {
        "attempt",
        "delivery",
        "delivery_result",
        "endpoint_hour",
        "event",
        "every_delivery",
        "redrive_job",
        "webhook_endpoint",
        "workspace",
    },
    "domain/workspaces": {one._meta.tablename for one in TABLES},  # an export reads all that is theirs
}
"""Which tables of others a package's statements may name."""


def package_of(path: str) -> str:
    first, second, *_ = path.split("/")
    return f"{first}/{second}" if first in ("domain", "interfaces") else first


OWNER = {
    table._meta.tablename: package_of(table.__module__.removeprefix("leadwire.").replace(".", "/")) for table in TABLES
}


@functools.cache
def texts_of(path: Path) -> list[str]:
    """The SQL of a file, or of a module: its constants, and the statements that it has built."""
    if path.suffix == ".sql":
        return [path.read_text()]
    module = importlib.import_module(
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    )
    values = [getattr(value, "__self__", value) for value in vars(module).values()]  # also of `statement(...).rows`
    built = [one.text for one in values if isinstance(one, Statement)]
    constants = (node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
    return built + [text for text in constants if isinstance(text, str)]


def named(writing: bool) -> dict[str, set[str]]:
    """Package -> tables of others that it names, as `package: table (file)`."""
    found = defaultdict(set)
    for path in (*SOURCE.rglob("*.py"), *SOURCE.rglob("*.sql")):
        if path.name == "__main__.py":
            continue
        relative = str(path.relative_to(SOURCE))
        for text in texts_of(path):
            for verb, table in NAMED.findall(text):
                writes = verb in ("INTO", "UPDATE") or f"DELETE FROM {table}" in text.replace('"', "")
                if table in OWNER and writes == writing and OWNER[table] != package_of(relative):
                    found[package_of(relative)].add(f"{table} ({relative})")
    return found


def test_a_package_writes_its_own_tables_only():
    assert named(writing=True) == {}


def test_a_package_reads_the_tables_of_others_only_where_it_says_so():
    for package, tables in named(writing=False).items():
        assert {one.split()[0] for one in tables} <= READS.get(package, set()), f"{package}: {sorted(tables)}"


async def test_a_column_has_the_type_that_its_table_class_says(database):
    made = defaultdict(dict)
    for table, column, kind in await db.rows(
        """SELECT relname, attname, format_type(atttypid, NULL) FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
           WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped"""
    ):
        made[table][column] = kind
    types = {"TIMESTAMPTZ": "timestamp with time zone", "BOOLEAN": "boolean", "INTEGER": "integer"}
    for table in TABLES:
        declared = {
            column._meta.db_column_name: types.get(column.column_type, column.column_type.lower())
            for column in table._meta.columns
        }
        assert made[table._meta.tablename] == declared, table._meta.tablename
