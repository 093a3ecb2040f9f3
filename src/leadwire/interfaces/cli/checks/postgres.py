"""PostgreSQL: durability, free connections, the tables of this version."""

from collections.abc import Mapping
from typing import Final

from leadwire.delivery.endpoints import table as endpoints
from leadwire.delivery.monitoring import holders
from leadwire.domain.accounts import reads as accounts
from leadwire.domain.accounts.domains import reads as domains
from leadwire.domain.workspaces import usage
from leadwire.infrastructure import clock
from leadwire.infrastructure.db import declared, pooler
from leadwire.infrastructure.db.hosts import Hosts
from leadwire.infrastructure.db.migrations import FOREIGN_FIX, difference, foreign
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.jobs import reads as jobs
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.checks import finding
from leadwire.interfaces.cli.checks.finding import Finding, unless

_OLDEST: Final = 150_000
_LONGEST: Final = 300  # seconds that a transaction may be open
_MOST_BEHIND_SNAPSHOT: Final = 500_000  # transactions of the server since a snapshot
_MOST_KEPT: Final = 2**33  # bytes of WAL for a replication slot
_NAMED: Final = 5  # workspaces
_MOST_BEHIND: Final = 2**24  # bytes of WAL that a standby has not replayed
_POOLERS: Final = {
    "none": "none between us and the server",
    "usable": "one between us and the server",
    "statement": "one in statement mode, where nothing can be changed",
    "forgetful": "one that loses prepared statements",
}
_KEPT: Final = {
    "fsync": "on",
    "full_page_writes": "on",
    "autovacuum": "on",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "server_encoding": "UTF8",
}
_NOT_OFF: Final = ("synchronous_commit", "data_checksums")
_ASKED: Final = [
    *_KEPT, *_NOT_OFF, "max_connections", "superuser_reserved_connections",
    "reserved_connections", "server_version", "server_version_num", "in_hot_standby",
    "synchronous_standby_names",
]  # fmt: skip
_STANDBYS, _ROLE, _RIGHTS, _SETTINGS, _CLOCK, _CLIENTS = named(__file__, "standbys role rights settings clock clients")


async def check(settings: Settings) -> list[Finding]:
    """Versions and settings of the server, and who uses it."""
    about = {row["name"]: row["setting"] for row in await _SETTINGS.rows(names=_ASKED)}
    standby = about.get("in_hot_standby") == "on"
    return [
        unless(int(about["server_version_num"]) < _OLDEST, "PostgreSQL version", about["server_version"]),
        unless(standby, "PostgreSQL role", "a standby, which only reads" if standby else "primary"),
        *(unless(about[name] != right, f"PostgreSQL {name}", about[name]) for name, right in _KEPT.items()),
        *(unless(about[name] == "off", f"PostgreSQL {name}", about[name]) for name in _NOT_OFF),
        await _connections(about, settings),
        await _holders(),
        await _standbys(about),
    ]


async def hosts(url: str) -> Finding:
    """Whether each host of the address is a primary or a standby, and one of them the primary."""
    about = "PostgreSQL hosts"
    roles = await Hosts(url).roles()
    if not roles:
        return Finding(about, "ok", "one")
    primaries = sum(role == "primary" for role in roles.values())
    wrong = primaries != 1 or not set(roles.values()) <= {"primary", "standby"}
    says = "; ".join(f"{name}: {role}" for name, role in roles.items())
    return unless(wrong, about, says, level="error" if primaries > 1 else "warning")


async def tables() -> Finding:
    """Whether the database has what this version needs."""
    about = "migrations"
    missing, unknown = await difference()
    if fault := foreign(missing, unknown):
        return Finding(about, "error", fault, FOREIGN_FIX)
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


async def role() -> list[Finding]:
    """Who we are to the server, whether it lets us do our work, and whether the audit log is safe from us."""
    (row,) = await _ROLE.rows()
    lacks = await _RIGHTS.value(names=declared.names())
    says = f" lacks rights: {lacks}" if lacks else row["says"]
    sees = "sees" if row["monitors"] else "does not see"
    return [
        unless(bool(lacks), "role of the service", row["name"] + says, role=row["name"]),
        unless(
            not row["monitors"], "pg_monitor", f"{row['name']} {sees} what other roles' sessions do", role=row["name"]
        ),
    ]


