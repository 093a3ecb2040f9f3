"""A workspace's domains, and which of them count."""

from leadwire.domain.accounts.domains.schema import Domain
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.jobs import Offer


@query()
async def listed(workspace: str) -> list[Domain]:
    """A workspace's domains, by name."""


@query("There is no such domain.")
async def one(workspace: str, domain_id: str) -> Domain:
    """A domain of the workspace. Raise NotFound."""


@query()
async def counting(workspace: str, names: list[str]) -> set[str]:
    """Those of some domains that the workspace may rely on now. Until the open transaction ends nobody removes them."""


@query()
async def taken_over() -> list[tuple[str, str]]:
    """Every domain that counts without a proof, and the day on which that ends, the first to end first."""


@query()
async def due() -> list[Offer]:
    """Return jobs for the domains to be checked now."""
