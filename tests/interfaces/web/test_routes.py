"""Every screen and action, walked through with odd paths and forms; `tests/ops/test_tenants.py` tries who may not."""

import re

import pytest

from leadwire.infrastructure import db
from leadwire.interfaces.web import router
from leadwire.interfaces.web.routes import SIGN_OUT, Declared

ACTIONS = [one for one in router.DECLARED if "POST" in one.handler.http_methods]


def somewhere(one: Declared) -> str:
    return re.sub(r"\{\w+:\w+\}", "nothing", one.path)


@pytest.mark.parametrize("odd", ["%00", "%ff", "%0a", "%f0%9f%98%80", "x" * 3000])
async def test_a_path_that_nothing_can_have_is_no_fault_of_ours(admin, odd):
    for one in router.DECLARED:
        path = re.sub(r"\{\w+:\w+\}", odd, one.path)
        if path != one.path:
            form = {
                "form_token": admin.token,
                "role": "agent",
                "content": "x",
                "note": "x",
                "source": "x",
                "sure": "yes",
            }
            answer = await admin.request(
                "POST" if one in ACTIONS else "GET", path, data=form if one in ACTIONS else None
            )
            assert answer.status_code < 500, path


async def test_what_is_not_there_is_no_fault_of_ours(admin):
    for one in router.DECLARED:
        if "{" in one.path:
            method = "POST" if one in ACTIONS else "GET"
            form = {"form_token": admin.token} if one in ACTIONS else None
            answer = await admin.request(method, somewhere(one), data=form)
            assert answer.status_code in (404, 422), (method, one.path, answer.text[-500:])


@pytest.mark.parametrize("odd", ["%00=1", "%ff=1", "q=%00", "q=1&q=2&=&"])
async def test_an_odd_query_or_field_is_no_fault_of_ours(admin, odd):
    wrong = []
    for one in router.DECLARED:
        path = f"{somewhere(one)}?{odd}"
        form = f"form_token={admin.token}&{odd}".encode() if one in ACTIONS else None
        kind = {"content-type": "application/x-www-form-urlencoded"} if form else {}
        if one.path != SIGN_OUT and not one.path.endswith("/live"):  # which do not end
            answer = await admin.request("POST" if form else "GET", path, content=form, headers=kind)
            wrong += [(one.path, answer.status_code)] if answer.status_code >= 500 else []
    assert wrong == []


async def test_what_links_in_mails_have_added_is_ignored(admin):
    for path in router.PAGES:
        if "{" not in path:
            answer = await admin.get(f"{path}?utm_source=mail&fbclid=1&page=2", follow_redirects=True)
            assert answer.status_code in (200, 403), path


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b'{"a": 1}', "application/json", 415),
        (
            b'--x\r\nContent-Disposition: form-data; name="name"; filename="a.txt"\r\n\r\nCRM\r\n--x--\r\n',
            "multipart/form-data; boundary=x",
            415,
        ),
        (b"a=%ff", "application/x-www-form-urlencoded", 400),
        (b"a=%00", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"a=1" for _ in range(300)), "application/x-www-form-urlencoded", 400),
        (b"a=" + b"x" * 70_000, "application/x-www-form-urlencoded", 413),
        (b"\xff\xfe", "application/x-www-form-urlencoded", 400),
    ],
)
async def test_what_is_no_form_is_refused(admin, body, kind, status):
    answer = await admin.post("/keys", content=body, headers={"content-type": kind})
    assert answer.status_code == status
    assert "text/html" in answer.headers["content-type"]


async def test_an_action_leaves_an_audit_entry_with_its_change_or_neither(admin):
    await admin.open("/keys")
    await admin.fill("/keys", 201, name="CRM", scope=["leads:read"], life="")
    assert await db.value("SELECT count(*) FROM audit_entry WHERE action = 'api_key.created'") == 1
    await admin.open("/keys")
    await admin.fill("/keys", 422, name="CRM", scope=["leads:everything"], life="")
    assert await db.value("SELECT count(*) FROM audit_entry WHERE action = 'api_key.created'") == 1


async def test_the_address_that_people_type_leads_to_their_settings(admin, viewer):
    for who, place in ((admin, "/team"), (viewer, "/account")):
        assert (await who.get("/settings")).headers["location"] == place
