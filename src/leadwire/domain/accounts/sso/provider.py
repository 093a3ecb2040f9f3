"""A workspace's providers as they are set up, and what each publishes: its configuration and its keys."""

import asyncio
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from leadwire.domain.accounts.schema import Role
from leadwire.domain.accounts.sso import fetching
from leadwire.domain.accounts.sso.faults import SignOnRefused
from leadwire.domain.accounts.sso.tokens import Header, Jwk
from leadwire.domain.accounts.table import IdentityProvider
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import columns, if_given, sql, statement
from leadwire.infrastructure.errors import NotFound

T = TypeVar("T")

_HOLDS: Final = 600.0  # seconds that what a provider publishes is used
_AGAIN: Final = 60.0  # seconds until its keys are fetched once more for one that is not among them
_MOST: Final = 200  # providers whose configuration is kept

_COLUMNS: Final = (
    "id workspace_id name issuer client_id client_secret domains trusts_email default_role role_claim roles"
)
_FIND: Final = statement(
    IdentityProvider.select(*columns(IdentityProvider, _COLUMNS))
    .where(if_given(IdentityProvider.workspace_id, "workspace"), if_given(IdentityProvider.id, "id"))
    .order_by("created_at", "id")
)
# The providers that may assert an address of this domain. Anybody can enter any domain, so it has to be one of which
# people have accounts in that workspace and in no other: nobody is led to a provider of strangers.
_FOR_DOMAIN: Final = sql("""
SELECT p.id, p.name FROM identity_provider p JOIN workspace w ON w.id = p.workspace_id
WHERE p.domains @> ARRAY[:domain] AND p.client_secret IS NOT NULL AND w.suspended_at IS NULL
    AND EXISTS (SELECT 1 FROM user_account u
        WHERE split_part(lower(u.email), '@', 2) = :domain AND u.workspace_id = p.workspace_id)
    AND NOT EXISTS (SELECT 1 FROM user_account u
        WHERE split_part(lower(u.email), '@', 2) = :domain AND u.workspace_id <> p.workspace_id)
ORDER BY p.created_at, p.id""")


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


class Metadata(Struct, frozen=True):
    """What a provider says of itself (OpenID Connect Discovery 1.0)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    id_token_signing_alg_values_supported: list[str] = []
    code_challenge_methods_supported: list[str] | None = None
    authorization_response_iss_parameter_supported: bool = False


class _Keys(Struct):
    keys: list[msgspec.Raw]


_metadata: dict[str, tuple[Metadata, float]] = {}
_published: dict[str, tuple[list[Jwk], float]] = {}
_locks: dict[str, asyncio.Lock] = {}


async def listed(workspace: str) -> list[Provider]:
    """A workspace's providers, oldest first."""
    return [_provider(*row) for row in await _FIND.rows(workspace=workspace, id=None)]


async def one(provider_id: str, workspace: str | None = None) -> Provider:
    """A provider, of this workspace if one is given. Raise NotFound."""
    missing = NotFound("There is no such provider.")
    return _provider(*await _FIND.one(missing, workspace=workspace, id=provider_id))


async def for_email(email: str) -> list[tuple[str, str]]:
    """Id and name of the providers for an e-mail address. Depends on its domain alone."""
    domain = email.strip().lower().rpartition("@")[2]
    return [(row["id"], row["name"]) for row in await _FOR_DOMAIN.rows(domain=domain)] if domain else []


async def metadata(issuer: str, *, anew: bool = False) -> Metadata:
    """What the issuer publishes, at most ten minutes old. Raise SignOnRefused."""
    now = clock.now().timestamp()
    found, at = _metadata.get(issuer, (None, 0.0))
    if anew or found is None or at < now - _HOLDS:
        found = await fetching.fetch(issuer.removesuffix("/") + "/.well-known/openid-configuration", Metadata)
        if found.issuer != issuer:
            raise SignOnRefused("wrong_issuer", f"it says {found.issuer}")
        for url in (found.authorization_endpoint, found.token_endpoint, found.jwks_uri):
            fetching.vetted(url)
        _keep(_metadata, issuer, (found, now))
    return found


async def key_for(header: Header, jwks_uri: str) -> Jwk:
    """The key that a token is signed with. One that is not known is looked for anew, at most once a minute.

    Raise SignOnRefused.
    """
    async with _locks.setdefault(jwks_uri, asyncio.Lock()):
        now = clock.now().timestamp()
        published, at = _published.get(jwks_uri, ([], 0.0))
        fitting = [key for key in published if key.fits(header)]
        if at < now - (_HOLDS if fitting else _AGAIN):
            _keep(_published, jwks_uri, ([], now))  # should it fail
            published = await keys(jwks_uri)
            _keep(_published, jwks_uri, (published, now))
            fitting = [key for key in published if key.fits(header)]
    if len(fitting) != 1 and not (fitting and header.kid):
        raise SignOnRefused("unknown_key")
    return fitting[0]


async def keys(jwks_uri: str) -> list[Jwk]:
    """The keys that a provider publishes now, without those that are not for us. Raise SignOnRefused."""
    found = []
    for raw in (await fetching.fetch(jwks_uri, _Keys)).keys:
        try:
            found.append(msgspec.json.decode(raw, type=Jwk))
        except msgspec.MsgspecError:
            continue  # of a kind that we do not know
    return found


def _keep(kept: dict[str, T], key: str, value: T) -> None:
    if len(kept) >= _MOST:
        kept.clear()
    kept[key] = value


def _provider(*row: Any) -> Provider:
    *known, roles = row
    return Provider(*[*known, msgspec.json.decode(roles, type=dict[str, Role])])
