"""Erasure of a person from everything that is stored about them."""

from urllib.parse import urlencode

import pytest

from leadwire.delivery import feed
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import reads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.mail import changes as mail
from leadwire.domain.privacy import erasure
from leadwire.domain.views import changes as views
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import NotFound
from tests import make


async def test_erasure_leaves_no_trace(workspace, bot):
    lead = await make.lead(workspace, bot, email="secret.person@example.com", name="Secretia", phone="+15550100999")
    await db.rows(
        "UPDATE message SET content = 'secret.person@example.com', answers = 'email' WHERE workspace_id = $1", workspace
    )
    await erasure.erase_lead(workspace, lead.id)
    for table in ("lead", "conversation", "message", "event", "delivery", "attempt"):
        for row in await db.rows(f"SELECT {table}::text AS everything FROM {table}"):
            assert not any(trace in row["everything"] for trace in ("secret.person", "Secretia", "15550100999"))
    assert (await make.emitted())[-1]["data"] == {"id": lead.id, "deleted": True}
    with pytest.raises(NotFound):
        await erasure.erase_lead(workspace, lead.id)


async def test_another_workspaces_lead_is_not_there(workspace, bot):
    lead = await make.lead(workspace, bot)
    with pytest.raises(NotFound):
        await erasure.erase_lead("ws_other", lead.id)


async def test_a_view_that_looks_for_the_address_goes_with_the_person(workspace, bot):
    user = await make.user(workspace)
    for name, value in (("e-mail", "Ada@example.com"), ("phone", "+15550100"), ("other", "ada@example.community")):
        query = urlencode({"field": "friend", "test": "contains", "value": value})
        await views.save(workspace, user, name, query, [], shared=name == "phone")
    await views.save(workspace, user, "abroad", urlencode({"field3": "friend", "value3": "JÜRGEN@example.com"}), [])
    await views.choose_columns(workspace, user, ["friend"])
    for email in ("ada@example.com", "jürgen@example.com"):
        lead = await make.lead(workspace, bot, email=email, phone="+15550100")
        await erasure.erase_lead(workspace, lead.id)
    assert [row["name"] for row in await db.rows("SELECT name FROM lead_view ORDER BY name")] == ["", "other"]


async def test_a_custom_field_that_is_called_like_an_address_is_none(workspace, bot):
    lead = await make.lead(workspace, bot, custom_fields={"previous_attributes": "none", "email": "none"})
    for number in (1, 2):
        await leads.update(workspace, lead.id, LeadPatch(custom_fields={"phone": number}), unchanged={})
    assert (await erasure.erase_lead(workspace, lead.id)).deleted


@pytest.mark.parametrize("events", ["kept", "gone"])
async def test_what_names_the_address_that_they_had_before_goes_too(workspace, bot, mailing, events):
    lead = await make.lead(workspace, bot, email="former@example.com")
    user = await make.user(workspace)
    await views.save(workspace, user, "one", urlencode({"q": "former@example.com"}), [])
    await mail.suppress(workspace, "former@example.com", "550 5.1.1 former@example.com is unknown")
    await leads.update(workspace, lead.id, LeadPatch(email="present@example.com"), unchanged={})
    for score in range(1, feed.LATEST + 1):  # more than the page of a lead shows
        await leads.update(workspace, lead.id, LeadPatch(score=score), unchanged={})
    if events == "gone":  # with their days; the conversation has the address still
        await db.rows("DELETE FROM event")
    await erasure.erase_lead(workspace, lead.id)
    assert [name for name, rows in (await make.stored()).items() if "former" in "".join(rows)] == []


@pytest.mark.parametrize("typed", ["Ada@xn--bcher-kva.example", "ada@BÜCHER.example", "ada@bu\u0308cher.example"])
async def test_a_person_is_found_however_the_domain_of_their_address_is_typed(workspace, bot, typed):
    lead = await make.lead(workspace, bot, email="ada@bücher.example")
    assert [one.id for one in (await reads.page(workspace, reads.LeadQuery(email=typed))).items] == [lead.id]
    assert await erasure.erase_person(workspace, typed) == [lead.id]
