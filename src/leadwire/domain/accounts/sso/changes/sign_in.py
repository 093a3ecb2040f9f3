"""People who come from a provider: their accounts, the role they get, their sessions, and the end of these.

Somebody is known by the provider's name for them, its `sub`. The first time they are found by their e-mail address.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from leadwire.domain.accounts import joining, keys
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.changes.table import RemovedPerson
from leadwire.domain.accounts.reads import why_closed
from leadwire.domain.accounts.schema import ROLES, Person, Role, full_name
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.domain.accounts.sso import discovery, flow, reads, tokens
from leadwire.domain.accounts.sso.faults import SignOnRefused
from leadwire.domain.accounts.sso.reads import Provider
from leadwire.domain.accounts.sso.tokens import Claims
from leadwire.domain.accounts.table import IdentityProvider, Invitation, SignOnUsed
from leadwire.infrastructure import clock, db, email_address, ids, telemetry
from leadwire.infrastructure.db.statements import columns, insert, named
from leadwire.infrastructure.errors import Conflict

_FOREVER: Final = timedelta(seconds=max(flow.PATIENCE, tokens.OLDEST) + 3 * tokens.SKEW)

_LOCK, _KNOWN, _BY_EMAIL, _END, _LINK = named(__file__, "lock known by_email end link")
_USE: Final = insert(*columns(SignOnUsed, "hash provider_id until"), end="ON CONFLICT DO NOTHING RETURNING hash")
# Deletes what would be refused for its age by now.


class _Found(Struct, frozen=True):
    user_id: str
    email: str
    role: Role


async def use_once(provider: Provider, what: str) -> None:
    """Take note of something that a provider may send once. Raise SignOnRefused when it has come before."""
    until = clock.now() + _FOREVER
    if await _USE.row(hash=keys.digest(f"{provider.id} {what}"), provider_id=provider.id, until=until) is None:
        raise SignOnRefused("replayed")


async def sign_in(provider: Provider, claims: Claims, browser: Browser) -> str:
    """Return a new session's token for whom the provider vouches.

    Raise SignOnRefused, WorkspaceSuspended, QuotaExceeded.
    """
    telemetry.set_workspace(provider.workspace)
    (email, domain), role = _email(provider, claims), _role(provider, claims)
    async with db.transaction():
        locked = await _LOCK.one(SignOnRefused("not_set_up"), provider=provider.id, domain=domain, now=clock.now())
        if locked["suspended"]:
            raise await why_closed(provider.workspace)
        if await reads.one(provider.id) != provider:  # whose domains and roles are others by now
            raise SignOnRefused("changed")
        if not locked["counts"]:
            raise SignOnRefused("domain_not_proven", domain)
        identity = await _KNOWN.row(provider=provider.id, subject=claims.sub)
        known = _Found(*identity) if identity and identity["id"] else await _with_address(provider, email)
        found = known or await _made(
            provider, email, role, browser.address, again=identity is not None, name=claims.every.get("name")
        )
        if locked["proven"] and claims.email_is_verified:
            await joining.vouch(provider.workspace, found.user_id, email)
        link = {"provider_id": provider.id, "subject": claims.sub, "user_id": found.user_id}
        await _LINK.rows(id=ids.new("uid"), workspace_id=provider.workspace, created_at=clock.now(), **link)
        at, confirmed_at = (provider.id, claims.sid), _confirmed_at(claims)
        token = await sessions.begin(
            found.user_id, browser, joins=known is None, provider=at, confirmed_at=confirmed_at
        )
        entry = audit.Entry("user.signed_in", found.user_id, f"by {provider.name}")
        await audit.record(provider.workspace, found.email, entry, browser.address)
    if role and role != found.role:
        await _give(provider, found, role, browser.address)
    return token


async def confirm(provider: Provider, claims: Claims, person: Person) -> None:
    """The person has signed in anew at the provider. Raise SignOnRefused when somebody else has."""
    known = await _KNOWN.value(provider=provider.id, subject=claims.sub)
    if known != person.user_id:
        raise SignOnRefused("another_person")
    await sessions.update(person.session_id, confirmed_at=_confirmed_at(claims))


async def sign_out(provider: Provider, token: str) -> int:
    """End the sessions that a logout token is about. Return how many. Raise SignOnRefused."""
    claims = await flow.verified(provider, await discovery.metadata(provider.issuer), token, "logout+jwt")
    tokens.check_logout(claims)
    async with db.transaction():
        # First and alone: whoever is just coming has this lock, and their session is seen next.
        row = IdentityProvider.select(IdentityProvider.id).where(IdentityProvider.id == provider.id)
        await row.lock_rows("NO KEY UPDATE")
        await use_once(provider, f"logout {claims.jti}")
        ended = len(await _END.rows(provider=provider.id, sid=claims.sid, subject=claims.sub))
        entry = audit.Entry("session.ended_by_provider", provider.id, f"{ended} of {provider.name}")
        await audit.record(provider.workspace, provider.name, entry)
    return ended


def _email(provider: Provider, claims: Claims) -> tuple[str, str]:
    """The address that the provider vouches for, in lower case, and its domain. Raise SignOnRefused."""
    try:
        email = email_address.read((claims.email or "").lower())
    except ValueError as error:
        raise SignOnRefused("no_email") from error
    domain = email.ascii_domain
    if domain not in provider.domains:
        raise SignOnRefused("foreign_domain")
    if not (claims.email_is_verified or provider.trusts_email):
        raise SignOnRefused("email_not_verified")
    return email.normalized.lower(), domain


def _role(provider: Provider, claims: Claims) -> Role | None:
    """The highest role that the claim gives, else the default one; None: as it is. Raise SignOnRefused for no role."""
    if not provider.role_claim:
        return None
    roles = {provider.roles.get(value) for value in flow.values_of(claims, provider.role_claim) or ()}
    role = next((role for role in reversed(ROLES) if role in roles), provider.default_role)
    if role is None:
        raise SignOnRefused("no_role")
    return role


async def _with_address(provider: Provider, email: str) -> _Found | None:
    """The account with this address, unless it is somebody else's at this provider. Raise SignOnRefused."""
    row = await _BY_EMAIL.row(provider=provider.id, workspace=provider.workspace, email=email)
    if row and row["taken"]:
        raise SignOnRefused("taken")
    return _Found(*row[:3]) if row else None


