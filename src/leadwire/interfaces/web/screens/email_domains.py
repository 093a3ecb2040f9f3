"""Domains of e-mail addresses, on the page of single sign-on: added, checked, removed."""

from typing import Final

from leadwire.domain.accounts.domains import changes
from leadwire.infrastructure import clock
from leadwire.infrastructure.rate_limit import RateLimit
from leadwire.interfaces.web.routes import PageContext, action
from leadwire.interfaces.web.screens import single_sign_on

_PATH: Final = "/single-sign-on-domains"
_CHECKS: Final = RateLimit("domain-check", 30, window=300)


@action(_PATH, shown_on=single_sign_on.listed, audit="domain.added")
async def add(context: PageContext) -> str:
    context.entry.subject = await changes.add(context.workspace, context.form.text("domain"))
    return f"{context.entry.subject} is added. Publish its record, then check it."


@action(_PATH + "/{domain_id}/check", shown_on=single_sign_on.listed)
async def check(context: PageContext, domain_id: str) -> str:
    """Asks the resolver, so what it finds is noted by the change itself."""
    await _CHECKS.claim(context.workspace, "Too many checks. Wait five minutes.")
    domain = await changes.check(context.workspace, domain_id, context.me.email)
    return f"{domain.name} is proven." if domain.state(clock.now()) == "proven" else domain.words


@action(_PATH + "/{domain_id}/remove", shown_on=single_sign_on.listed, confirmed=True, audit="domain.removed")
async def remove(context: PageContext, domain_id: str) -> str:
    context.entry.subject = await changes.remove(context.workspace, domain_id)
    return f"{context.entry.subject} is removed."
