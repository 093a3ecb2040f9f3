"""The copy of all that is known of a person: from their page, by an admin, with the password, as JSON and to print."""

import json
import re

from leadwire.infrastructure import db
from tests import make
from tests.interfaces.web.hostile import SCRIPTS, harmless
from tests.interfaces.web.test_consents import visited
from tests.interfaces.web.test_step_up import noted, time_passes


async def test_an_admin_gets_it_as_json_with_the_password(admin, workspace):
    lead = await visited(workspace)
    await admin.open(f"/leads/{lead}")
    await time_passes()
    page = await admin.fill(f"/leads/{lead}/export", format="json")
    assert "Confirm it is you" in page
    assert await noted("lead.exported") == []
    await db.rows("UPDATE user_session SET confirmed_at = now()")
    answer = await admin.post(f"/leads/{lead}/export", data={"form_token": admin.token, "format": "json"})
    assert answer.headers["content-disposition"] == f'attachment; filename="{lead}.json"'
    document = json.loads(answer.content)
    assert document["lead"]["id"] == lead
    assert [one["given"] for one in document["consents"]] == [True, False]
    assert await noted("lead.exported") == ["json"]


async def test_it_can_be_read_and_printed(admin, workspace):
    lead = await visited(workspace)
    await admin.open(f"/leads/{lead}")
    answer = await admin.post(f"/leads/{lead}/export", data={"form_token": admin.token, "format": "html"})
    assert answer.headers["content-disposition"].startswith("inline;")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = answer.text
    assert page.lstrip().startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    for said in (
        "What is known of ada@example.com",
        "Ada, may we send you news?",
        "May we call you?",
        "message.received",
    ):
        assert said in page
    assert re.search(r"<dt>Given</dt>\s*<dd[^>]*>yes</dd>", page)
    assert await noted("lead.exported") == ["html"]


async def test_nothing_in_it_is_markup(admin, workspace):
    for script in SCRIPTS:
        await db.rows("DELETE FROM lead")
        lead = await visited(workspace, script)
        await admin.open(f"/leads/{lead}")
        answer = await admin.post(f"/leads/{lead}/export", data={"form_token": admin.token, "format": "html"})
        harmless(answer.text)


async def test_who_is_no_admin_gets_none(agent, workspace):
    lead = await visited(workspace)
    assert f"/leads/{lead}/export" not in await agent.open(f"/leads/{lead}")
    await agent.fill(f"/leads/{lead}/export", 403, format="json")
    assert await noted("lead.exported") == []


async def test_another_format_or_person_is_refused(admin, workspace, bot):
    lead = await make.lead(workspace, bot)
    await admin.open(f"/leads/{lead.id}")
    await admin.fill(f"/leads/{lead.id}/export", 422, format="csv")
    await admin.fill("/leads/nobody/export", 404, format="json")
    assert await noted("lead.exported") == []
