"""Every screen and action, walked through: denied unless allowed."""

import re

import pytest

from leadwire.domain.accounts.schema import has_role
from leadwire.infrastructure import db
from leadwire.interfaces.web import router
from leadwire.interfaces.web.routes import Declared
from tests import asgi

SCREENS = [one for one in router.DECLARED if "GET" in one.handler.http_methods]
ACTIONS = [one for one in router.DECLARED if "POST" in one.handler.http_methods]


def named(one: Declared) -> str:
    return f"{'/'.join(sorted(one.handler.http_methods))} {one.path}"


def somewhere(one: Declared) -> str:
    return re.sub(r"\{\w+:\w+\}", "nothing", one.path)


@pytest.mark.parametrize("one", SCREENS, ids=named)
async def test_a_stranger_is_sent_to_sign_in(stranger, one):
    assert (await stranger.get(somewhere(one))).headers["Location"].startswith("/sign-in?next=")


@pytest.mark.parametrize("one", ACTIONS, ids=named)
async def test_a_stranger_changes_nothing(stranger, one):
    answer = await stranger.post(somewhere(one), data={"form_token": "x"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/sign-in")


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


@pytest.mark.parametrize("one", ACTIONS, ids=named)
async def test_a_form_without_this_session_s_token_is_refused(admin, one):
    for token in ("", "0" * 64):
        assert (await admin.post(somewhere(one), data={"form_token": token})).status_code == 403


@pytest.mark.parametrize("one", ACTIONS, ids=named)
async def test_another_site_is_refused(admin, one):
    for headers in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
    ):
        answer = await admin.post(somewhere(one), data={"form_token": admin.token}, headers=headers)
        assert answer.status_code == 403


@pytest.mark.parametrize("one", [one for one in router.DECLARED if one.role != "viewer"], ids=named)
async def test_a_role_below_is_refused(viewer, agent, one):
    for role, person in (("viewer", viewer), ("agent", agent)):
        if not has_role(role, one.role):
            method = "POST" if one in ACTIONS else "GET"
            answer = await person.request(
                method, somewhere(one), data={"form_token": person.token} if one in ACTIONS else None
            )
            assert answer.status_code == 403, role


@pytest.mark.parametrize("one", [one for one in router.DECLARED if "{" in one.path], ids=named)
async def test_what_is_not_there_is_no_fault_of_ours(admin, one):
    method = "POST" if one in ACTIONS else "GET"
    answer = await admin.request(method, somewhere(one), data={"form_token": admin.token} if one in ACTIONS else None)
    assert answer.status_code in (404, 422), answer.text[-500:]


async def test_nothing_of_the_web_area_is_served_around_the_declarations():
    """A handler that is neither declared nor one of the few that are open would be a hole."""
    open_to_all = {
        "/sign-in",
        "/sign-in/code",
        "/sign-in/sso",
        "/sso/{provider_id:str}",
        "/sso/{provider_id:str}/callback",
        "/sso/{provider_id:str}/logout",
        "/sign-in/passkey",
        "/join/{token:str}",
        "/unsubscribe/{token:str}",
        "/assets/{name:str}",
        "/health/live",
        "/health/ready",
        "/schema",
        "/webhooks/addresses",
        "/webhooks/addresses.json",
    }
    open_to_all |= {"/docs", "/docs/{name}", "/metrics", "/demo", "/widget.js"}
    open_to_all |= {"/forgot-password", "/reset-password/{token}"}
    open_to_all |= {"/dev/mail", "/dev/mail/{mail_id}", "/dev/mail/{mail_id}/html"}  # tests/interfaces/web/test_mail.py
    known = {one.path for one in router.DECLARED} | open_to_all
    app = asgi.app()._app  # the outermost layer wraps it
    others = {route.path_format for route in app.routes} - {re.sub(r":\w+", "", path) for path in known}
    assert {path for path in others if not path.startswith(("/v1", "/widget/v1", "/receiver/v1"))} == set()


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
