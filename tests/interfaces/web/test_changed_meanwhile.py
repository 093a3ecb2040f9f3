"""A form that was opened before somebody else changed the same undoes nothing of that, says so, and is sent again."""

import re

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import reads
from leadwire.domain.accounts.changes import workspaces
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots import reads as bot_reads
from leadwire.domain.bots.look import Look
from leadwire.domain.privacy import retention
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks import reads as webhook_reads
from leadwire.domain.webhooks.filters import Filter
from leadwire.domain.webhooks.schema import EndpointChange
from tests.delivery.wired import endpoint

OURS, THEIRS = ["127.0.0.0/8"], ["127.0.0.0/8", "198.51.100.0/24"]
OLD, NEW = "https://old.example/hook", "https://new.example/hook"

# Each: the page, where its form goes, what is filled in, what somebody else does meanwhile, and what tells what there
# is then.


async def networks_of_people(workspace, _):
    change = workspaces.set_networks(workspace, THEIRS, "127.0.0.1")
    return "/team/networks", "/team/networks", {"networks": OURS[0]}, change, lambda: workspaces.networks(workspace)


async def networks_of_a_key(workspace, _):
    key, _ = await accounts.create_key(workspace, "CRM")

    async def present():
        return next(one.networks for one in await reads.listed(workspace) if one.id == key)

    change = accounts.set_key_networks(workspace, key, THEIRS)
    return "/keys", f"/keys/{key}/networks", {"networks": OURS[0]}, change, present


async def websites(workspace, bot):
    async def present():
        return (await bot_reads.detail(workspace, bot)).allowed_origins

    change = bots.set_origins(workspace, bot, ["https://b.example"])
    return f"/bots/{bot}/install", f"/bots/{bot}/install", {"origins": "https://a.example"}, change, present


async def name(workspace, bot):
    async def present():
        return (await bot_reads.detail(workspace, bot)).name

    return f"/bots/{bot}", f"/bots/{bot}/about", {"name": "Mine"}, bots.describe(workspace, bot, "Theirs", ""), present


async def look(workspace, bot):
    fields, change = (
        {"color": "#000000", "title": "Mine"},
        bots.set_look(workspace, bot, Look(title="Theirs"), "#ffffff"),
    )
    return f"/bots/{bot}/look", f"/bots/{bot}/look", fields, change, lambda: bot_reads.look(workspace, bot)


async def what_is_kept(workspace, _):
    change = retention.change(workspace, {**await retention.kept(workspace), "leads": 30})
    fields = {"messages": "60", "leads": ""}
    return "/privacy", "/privacy/retention", fields, change, lambda: retention.kept(workspace)


async def an_endpoint(workspace, _):
    made = await endpoint(workspace, OLD)
    place, fields = f"/webhooks/{made.id}/settings", {"url": OLD, "event": ["lead.created"], "numbered": "on"}

    async def present():
        return (await webhook_reads.endpoint(workspace, made.id)).chosen

    return place, place, fields, webhooks.configure(workspace, made.id, EndpointChange(url=NEW)), present


async def a_filter(workspace, _):
    made = await endpoint(workspace, OLD)
    place, theirs = f"/webhooks/{made.id}/filter", EndpointChange(filter=Filter(conditions=["score gt 9"]))

    async def present():
        return (await webhook_reads.endpoint(workspace, made.id)).filter

    return place, place, {"conditions": "score gt 5"}, webhooks.configure(workspace, made.id, theirs), present


@pytest.mark.parametrize(
    "form", [networks_of_people, networks_of_a_key, websites, name, look, what_is_kept, an_endpoint, a_filter]
)
async def test_what_somebody_else_has_changed_is_not_undone(admin, workspace, bot, form):
    place, to, fields, change, present = await form(workspace, bot)

    async def seen():
        return re.search(rf'action="{to}".*?name="seen" value="(\w+)"', await admin.open(place), re.DOTALL)[1]

    before = await seen()
    await change
    theirs = await present()
    page = await admin.fill(to, 409, seen=before, **fields)
    assert "Somebody else has changed this since you opened it." in page
    assert await present() == theirs
    await admin.fill(to, seen=await seen(), **fields)
    assert await present() != theirs
