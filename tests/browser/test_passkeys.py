"""Passkeys in a real browser, with Chromium's virtual authenticator: made, used alone, after a password, to confirm."""

from urllib.parse import parse_qs

import msgspec
import pytest
from playwright.async_api import expect

from leadwire.infrastructure import db, settings
from tests.browser.desk import PASSWORD, signed_in
from tests.interfaces.web.conftest import browser as without_a_screen

EMAIL = "ada@example.org"
_DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}


class Authenticator:
    """The device beside the browser."""

    def __init__(self, cdp, ident):
        self._cdp, self._of = cdp, {"authenticatorId": ident}

    @classmethod
    async def beside(cls, page):
        cdp = await page.context.new_cdp_session(page)
        await cdp.send("WebAuthn.enable")
        made = await cdp.send("WebAuthn.addVirtualAuthenticator", {"options": _DEVICE})
        return cls(cdp, made["authenticatorId"])

    async def passkeys(self):
        return (await self._cdp.send("WebAuthn.getCredentials", self._of))["credentials"]

    async def set_back(self):
        """Its count, as a copy of the key would have it."""
        (held,) = await self.passkeys()
        await self._cdp.send("WebAuthn.removeCredential", {**self._of, "credentialId": held["credentialId"]})
        await self._cdp.send("WebAuthn.addCredential", {**self._of, "credential": {**held, "signCount": 1}})


@pytest.fixture
def site(door):
    """A passkey belongs to a name, not to a number."""
    return door.replace("127.0.0.1", "localhost")


@pytest.fixture
def up(site, monkeypatch):
    """`leadwire up` tells its address by name."""
    told = msgspec.structs.replace(settings.get(), public_url=site)
    monkeypatch.setattr(settings, "get", lambda: told)


@pytest.fixture
async def page(visit, site, workspace):
    return await signed_in(visit, site, workspace, EMAIL)


@pytest.fixture
async def device(page, site):
    """A device with a passkey, just added."""
    device = await Authenticator.beside(page)
    await page.goto(f"{site}/account")
    await page.get_by_role("link", name="Add a passkey").click()
    await page.get_by_label("Name").fill("Work laptop")
    await page.get_by_role("button", name="Make the passkey").click()
    await expect(page.locator("#word")).to_contain_text("The passkey is added")
    await expect(page.get_by_label("Your passkeys")).to_contain_text("Work laptop")
    return device


async def sign_out(page, site):
    await page.goto(f"{site}/")
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", name="Sign in to Leadwire")).to_be_visible()


def forgive(visit, *said):
    """Leave out what the browser says of an answer that is refused."""
    visit.complaints = [one for one in visit.complaints if not any(part in one for part in said)]


async def test_it_signs_in_alone_and_counts_as_both_factors(page, site, device):
    await sign_out(page, site)
    await page.goto(f"{site}/leads")
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page).to_have_title("Leads · Leadwire")
    (entry,) = await db.rows("SELECT actor, detail FROM audit_entry WHERE action = 'user.signed_in'")
    assert tuple(entry) == (EMAIL, "by passkey")


async def test_after_the_password_it_is_asked_for(page, site, device):
    await sign_out(page, site)
    await page.get_by_label("E-mail").fill(EMAIL)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("heading", name="Enter your code")).to_be_visible()
    await page.goto(f"{site}/leads")
    await expect(page).to_have_title("Sign in · Leadwire")
    await page.get_by_label("E-mail").fill(EMAIL)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page).to_have_title("Leads · Leadwire")


async def test_it_confirms_in_place_of_the_password(page, site, device):
    await page.goto(f"{site}/team")
    await page.get_by_label("E-mail").fill("new@example.net")
    await db.rows("UPDATE user_session SET confirmed_at = confirmed_at - interval '11 minutes'")
    await page.get_by_role("button", name="Create invitation link").click()
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("heading", name="A link for new@example.net")).to_be_visible()
    assert await db.value("SELECT confirmed_at > now() - interval '1 minute' FROM user_session")


