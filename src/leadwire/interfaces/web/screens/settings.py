"""Settings of a workspace: API keys and the audit log; for operators, the whole instance."""

import asyncio
import contextlib
from typing import Final

from leadwire.domain.accounts import changes, networks, reads
from leadwire.domain.accounts.audit import reads as log
from leadwire.domain.accounts.keys import SCOPES
from leadwire.domain.mail import reads as mail_reads
from leadwire.domain.webhooks import redrives, system
from leadwire.domain.workspaces import usage
from leadwire.infrastructure import clock
from leadwire.infrastructure.jobs import reads as jobs
from leadwire.interfaces.web import security
from leadwire.interfaces.web.forms import wrong
from leadwire.interfaces.web.routes import PageContext, PageResponse, Seen, Values, action, live, screen

_PATIENCE: Final = 5.0  # seconds
_OVERLAPS: Final = {0: "at once", 3600: "in 1 hour", 86_400: "in 24 hours", 604_800: "in 7 days"}


@screen("/settings")
async def settings_(context: PageContext) -> PageResponse:
    """The address that people type: Settings begin with the team, for others with their own account."""
    return context.redirect("/team" if context.may("admin") else "/account")


@screen("/keys", "keys/list.html", role="admin")
async def keys(context: PageContext) -> Values:
    """Every key of the workspace, and the form for a new one."""
    listed = await reads.listed(context.workspace)
    return {"keys": listed, "scopes": SCOPES, "lives": changes.key_lives(), "overlaps": _OVERLAPS}


@action("/keys", shown_on=keys, confirmed=True, audit="api_key.created")
async def create_key(context: PageContext) -> PageResponse:
    name = context.form.required_name("Give the key a name.")
    if not (scopes := context.form.all("scope")):
        raise wrong("scope", "required", "Choose at least one.", "Allow at least one thing.")
    days = context.form.choice("life", changes.key_lives(), "Choose when it expires.")
    expires_at = clock.ago(days=-int(days)) if days else None
    expires_at, allowed = changes.key_end(expires_at), networks.split(context.form.text("networks"))
    context.entry.subject, secret = await changes.create_key(context.workspace, name, scopes, expires_at, allowed)
    ends = f"{expires_at:%Y-%m-%d}" if expires_at else "never"
    context.entry.detail = (
        f"name: {name}; scopes: {' '.join(scopes)}; expires: {ends}; networks: {' '.join(allowed) or 'any'}"
    )
    return await _revealed(context, context.entry.subject, secret)


@action("/keys/{key_id}/roll", shown_on=keys, confirmed=True, audit="api_key.rolled")
async def roll_key(context: PageContext, key_id: str) -> PageResponse:
    """A successor with the same name and scopes; the old key goes on for a while."""
    overlap = context.form.number("overlap") or 0
    new_id, secret = await changes.roll_key(context.workspace, key_id, overlap)
    context.entry.detail = f"key: {key_id} -> {new_id}; ends: {_OVERLAPS[overlap]}"
    return await _revealed(context, new_id, secret)


@action("/keys/{key_id}/networks", shown_on=keys, confirmed=True, audit="api_key.networks_changed")
async def set_networks(context: PageContext, key_id: str) -> str:
    """From where a key may be used; empty: from anywhere."""
    entries = networks.split(context.form.text("networks"))
    before, allowed = await changes.set_key_networks(context.workspace, key_id, entries, context.form.text("seen"))
    context.entry.detail = f"networks: {' '.join(before) or 'any'} -> {' '.join(allowed) or 'any'}"
    return "Saved. It takes effect within 5 seconds."


@action("/keys/{key_id}/revoke", shown_on=keys, audit="api_key.revoked")
async def revoke_key(context: PageContext, key_id: str) -> str:
    await changes.revoke_key(context.workspace, key_id)
    return "The key is revoked. It stops working within 5 seconds."


async def _revealed(context: PageContext, key_id: str, secret: str) -> PageResponse:
    """The one page that ever shows it: never in an address, never kept by the browser."""
    (key,) = [row for row in await reads.listed(context.workspace) if row.id == key_id]
    curl = f"curl -s -H 'Authorization: Bearer {secret}' '{security.public_url(context.request)}/v1/leads?limit=1'"
    named = {"title": f"“{key.name}” is ready", "crumbs": [("/keys", "API keys")]}
    return await context.render("once.html", 201, secret=secret, curl=curl, **named)


@screen("/audit", "audit.html", role="admin")
async def audit_log(context: PageContext) -> Values:
    """Who did what, when, to which object, from where: one page of it, newest first."""
    wanted = context.query_as(log.LogQuery)
    page = await log.page(context.workspace, wanted)
    return {
        "wanted": wanted,
        "entries": log.folded(page.items, every=bool(wanted.action)),
        "after": page.after,
        "names": {user.email: user.called for user in await reads.users(context.workspace)},
        "actors": await log.named(context.workspace, "actor"),
        "actions": await log.named(context.workspace, "action"),
    }


@action("/audit/export", shown_on=audit_log, confirmed=True, download=True, audit="audit.exported")
async def export_log(context: PageContext) -> PageResponse:
    """The whole log, a JSON document a line, each with its number and hash."""
    name = f"audit-{clock.now():%Y-%m-%d}.ndjson"
    return context.download(name, "application/x-ndjson", log.ndjson(context.workspace))


@screen("/system", "system/now.html", role="operator")
async def instance(_: PageContext) -> Values:
    """How everything stands now, of all workspaces. What is firing is shown also while PostgreSQL is locked."""
    now = running = mails = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            now, running, mails = await system.now(), await redrives.listed(None, 20), await mail_reads.counts()
    firing = await system.firing(now)
    return {"now": now, "redrives": running, "mails": mails, "firing": firing}


@action("/system/jobs/retry", role="operator", shown_on=instance)
async def retry_jobs(context: PageContext) -> str:
    """Let the jobs of a kind that have failed be tried again now."""
    count = await jobs.retry(context.form.text("kind"))
    return f"{count} {'job is' if count == 1 else 'jobs are'} tried again now."


@screen("/system/ledger", "system/ledger.html", role="operator")
async def ledger(_: PageContext) -> Values:
    """What must always hold, as the last check found it."""
    return {"last": await system.last_check(), "begun": await system.begun()}


@live("/system/ledger/live", role="operator")
async def ledger_live(_: PageContext) -> Seen:
    last = await system.last_check()
    return last.at, not last.due


@action("/system/ledger", role="operator", shown_on=ledger)
async def check_ledger(_: PageContext) -> None:
    """A background process makes the check; the page shows it when it is done."""
    await system.ask_for_check()


@screen("/system/workspaces", "system/workspaces.html", role="operator")
async def workspaces(context: PageContext) -> Values:
    """Every customer, what they have and their quotas, some at a time."""
    after = context.query.text("after")
    customers, onward = await usage.page(after)
    return {"customers": customers, "after": onward, "log": [] if after else await log.of_installation()}