async def clocks() -> Finding:
    """Return how far PostgreSQL's clock, which decides what is due, is from ours, which is in ids."""
    sent = clock.now().timestamp()
    theirs = await _CLOCK.value()
    return finding.clock("clock of PostgreSQL", sent, theirs, clock.now().timestamp())


async def workspaces() -> list[Finding]:
    """Quotas that are nearly used up, and deletions that were interrupted."""
    near, unfinished = await usage.near(), await usage.unfinished()
    used = "; ".join(f"{row.name} ({row.workspace}): {row.count} of {row.most} {row.quota}" for row in near[:_NAMED])
    left = ", ".join(f"{name} ({workspace})" for workspace, name in unfinished[:_NAMED])
    gone = f"not all is gone of {left}" if left else "nothing is left of any"
    return [
        unless(bool(near), "quotas", used or "none is nearly used up"),
        unless(bool(unfinished), "deleted workspaces", gone),
    ]


async def operators(settings: Settings) -> Finding:
    """Whether who is named is an operator, and where people are, anybody is: one of their accounts may be."""
    users = await accounts.users()
    people = {user.email for user in users}
    operating = dict.fromkeys(user.email for user in users if user.operator and user.role == "admin")
    told = [
        f"{name} {'was not made one' if name in people else 'has no account'}"
        for name in settings.operators
        if name not in operating
    ]
    if people and not operating:
        told.append("nobody is one")
    return unless(bool(told), "operators", "; ".join(told) or ", ".join(operating) or "there is no account yet")


async def email_domains() -> Finding:
    """Whether workspaces rely on domains that they have not proven, from before proofs were asked for."""
    told = [f"{name} until {day}" for name, day in await domains.taken_over()]
    return unless(bool(told), "domains", f"not proven: {', '.join(told)}" if told else "none counts without a proof")


async def background() -> Finding:
    """Whether a process does what is done in the background. A new installation has none yet, nor anything to do."""
    seconds, waiting = await jobs.unattended(), sum(summary.waiting for summary in await jobs.summaries())
    dead = bool(waiting) and (seconds is None or seconds > jobs.UNATTENDED)
    return unless(dead, "background work", f"{waiting} jobs wait and nobody does them" if dead else "it is being done")


async def _connections(about: Mapping[str, str], settings: Settings) -> Finding:
    used = await _CLIENTS.value()
    kept = sum(int(about.get(name, 0)) for name in ("superuser_reserved_connections", "reserved_connections"))
    free = int(about["max_connections"]) - kept - used
    room = max(free, 0) // settings.pool_size
    says = f"{used} used, {free} free: room for {room} more processes of {settings.pool_size}"
    return unless(free < settings.pool_size, "PostgreSQL connections", says, level="error" if free < 2 else "warning")


async def _holders() -> Finding:
    """Whether anything keeps dead rows, or files of the log, for long: a dump or a report that is active does, too."""
    transactions = await holders.holders()
    old = [
        holder
        for holder in transactions
        if (holder.seconds or 0) > _LONGEST
        or (holder.transactions or 0) > _MOST_BEHIND_SNAPSHOT
        or (holder.wal or 0) > _MOST_KEPT
    ]
    says = "; ".join(map(str, old[:_NAMED] or transactions[:1])) or "none"
    return unless(bool(old), "transactions left open", says)


async def _standbys(about: Mapping[str, str]) -> Finding:
    """Whether each standby of this server follows, and changes need not wait for one that is not there."""
    rows = await _STANDBYS.rows()
    late = [row for row in rows if row["state"] != "streaming" or row["behind"] > _MOST_BEHIND]
    told = [f"{row['name']} is {row['behind'] >> 20} MiB behind ({row['state']})" for row in late]
    waits = about["synchronous_standby_names"] and about["synchronous_commit"] not in {"off", "local"}
    alone = bool(waits) and not any(row["sync_state"] in {"sync", "quorum"} for row in rows)
    if alone:
        told.append("none is synchronous, and every change waits until one is")
    says = "; ".join(told) or f"{len(rows)} connected"
    return unless(bool(told), "PostgreSQL standbys", says, level="error" if alone else "warning")


async def connection_pooler() -> Finding:
    """Whether there is one between us and the server, and we can work through it."""
    kind = await pooler.find()
    return unless(kind not in {"none", "usable"}, "connection pooler", _POOLERS[kind])
