"""A workspace's domains, and which of them count."""

from collections.abc import Collection
from typing import Final

from leadwire.domain.accounts.domains.schema import Domain
from leadwire.domain.accounts.domains.table import EmailDomain
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import columns, if_given, sql, statement
from leadwire.infrastructure.errors import NotFound

COLUMNS: Final = columns(
    EmailDomain,
    "id workspace_id domain code created_at proven_at missing_since taken_over_until checked_at fault",
)
COUNTS: Final = "(d.proven_at IS NOT NULL OR d.taken_over_until > :now)"
"""SQL: whether the email_domain `d` counts."""

_FIND: Final = statement(
    EmailDomain.select(*COLUMNS)
    .where(if_given(EmailDomain.workspace_id, "workspace"), if_given(EmailDomain.id, "id"))
    .order_by("domain", "id")
)
_COUNTING: Final = sql(f"""
SELECT d.domain FROM email_domain d
WHERE d.workspace_id = :workspace AND d.domain = ANY(:names::text[]) AND {COUNTS}""")
# Domains that count without a proof, and until when, the first to end first.
_TAKEN_OVER: Final = sql("""
SELECT domain, taken_over_until FROM email_domain WHERE taken_over_until > :now ORDER BY taken_over_until, domain""")

_DUE: Final = sql("SELECT id, workspace_id FROM email_domain WHERE check_at <= now() ORDER BY check_at LIMIT 500")


async def listed(workspace: str) -> list[Domain]:
    """A workspace's domains, by name."""
    return [Domain(*row) for row in await _FIND.rows(workspace=workspace, id=None)]


async def one(workspace: str, domain_id: str) -> Domain:
    """A domain of the workspace. Raise NotFound."""
    return Domain(*await _FIND.one(NotFound("There is no such domain."), workspace=workspace, id=domain_id))


async def counting(workspace: str, names: Collection[str]) -> set[str]:
    """Those of some domains that the workspace may rely on now."""
    rows = await _COUNTING.rows(workspace=workspace, names=list(names), now=clock.now())
    return {row["domain"] for row in rows}


async def taken_over() -> list[tuple[str, str]]:
    """Every domain that counts without a proof, and the day on which that ends."""
    return [(name, f"{until:%Y-%m-%d}") for name, until in await _TAKEN_OVER.rows(now=clock.now())]


async def due() -> list[tuple[str, str]]:
    """Id and workspace of the domains to be checked now."""
    return [tuple(row) for row in await _DUE.rows()]
