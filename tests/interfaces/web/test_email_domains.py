"""Domains on the page of single sign-on, and what relies on them: providers, and the way from an address to one."""

import re
from datetime import timedelta

import dns.rcode
import pytest

from leadwire.domain.accounts.domains import changes
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import clock, db
from tests import make
from tests.interfaces.web.conftest import browser
from tests.oidc.lying import lying, set_up, through

NAME, PATH = "example.org", "/single-sign-on-domains"
RECORD = re.compile(r"leadwire-domain-verification=[0-9a-f]{32}")
FIND = {"email": "new@example.org"}


@pytest.fixture
async def liar(database):
    async with lying() as made:
        yield made


@pytest.fixture
async def domain(admin, resolver):
    """The id of a domain that Ada has added, and its record."""
    await admin.open("/single-sign-on")
    page = await admin.fill(PATH, domain=f"@{NAME}")
    resolver.texts[NAME] = []
    return await db.value("SELECT id FROM email_domain"), RECORD.search(page)[0]


async def proven(workspace, liar):
    """A provider of a workspace that has proven its domain."""
    provider = await set_up(workspace, liar.issuer)
    await db.rows(
        "UPDATE email_domain SET proven_at = now(), taken_over_until = NULL WHERE workspace_id = $1", workspace
    )
    return provider


async def noted():
    rows = await db.rows("SELECT actor, action, subject FROM audit_entry WHERE action LIKE 'domain.%' ORDER BY id")
    return [tuple(row) for row in rows]


async def test_a_domain_is_added_proven_and_removed(admin, domain, resolver):
    domain_id, record = domain
    page = await admin.open("/single-sign-on")
    assert ("Not proven" in page, record in page) == (True, True)
    assert "The domain has no such record." in await admin.fill(f"{PATH}/{domain_id}/check")
    resolver.texts[NAME] = [record]
    page = await admin.fill(f"{PATH}/{domain_id}/check")
    assert "example.org is proven." in page
    assert re.search(r'pill good"[^/]+<path d="[^"]+"/></svg>Proven<', page)
    assert "example.org is removed." in await admin.fill(f"{PATH}/{domain_id}/remove")
    told = [("ada@example.org", action, NAME) for action in ("domain.added", "domain.proven", "domain.removed")]
    assert await noted() == told


@pytest.mark.parametrize(
    ("text", "told"), [("example", "A domain, such as"), ("gmail.com", "Anybody can have an address at gmail.com")]
)
async def test_what_is_no_domain_to_prove_is_told_beside_its_field(admin, text, told):
    await admin.open("/single-sign-on")
    page = await admin.fill(PATH, 422, domain=text)
    assert ('id="domain-fault"' in page, told in page) == (True, True)


@pytest.mark.parametrize(
    ("records", "rcode", "words"),
    [
        (["leadwire-domain-verification=0"], None, "with another value"),
        ([], dns.rcode.NXDOMAIN, "DNS knows no such domain."),
        ([], dns.rcode.SERVFAIL, "The name servers of the domain do not answer"),
    ],
)
async def test_the_page_says_what_a_check_found(admin, domain, resolver, records, rcode, words):
    resolver.texts[NAME] = records
    if rcode:
        resolver.faults[NAME] = rcode
    await admin.fill(f"{PATH}/{domain[0]}/check")
    page = await admin.open("/single-sign-on")
    assert ("Not proven" in page, words in page) == (True, True)


async def test_a_missing_record_and_what_was_taken_over_say_until_when(admin, workspace, domain, resolver):
    resolver.texts[NAME] = [domain[1]]
    await admin.fill(f"{PATH}/{domain[0]}/check")
    resolver.texts[NAME] = []
    page = await admin.fill(f"{PATH}/{domain[0]}/check")
    until = clock.now() + timedelta(days=7)
    assert ("Record missing" in page, f"It counts until {until:%d %B %Y}" in page) == (True, True)
    await make.domain(workspace, "old.example")
    assert "A provider relied on it before domains had to be proven." in await admin.open("/single-sign-on")