async def test_a_count_that_went_back_a_removed_one_and_a_refusal_of_the_device(page, site, device, visit):
    await device.set_back()
    await db.rows("UPDATE passkey SET sign_count = 50")
    await sign_out(page, site)
    for _ in range(2):
        await page.get_by_role("button", name="Use a passkey").click()
        await expect(page.get_by_role("alert")).to_contain_text("The passkey was not accepted")
        await db.rows("DELETE FROM passkey")
    for held in await device.passkeys():
        await device._cdp.send("WebAuthn.removeCredential", {**device._of, "credentialId": held["credentialId"]})
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.locator("output")).to_contain_text("No passkey was used")
    forgive(visit, "422")


def is_post(request):
    return request.method == "POST" and request.url.endswith("/sign-in/passkey")


async def sent(page):
    """The form that is sent when the passkey is used."""
    async with page.expect_request(is_post) as request:
        await page.get_by_role("button", name="Use a passkey").click()
    return {name: values[-1] for name, values in parse_qs((await request.value).post_data).items()}


async def test_what_was_sent_is_good_once_and_in_its_browser_only(page, site, device, visit):
    await sign_out(page, site)
    body = await sent(page)
    await expect(page).to_have_title("Overview · Leadwire")
    assert "clientDataJSON" in body["passkey"]
    again = await visit.context.request.post(f"{site}/sign-in/passkey", form=body)
    assert (again.status, "not accepted" in await again.text()) == (422, True)
    await sign_out(page, site)
    await page.route("**/sign-in/passkey", lambda route: route.abort() if is_post(route.request) else route.continue_())
    body = await sent(page)
    async with without_a_screen() as thief:  # has what was sent, not the cookie
        await thief.fill("/sign-in/passkey", 422, **body)
        assert not thief.cookies.get("leadwire")
    forgive(visit, "ERR_FAILED")


async def test_without_a_name_or_scripts_there_is_no_button(page, door, site):
    await page.goto(f"{door}/sign-in")  # an address that is a number
    await expect(page.get_by_role("button", name="Use a passkey")).to_be_hidden()
    await expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()


async def test_under_up_they_work_at_localhost(up, page, site, device):
    assert [held["rpId"] for held in await device.passkeys()] == ["localhost"]
    await sign_out(page, site)
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page).to_have_title("Overview · Leadwire")


async def test_under_up_none_is_offered_at_the_number_and_the_page_says_why(up, visit, door, workspace):
    page = await signed_in(visit, door, workspace, EMAIL)
    await page.goto(f"{door}/account/passkeys")
    await expect(page.get_by_text("is a name, not a number")).to_be_visible()
    await expect(page.get_by_role("button", name="Make the passkey")).to_be_hidden()
    await sign_out(page, door)
    await expect(page.get_by_role("button", name="Use a passkey")).to_be_hidden()


async def test_recovery_codes_are_shown_once_and_each_signs_in_once(page, site, device, visit):
    await page.goto(f"{site}/account")
    await page.get_by_role("button", name="Make ten").click()
    codes = (await page.locator("#codes").inner_text()).split()
    assert len({*codes}) == 10
    await sign_out(page, site)
    for code, accepted in ((codes[0].upper(), True), (codes[0], False), (codes[1].replace("-", " "), True)):
        await page.get_by_label("E-mail").fill(EMAIL)
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in", exact=True).click()
        await page.get_by_label("Code").fill(code)
        await page.get_by_role("button", name="Sign in", exact=True).click()
        if accepted:
            await expect(page).to_have_title("Overview · Leadwire")
            await sign_out(page, site)
        else:
            await expect(page.get_by_role("alert")).to_contain_text("Wrong or used code")
            await page.get_by_role("link", name="Start over").click()
    assert await db.value("SELECT count(*) FROM audit_entry WHERE action = 'user.recovery_code_used'") == 2
    stored = str(await db.rows("SELECT * FROM recovery_code"))
    assert not [code for code in codes if code.replace("-", "") in stored]
    forgive(visit, "422")
