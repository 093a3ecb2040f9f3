"""Domains are added, checked and removed. Whoever controls a domain's DNS decides whose it is.

The first workspace with its record there keeps a domain; it goes to another one as soon as that one's record is found
and the first one's is not.
"""

from datetime import datetime
from typing import Any, Final

from msgspec import structs

from leadwire.domain.accounts import notify, quotas
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.domains import reads
from leadwire.domain.accounts.domains.schema import GRACE, Domain
from leadwire.domain.accounts.domains.table import EmailDomain
from leadwire.infrastructure import clock, db, email_address, ids, txt_records
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import Conflict, NotFound, invalid_field
from leadwire.infrastructure.txt_records import Unanswered

_MOST: Final = 100  # domains of a workspace
_PUBLIC_MAIL: Final = frozenset((
    "gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "msn.com", "yahoo.com", "icloud.com",
    "me.com", "aol.com", "gmx.de", "gmx.net", "gmx.com", "web.de", "proton.me", "protonmail.com", "mail.com",
))  # fmt: skip
_COUNT, _LOCK, _RELIES, _ADD, _REMOVE = named(__file__, "count lock relies add remove")
_CHANGED: Final = "proven_at missing_since taken_over_until checked_at fault"


async def add(workspace: str, text: str) -> str:
    """Add a domain, to be proven. Return its name as it is kept. Raise Invalid, Conflict."""
    try:
        name = email_address.read(f"x@{text.strip().removeprefix('@')}", dotted=True).ascii_domain.lower()
    except ValueError as error:
        raise invalid_field("/domain", "wrong_value", "A domain, such as example.com.") from error
    if name in _PUBLIC_MAIL:
        message = f"Anybody can have an address at {name}: name a domain of your own."
        raise invalid_field("/domain", "public_mail", message)
    taken = Conflict(f"{name} is here already.")
    full = Conflict(f"A workspace has at most {_MOST} domains.", code="too_many")
    async with db.transaction():
        await _ADD.one(taken, id=ids.new("dom"), workspace_id=workspace, domain=name, created_at=clock.now())
        await quotas.at_most(workspace, _MOST, full, _COUNT)
    return name


async def check(workspace: str, domain_id: str, actor: str) -> Domain:
    """Look for a domain's record, and note what came of it. Raise NotFound.

    Waits for the resolver, so not in a transaction.
    """
    texts: list[str] = []
    name, fault = (await reads.one(workspace, domain_id)).name, ""
    try:
        texts = await txt_records.read(name)
    except Unanswered as error:
        fault = error.fault
    async with db.transaction():
        every = [Domain(*row) for row in await _LOCK.rows(name=name)]
        own = next((domain for domain in every if (domain.workspace, domain.id) == (workspace, domain_id)), None)
        if own is None:
            raise NotFound("There is no such domain.")
        others = [domain for domain in every if domain is not own]
        fault = fault or own.fault_in(texts)
        if not fault and any(domain.proven_at and domain.record in texts for domain in others):
            fault = "taken"
        now = clock.now()
        after = own.checked(fault, now)
        if not fault:
            for other in others:
                await _lose(other, now)
        await _note(after, now)
        for action in _told(own, after):
            await audit.record(workspace, actor, audit.Entry(action, name, fault))
        if after.missing_since and not own.missing_since:
            until = f"{after.missing_since + GRACE:%d %B %Y}"
            await notify.tell_admins(workspace, "domain_missing", domain=name, until=until, record=own.record)
    return after


async def remove(workspace: str, domain_id: str) -> str:
    """Remove a domain. Return its name. Raise NotFound; Conflict while a provider relies on it."""
    async with db.transaction():
        missing = NotFound("There is no such domain.")
        name: str = (await _REMOVE.one(missing, workspace=workspace, id=domain_id))["domain"]
        if provider := await _RELIES.value(workspace=workspace, domain=name):
            raise Conflict(f"{provider} relies on {name}: take it out there first.")
    return name


async def _lose(domain: Domain, now: datetime) -> None:
    """Another workspace has proven a domain: this one's counts no more."""
    if domain.proven_at or domain.taken_over_until:
        gone: dict[str, Any] = dict.fromkeys(("proven_at", "missing_since", "taken_over_until"))
        await _note(structs.replace(domain, **gone, checked_at=now, fault="lost"), now)
        await audit.record(domain.workspace, "domains", audit.Entry("domain.lost", domain.name, "proven elsewhere"))
        await notify.tell_admins(domain.workspace, "domain_lost", domain=domain.name, record=domain.record)


async def _note(domain: Domain, now: datetime) -> None:
    values = {name: getattr(domain, name) for name in _CHANGED.split()}
    await EmailDomain.update(**values, check_at=domain.next_check(now)).where(EmailDomain.id == domain.id)


def _told(before: Domain, after: Domain) -> list[str]:
    """What the audit log has to say of a check."""
    changes = {
        "domain.proven": after.proven_at and not before.proven_at,
        "domain.record_missing": after.missing_since and not before.missing_since,
        "domain.lost": before.proven_at and not after.proven_at,
    }
    return [action for action, happened in changes.items() if happened]
