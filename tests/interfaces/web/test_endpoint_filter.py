"""An endpoint's filter on the screen: tried before it is saved, shown, removed; what is wrong is told."""

import html
from urllib.parse import urlencode

from leadwire.domain.webhooks import reads
from leadwire.domain.webhooks.filters import Filter
from tests import make
from tests.delivery.wired import endpoint


async def test_a_filter_is_tried_saved_and_removed(admin, workspace, bot, receiver):
    made = await endpoint(workspace, receiver.url)
    for name in ("ada", "bob"):
        await make.lead(workspace, bot, email=f"{name}@example.com")
    place = f"/webhooks/{made.id}/filter"
    assert place in await admin.open(f"/webhooks/{made.id}/settings")
    assert "Last 7 days" not in await admin.open(place)
    given = {"bots": bot, "changed": "score, custom_fields.stage", "conditions": "email contains ada"}
    page = await admin.open(f"{place}?{urlencode({**given, 'tried': 'yes'})}")
    assert "1 of 2" in page
    assert (await reads.endpoint(workspace, made.id)).filter is None
    await admin.fill(place, **given)
    wanted = Filter([bot], ["score", "custom_fields.stage"], ["email contains ada"])
    assert (await reads.endpoint(workspace, made.id)).filter == wanted
    for shown in (place, f"/webhooks/{made.id}/settings"):
        assert str(wanted) in html.unescape(await admin.open(shown))
    await admin.fill(place)
    assert (await reads.endpoint(workspace, made.id)).filter is None


async def test_what_is_no_filter_is_told_where_it_was_entered(admin, workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    query = urlencode({"conditions": "score over 9", "tried": "yes"})
    page = html.unescape(await admin.open(f"/webhooks/{made.id}/filter?{query}"))
    assert "Condition 1: No such operator: over." in page
    assert "score over 9" in page


async def test_what_postgresql_has_no_character_for_is_told_as_any_other_fault(admin, workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    given = {"conditions": r'name eq "\u0000"'}
    assert "Condition 1: " in await admin.open(f"/webhooks/{made.id}/filter?{urlencode({**given, 'tried': 'yes'})}")
    assert "Condition 1: " in await admin.fill(f"/webhooks/{made.id}/filter", 422, **given)
    assert (await reads.endpoint(workspace, made.id)).filter is None


async def test_agents_do_not_see_it(agent, workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    await agent.open(f"/webhooks/{made.id}/filter", 403)
