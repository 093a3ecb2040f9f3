"""A workspace's providers as they are set up, and whether anybody may still sign in by password."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from leadwire.domain.accounts.domains.reads import COUNTS
from leadwire.domain.accounts.schema import Role
from leadwire.domain.accounts.table import IdentityProvider, Workspace
from leadwire.infrastructure import clock, db, email_address
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import columns, if_given, param, sql, statement
from leadwire.infrastructure.errors import NotFound

_COLUMNS: Final = (
    "id workspace_id name issuer client_id client_secret domains trusts_email default_role role_claim roles"
)
_FIND: Final = statement(
    IdentityProvider.select(*columns(IdentityProvider, _COLUMNS))
    .where(if_given(IdentityProvider.workspace_id, "workspace"), if_given(IdentityProvider.id, "id"))
    .order_by("created_at", "id")
)
# The providers that may assert an address of this domain. Where it was taken over, anybody may have entered it: then it
# has to be one of which people have accounts in that workspace and in no other, so that nobody is led to a provider of
# strangers. With two @, as older versions took it from a provider, an address is of no domain.
_OF_DOMAIN: Final = "split_part(lower(u.email_address), '@', 2) = :domain AND u.email_address NOT LIKE '%@%@%'"
_FOR_DOMAIN: Final = sql(f"""
SELECT p.id, p.name FROM identity_provider p JOIN workspace w ON w.id = p.workspace_id
JOIN email_domain d ON d.workspace_id = p.workspace_id AND d.domain = :domain AND {COUNTS}
WHERE p.domains @> ARRAY[:domain] AND p.client_secret IS NOT NULL AND w.suspended_at IS NULL
    AND (d.proven_at IS NOT NULL OR (
        EXISTS (SELECT 1 FROM user_account u WHERE {_OF_DOMAIN} AND u.workspace_id = p.workspace_id)
        AND NOT EXISTS (SELECT 1 FROM user_account u WHERE {_OF_DOMAIN} AND u.workspace_id <> p.workspace_id)))
ORDER BY p.created_at, p.id""")

_IS_ENFORCED: Final = statement(Workspace.select("sso_enforced").where(Workspace.id == param("workspace")))


class Provider(Struct, frozen=True):
    """An OpenID provider of a workspace."""

    id: str
    workspace: str
    name: str
    issuer: str
    client_id: str
    client_secret: bytes | None
    """Sealed. None: it is not set up yet."""
    domains: list[str]
    trusts_email: bool
    """Whether an address counts that the provider does not call verified."""
    default_role: Role | None
    """Of an account that is made at the first sign-in; None: none is made."""
    role_claim: str
    roles: dict[str, Role]
    """The role for a value of that claim."""


@query()
async def admins(workspace: str) -> list[db.Row]:
    """The admins who have a password, oldest account first."""


async def listed(workspace: str) -> list[Provider]:
    """A workspace's providers, oldest first."""
    return [_provider(*row) for row in await _FIND.rows(workspace=workspace, id=None)]


async def one(provider_id: str, workspace: str | None = None) -> Provider:
    """A provider, of this workspace if one is given. Raise NotFound."""
    missing = NotFound("There is no such provider.")
    return _provider(*await _FIND.one(missing, workspace=workspace, id=provider_id))


async def for_email(email: str) -> list[tuple[str, str]]:
    """Id and name of the providers for an e-mail address. Depends on its domain alone."""
    try:
        domain = email_address.read(email).ascii_domain.lower()
    except ValueError:
        return []
    return [(row["id"], row["name"]) for row in await _FOR_DOMAIN.rows(domain=domain, now=clock.now())]


async def is_enforced(workspace: str) -> bool:
    """Whether passwords are for emergency accounts only."""
    return bool(await _IS_ENFORCED.value(workspace=workspace))


def _provider(*row: Any) -> Provider:
    *known, roles = row
    return Provider(*[*known, msgspec.json.decode(roles, type=dict[str, Role])])
