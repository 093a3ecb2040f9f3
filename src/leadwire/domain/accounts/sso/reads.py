"""A workspace's providers as they are set up, and whether anybody may still sign in by password."""

from typing import Any

import msgspec
from msgspec import Struct

from leadwire.domain.accounts.schema import Role
from leadwire.infrastructure import clock, db, email_address
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import NotFound

_FIND, _FOR_DOMAIN = named(__file__, "find for_domain")


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

    @property
    def chosen(self) -> tuple[object, ...]:
        """What its form is about."""
        entered = self.name, self.client_id, self.domains, self.trusts_email
        return *entered, self.default_role, self.role_claim, self.roles


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
        parts = email_address.read(email)
    except ValueError:
        return []
    names = {"domain": parts.ascii_domain.lower(), "shown": parts.domain.lower()}
    return [(row["id"], row["name"]) for row in await _FOR_DOMAIN.rows(**names, now=clock.now())]


@query()
async def is_enforced(workspace: str) -> bool:
    """Whether passwords are for emergency accounts only."""


def _provider(*row: Any) -> Provider:
    *columns, roles = row
    return Provider(*[*columns, msgspec.json.decode(roles, type=dict[str, Role])])
