"""Consents on the lead's page: what was asked, and a withdrawal that somebody records."""

import re

from leadwire.infrastructure import db
from tests.domain.bots.conftest import Visitor, published
from tests.domain.bots.test_consents import EMAIL, FLOW
from tests.interfaces.web.hostile import SCRIPTS, harmless


async def visited(workspace, name="Ada"):
    """The lead that a visitor who consented to one thing and refused another has become."""
    visitor = Visitor(await published(workspace, FLOW))
    for said in (name, "yes", EMAIL, "Never"):
        await visitor.says(said)
    return await db.value("SELECT id FROM lead")


async def test_what_was_asked_is_shown_and_can_be_withdrawn(agent, viewer, workspace):
    lead = await visited(workspace)
    page = await agent.open(f"/leads/{lead}")
    assert "Ada, may we send you news?" in page
    assert (page.count("Given"), page.count("Refused"), page.count("Withdraw…")) == (1, 1, 1)
    (path,) = re.findall(rf'action="(/leads/{lead}/consents/\w+/withdraw)"', page)
    assert "/withdraw" not in await viewer.open(f"/leads/{lead}")
    page = await agent.fill(path)
    assert "The withdrawal is recorded." in page
    assert ("Withdrawn" in page, "Withdraw…" in page) == (True, False)
    entry = await db.row("SELECT action, subject, detail FROM audit_entry WHERE action LIKE '%consent%'")
    assert tuple(entry) == ("lead.consent_withdrawn", lead, path.split("/")[-2])
    await agent.fill(path, 404)
    assert await db.value("SELECT count(*) FROM consent") == 3


async def test_a_lead_without_consents_has_no_such_part(agent, workspace, bot):
    visitor = Visitor(await published(workspace))
    await visitor.says(EMAIL)
    assert 'id="consents"' not in await agent.open(f"/leads/{await db.value('SELECT id FROM lead')}")


async def test_nothing_that_a_visitor_typed_is_markup(agent, workspace):
    for script in SCRIPTS:
        await db.rows("DELETE FROM lead")
        harmless(await agent.open(f"/leads/{await visited(workspace, script)}"))