async def test_it_is_nobody_else_s(admin, agent, domain):
    other, _ = await workspaces.create("Other")
    theirs = await make.domain(other, "other.example")
    for change in ("check", "remove"):
        assert (await admin.post(f"{PATH}/{theirs}/{change}", data={"form_token": admin.token})).status_code == 404
    await agent.open("/account")
    await agent.fill(f"{PATH}/{domain[0]}/check", 403)
    assert "other.example" not in await admin.open("/single-sign-on")
    async with browser() as stranger:
        assert (await stranger.post(f"{PATH}/{domain[0]}/check")).status_code in (303, 403)
    assert await db.value("SELECT count(*) FROM email_domain") == 2


async def test_thirty_checks_in_five_minutes(admin, domain, resolver):
    for _ in range(30):
        await admin.fill(f"{PATH}/{domain[0]}/check")
    assert "Too many checks" in await admin.fill(f"{PATH}/{domain[0]}/check", 429)
    assert len(resolver.asked) == 30


# ---- what relies on a domain


async def test_a_provider_relies_on_proven_domains_only(admin, workspace, liar):
    provider = await set_up(workspace, liar.issuer)
    await admin.open(f"/single-sign-on/{provider}")
    form = {"name": "Acme ID", "client_id": "x", "default_role": "agent"}
    await changes.add(workspace, "b.example")
    page = await admin.fill(f"/single-sign-on/{provider}", 422, **form, domains="example.org b.example")
    assert "b.example is not proven" in page
    assert "c.example is not proven" in await admin.fill(
        f"/single-sign-on/{provider}", 422, **form, domains="c.example"
    )
    await db.rows("UPDATE email_domain SET proven_at = now()")
    assert "Saved." in await admin.fill(f"/single-sign-on/{provider}", **form, domains="example.org b.example")


async def test_a_domain_that_another_workspace_has_proven_is_not_to_be_relied_on(admin, workspace, liar):
    other, _ = await workspaces.create("Other")
    await make.domain(other, "b.example", proven=True)
    provider = await set_up(workspace, liar.issuer)
    await admin.open(f"/single-sign-on/{provider}")
    form = {"name": "Acme ID", "client_id": "x", "domains": "b.example"}
    assert "b.example is not proven" in await admin.fill(f"/single-sign-on/{provider}", 422, **form)


@pytest.mark.parametrize(
    "lost",
    [
        "DELETE FROM email_domain",
        "UPDATE email_domain SET taken_over_until = now() - interval '1 second'",
        "UPDATE email_domain SET taken_over_until = NULL, fault = 'lost'",
    ],
)
async def test_once_a_domain_is_lost_nobody_comes_in_by_it(workspace, stranger, liar, lost):
    provider = await set_up(workspace, liar.issuer)
    assert (await through(stranger, provider, liar)).status_code == 303
    await db.rows(lost)
    async with browser() as again:
        page = (await through(again, provider, liar)).text
        assert ("<code>domain_not_proven</code>" in page, "not proven here any more" in page) == (True, True)
        assert "No provider is known" in await again.fill("/sign-in/sso", **FIND)
    liar.claims = {"sub": "new-1", "email": "new@example.org"}
    async with browser() as new:
        assert "<code>domain_not_proven</code>" in (await through(new, provider, liar)).text
    assert await db.value("SELECT count(*) FROM user_account") == 1


async def test_an_account_elsewhere_does_not_switch_off_the_finder_of_a_proven_domain(workspace, stranger, liar):
    provider = await proven(workspace, liar)
    other, _ = await workspaces.create("Other")
    await make.user(other)  # somebody@example.org
    assert f'href="/sso/{provider}?next=/"' in await stranger.fill("/sign-in/sso", **FIND)


async def test_a_proven_domain_leads_its_first_person_in_and_nobody_to_strangers(workspace, stranger, liar):
    """A provider that another workspace set up for the same domain, before proofs were asked for, is not offered."""
    other, _ = await workspaces.create("Other")
    strangers = await set_up(other, liar.issuer, name="Phishing")
    await make.user(other)
    assert f"/sso/{strangers}?" in await stranger.fill("/sign-in/sso", **FIND)
    provider = await proven(workspace, liar)
    await db.rows("UPDATE email_domain SET taken_over_until = NULL WHERE workspace_id = $1", other)  # as a proof does
    page = await stranger.fill("/sign-in/sso", **FIND)
    assert (f"/sso/{provider}?" in page, strangers in page) == (True, False)