async def _made(
    provider: Provider, email: str, role: Role | None, address: str, *, again: bool, name: object
) -> _Found:
    """A new account: with the role of the claim, of an open invitation, or the default one. Raise SignOnRefused.

    `again`: they had one, which an admin has removed. Then only an invitation helps, as for whose address had one:
    they may have come by password until then, or from another provider.
    """
    await joining.TURN.rows(email=email)  # before the invitation, as whoever accepts it
    if meanwhile := await _with_address(provider, email):  # by an invitation, or from another provider
        return meanwhile
    to = Invitation.workspace_id == provider.workspace, Invitation.email == email
    used = await Invitation.delete().where(*to, Invitation.expires_at > clock.now()).returning(Invitation.role)
    invited: Role | None = used[0]["role"] if used else None
    role = role or invited or provider.default_role
    removed = RemovedPerson.workspace_id == provider.workspace, RemovedPerson.email == email
    if not invited and (again or await RemovedPerson.exists().where(*removed)):
        raise SignOnRefused("removed")
    if role is None:
        raise SignOnRefused("no_account")
    # With a login of its own, whoever has this address elsewhere: a workspace chooses its provider itself.
    called = full_name(name) if isinstance(name, str) else None
    return _Found(await joining.add(provider.workspace, email, role, address, name=called), email, role)


async def _give(provider: Provider, person: _Found, role: Role, address: str) -> None:
    """The role of the claim. An emergency account and the last admin keep theirs."""
    try:
        async with db.transaction():
            _, before = await team.change_role(provider.workspace, person.user_id, role)
            entry = audit.Entry("user.role_changed", person.email, f"{before} to {role}")
            await audit.record(provider.workspace, provider.name, entry, address)
    except Conflict:
        telemetry.log("sso.role_kept", provider=provider.id, user=person.user_id)


def _confirmed_at(claims: Claims) -> datetime:
    """When they signed in at the provider. Not said: not lately."""
    return clock.from_unix(min(max(claims.auth_time or 0, 0), clock.now().timestamp()))
