"""A workspace's providers, whether people may still sign in by password, and who may in any case."""

from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType
from piccolo.columns.combination import Where

from leadwire.delivery.transport.addresses import checked
from leadwire.domain.accounts import quotas
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.domains.reads import counting
from leadwire.domain.accounts.reads import locked
from leadwire.domain.accounts.schema import ROLES, Person, Role
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.accounts.sso import reads
from leadwire.domain.accounts.table import IdentityProvider, Workspace
from leadwire.infrastructure import clock, db, ids, preconditions, secret_box, settings
from leadwire.infrastructure.db.statements import columns, insert, named
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound, invalid_field

_MOST: Final = 20  # providers, domains of one, and values of a claim
_LONGEST: Final = 255

_COUNT, _SET_BREAK_GLASS, _COUNT_BREAK_GLASS = named(__file__, "count set_break_glass count_break_glass")
_ADD: Final = insert(*columns(IdentityProvider, "id workspace_id name issuer client_id domains role_claim created_at"))


class Setup(Struct, frozen=True, kw_only=True):
    """What an admin enters of a provider. What is unset stays as it is, and so does the secret where it is empty."""

    name: str | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    client_secret: str = ""
    domains: list[str] | UnsetType = UNSET
    trusts_email: bool | UnsetType = UNSET
    default_role: Role | None | UnsetType = UNSET
    role_claim: str | UnsetType = UNSET
    roles: dict[str, Role] | UnsetType = UNSET


def roles(text: str) -> dict[str, Role]:
    """Which role comes of which value: lines of `value = role`. Raise Invalid."""
    mapped: dict[str, Role] = {}
    for line in filter(str.strip, text.splitlines()):
        value, _, name = (part.strip() for part in line.rpartition("="))
        role = next((choice for choice in ROLES if choice == name), None)
        if not value or role is None:
            raise invalid_field("/roles", "wrong_value", "One a line: value = admin, agent or viewer.")
        mapped[value] = role
    return mapped


async def add(workspace: str, name: str, issuer: str) -> str:
    """Add a provider, to be set up. Its issuer stays: accounts belong to it. Return its id. Raise Invalid, Conflict."""
    try:
        checked(issuer, settings.get().allowed_networks)
    except Invalid as refusal:
        raise invalid_field("/issuer", "invalid_url", refusal.detail) from refusal
    if "?" in issuer:
        raise invalid_field("/issuer", "invalid_url", "An issuer has no query string.")
    provider_id = ids.new("idp")
    full = Conflict(f"A workspace has at most {_MOST} providers.", code="too_many")
    async with db.transaction():
        await _ADD.rows(
            id=provider_id, workspace_id=workspace, name=_text("name", name), issuer=issuer, client_id="", domains=[],
            role_claim="", created_at=clock.now(),
        )  # fmt: skip
        await quotas.at_most(workspace, _MOST, full, _COUNT)
    return provider_id


