"""PostgreSQL: durability, free connections, the tables of this version."""

from collections.abc import Mapping
from typing import Final

from leadwire.delivery.endpoints import table as endpoints
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.migrations import difference
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.checks import finding
from leadwire.interfaces.cli.checks.finding import Finding, unless

_OLDEST: Final = 150_000
_MOST_IDLE: Final = 300  # seconds that a transaction may idle
_RESTART: Final = "in postgresql.conf, then reload"

# name -> value it must have, what happens otherwise
_KEPT: Final[Mapping[str, tuple[str, str]]] = {
    "fsync": ("on", "a crash of the machine can destroy the whole database"),
    "full_page_writes": ("on", "a crash of the machine can leave half-written pages"),
    "autovacuum": ("on", "tables only grow, and everything slows down until it stops"),
    "default_transaction_isolation": ("read committed", "changes that run side by side fail"),
    "default_transaction_read_only": ("off", "nothing can be changed"),
    "server_encoding": ("UTF8", "names cannot be stored"),
}
_ASKED: Final = [
    *_KEPT, "synchronous_commit", "data_checksums", "max_connections", "superuser_reserved_connections",
    "reserved_connections", "server_version", "server_version_num", "in_hot_standby",
]  # fmt: skip
_SETTINGS: Final = sql("SELECT name, setting FROM pg_settings WHERE name = ANY(:names)")


async def check(settings: Settings) -> list[Finding]:
    """Versions and settings of the server, and who uses it."""
    about = {row["name"]: row["setting"] for row in await _SETTINGS.rows(names=_ASKED)}
    return [
        unless(
            int(about["server_version_num"]) < _OLDEST,
            "PostgreSQL version",
            about["server_version"],
            "move to PostgreSQL 15 or later",
        ),
        unless(
            about.get("in_hot_standby") == "on",
            "PostgreSQL role",
            "a standby, which only reads" if about.get("in_hot_standby") == "on" else "primary",
            "let LEADWIRE_DATABASE_URL name the primary; several hosts may stand in it with"
            " target_session_attrs=read-write",
        ),
        *(
            unless(about[name] != right, f"PostgreSQL {name}", about[name], f"set {name} = {right} {_RESTART}: {why}")
            for name, (right, why) in _KEPT.items()
        ),
        unless(
            about["synchronous_commit"] == "off",
            "PostgreSQL synchronous_commit",
            about["synchronous_commit"],
            f"set synchronous_commit = on {_RESTART}: a crash takes back changes that were answered with success",
        ),
        unless(
            about["data_checksums"] == "off",
            "PostgreSQL data_checksums",
            about["data_checksums"],
            "stop the server and run pg_checksums --enable: a damaged page is read as if it were intact",
            level="warning",
        ),
        await _connections(about, settings),
        await _idle_transactions(),
        await _pooler(),
    ]


async def tables() -> Finding:
    """Whether the database has what this version needs."""
    about = "migrations"
    missing, unknown = await difference()
    if missing:
        says = f"{len(missing)} not applied, the next is {missing[0]}"
        return Finding(about, "error", says, "run: leadwire migrate")
    if unknown:
        says = f"the database has {len(unknown)} that this version does not know"
        return Finding(about, "warning", says, "fine during an upgrade; otherwise upgrade this installation")
    return Finding(about, "ok", "all applied")


async def secret_key() -> list[Finding]:
    """Whether the keys decrypt one secret of every key that the secrets in the database were encrypted with."""
    about = "secret key fits"
    try:
        secrets = await endpoints.count_secrets()
    except OperatorError as fault:
        return [Finding(about, "error", str(fault), "set LEADWIRE_SECRET_KEY as it was")]
    if secrets is None:
        return []
    if not secrets.endpoints:
        return [Finding(about, "ok", "no endpoint has a secret yet")]
    if secrets.unreadable:
        says = f"the secrets of {secrets.unreadable} endpoints were encrypted with a key that is not ours"
        fix = "add the old key to LEADWIRE_SECRET_KEY after the new one, separated by a comma"
        return [Finding(about, "error", says, fix)]
    return [Finding(about, "ok", f"it opens the secrets of {secrets.endpoints} endpoints")]


async def clocks() -> Finding:
    """Return how far PostgreSQL's clock, which decides what is due, is from ours, which is in signatures and ids."""
    sent = clock.now().timestamp()
    theirs = await db.value("SELECT extract(epoch FROM clock_timestamp())::float8")
    return finding.clock("clock of PostgreSQL", sent, theirs, clock.now().timestamp())


async def _connections(about: Mapping[str, str], settings: Settings) -> Finding:
    used = await db.value("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
    kept = sum(int(about.get(name, 0)) for name in ("superuser_reserved_connections", "reserved_connections"))
    free = int(about["max_connections"]) - kept - used
    return unless(
        free < settings.pool_size,
        "PostgreSQL connections",
        f"{used} used, {free} free: room for {max(free, 0) // settings.pool_size} more processes of"
        f" {settings.pool_size}",
        "raise max_connections, lower LEADWIRE_POOL_SIZE, or put PgBouncer in front: an upgrade starts new processes"
        " before it stops old ones",
        level="error" if free < 2 else "warning",
    )


async def _idle_transactions() -> Finding:
    seconds = await db.value(
        """SELECT coalesce(max(extract(epoch FROM now() - xact_start)), 0)::float8 FROM pg_stat_activity
           WHERE state LIKE 'idle in transaction%'"""
    )
    return unless(
        seconds > _MOST_IDLE,
        "transactions left open",
        f"the oldest idles for {seconds:.0f} s",
        "find it in pg_stat_activity (state 'idle in transaction') and end it with pg_terminate_backend: vacuum cannot"
        " clean up behind it, and the event feed waits for it",
        level="warning",
    )


async def _pooler() -> Finding:
    says = "none between us and the server"
    if await db.through_pooler():
        says = "one between us and the server; in transaction mode it must keep prepared statements (PgBouncer 1.21"
        says += " or later with max_prepared_statements above 0)"
    return Finding("connection pooler", "ok", says)
