"""Settings, Notices: addresses at Slack and Teams."""

from leadwire.infrastructure import db
from tests.interfaces.web.test_step_up import time_passes


async def test_an_address_is_added_tried_and_removed(admin, workspace, receiver):
    page = await admin.open("/notices")
    assert "No address yet" in page
    url = f"{receiver.url}/services/sesame-77"
    page = await admin.fill("/notices", service="slack", url=url, kind=["endpoints", "waiting"])
    assert "Slack is added. Send a test." in page
    assert (f"127.0.0.1:{receiver.port}/…" in page, "sesame" in page) == (True, False)
    made = await db.value("SELECT id FROM notice_address WHERE workspace_id = $1", workspace)
    assert "The test has arrived. Slack answered 204." in await admin.fill(f"/notices/{made}/test")
    receiver.answer = 500
    assert "The test did not arrive. Slack answered 500: ok." in await admin.fill(f"/notices/{made}/test", 409)
    assert "The address is removed." in await admin.fill(f"/notices/{made}/remove")
    noted = await db.rows("SELECT action, subject, detail FROM audit_entry WHERE action LIKE 'notice_%' ORDER BY id")
    at = f"slack at 127.0.0.1:{receiver.port}"
    assert [tuple(row) for row in noted] == [
        ("notice_address.added", made, f"{at}: endpoints waiting"), ("notice_address.removed", made, at),
    ]  # fmt: skip


async def test_what_is_wrong_is_said_at_its_field(admin, receiver):
    await admin.open("/notices")
    page = await admin.fill("/notices", 422, service="teams", url="https://10.0.0.1/x", kind="endpoints")
    assert 'id="url-fault"' in page
    page = await admin.fill("/notices", 422, service="teams", url=receiver.url)
    assert "Choose at least one." in page


async def test_only_admins_and_only_after_the_password(admin, agent, receiver):
    assert (await agent.get("/notices")).status_code == 403
    await admin.open("/notices")
    await time_passes()
    assert "Confirm it is you" in await admin.fill("/notices", service="slack", url=receiver.url, kind="endpoints")