async def configure(workspace: str, provider_id: str, setup: Setup, saw: str = "") -> str:
    """Set a provider up. Return what changed, for the audit log. Raise NotFound, Invalid; Conflict when it is set up
    otherwise than whoever changes it `saw` (`preconditions.digest`).
    """
    secret = _text("client_secret", setup.client_secret) if setup.client_secret else None
    async with db.transaction():
        row = IdentityProvider.select(IdentityProvider.id).where(*_is(workspace, provider_id))
        await row.lock_rows("NO KEY UPDATE")
        before = await reads.one(provider_id, workspace)
        preconditions.check(saw, before.chosen)
        values = msgspec.structs.asdict(setup)
        after = {name: getattr(before, name) if value is UNSET else value for name, value in values.items()}
        domains = list(dict.fromkeys(domain.lower().removeprefix("@") for domain in after["domains"]))
        if not 0 < len(domains) <= _MOST:
            raise invalid_field("/domains", "wrong_value", f"1 to {_MOST} domains, such as example.com.")
        if len(after["roles"]) > _MOST or (after["roles"] and not after["role_claim"]):
            message = f"At most {_MOST} values, and the claim that they are in."
            raise invalid_field("/roles", "wrong_value", message)
        added = {domain for domain in domains if domain not in before.domains}
        if unproven := added - await counting(workspace, list(added)):
            message = f"{min(unproven)} is not proven: add it under Single sign-on, Domains."
            raise invalid_field("/domains", "not_proven", message)
        if secret is None and before.client_secret is None:
            raise invalid_field("/client_secret", "required", "The secret that the provider shows once.")
        after |= {
            "name": _text("name", after["name"]),
            "client_id": _text("client_id", after["client_id"]),
            "domains": domains,
            "role_claim": _text("role_claim", after["role_claim"]) if after["role_claim"] else "",
        }
        del after["client_secret"]
        changed = [f"{name}: {getattr(before, name)} -> {value}" for name, value in after.items()
                   if value != getattr(before, name)]  # fmt: skip
        if secret:
            at = secret_box.place(IdentityProvider.client_secret, provider_id)
            after["client_secret"] = secret_box.get().seal(secret, at)
        await IdentityProvider.update(**after).where(*_is(workspace, provider_id))
    return "; ".join([*changed, *(["another client secret"] if secret else [])])


async def remove(workspace: str, provider_id: str) -> str:
    """Remove a provider; sessions that began there end. Return its name. Raise NotFound, Conflict."""
    async with db.transaction():
        provider = await reads.one(provider_id, workspace)
        await IdentityProvider.delete().where(*_is(workspace, provider_id))  # first, as `sign_in` takes its locks
        enforced = (await locked(workspace))["sso_enforced"]
        if enforced and not any(provider.client_secret for provider in await reads.listed(workspace)):
            raise Conflict("Nobody could sign in any more: allow passwords first.")
    return provider.name


async def enforce(workspace: str, me: Person) -> None:
    """From now on nobody signs in by password, except emergency accounts; sessions that began by one end.

    Raise Conflict without an emergency account, or when `me` would be out.
    """
    async with db.transaction():
        await locked(workspace)
        if not await _COUNT_BREAK_GLASS.value(workspace=workspace):
            raise Conflict("Choose an emergency account first: the provider may fail one day.")
        if me.provider is None or not await sessions.is_active(me):
            raise Conflict("Sign in through the provider first: so you know that it works.")
        await Workspace.update({Workspace.sso_enforced: True}).where(Workspace.id == workspace)


async def allow_passwords(workspace: str, *, by_operator: bool = False) -> bool:
    """Undo `enforce`. Return False when it was not enforced. Raise NotFound."""
    async with db.transaction():
        enforced: bool = (await locked(workspace))["sso_enforced"]
        await Workspace.update({Workspace.sso_enforced: False}).where(Workspace.id == workspace)
        if enforced and by_operator:
            await audit.record(workspace, "operator", audit.Entry("sso.passwords_allowed", workspace))
    return enforced


async def set_break_glass(workspace: str, user_id: str, *, on: bool) -> str:
    """Make an admin who has a password an emergency account, or not. Return their address. Raise NotFound, Conflict."""
    async with db.transaction():
        enforced = (await locked(workspace))["sso_enforced"]
        missing = NotFound("There is no such admin with a password.")
        email: str = (await _SET_BREAK_GLASS.one(missing, workspace=workspace, id=user_id, on=on))["email_address"]
        if enforced and not await _COUNT_BREAK_GLASS.value(workspace=workspace):
            raise Conflict("The last emergency account stays one while single sign-on is enforced.")
    return email


def _is(workspace: str, provider_id: str) -> tuple[Where, Where]:
    return IdentityProvider.workspace_id == workspace, IdentityProvider.id == provider_id


def _text(name: str, text: str) -> str:
    """A text of one line. Raise Invalid."""
    if not 1 <= len(text.strip()) <= _LONGEST or not text.isprintable():
        raise invalid_field(f"/{name}", "wrong_value", f"1 to {_LONGEST} characters, in one line.")
    return text.strip()
