"""Domains: proven by a TXT record, by one workspace at a time, and lost when it is gone for a week."""

from datetime import timedelta

import dns.rcode
import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.domains import changes, reads
from leadwire.domain.accounts.domains.schema import FAULTS, PREFIX
from leadwire.domain.accounts.sso import changes as sso
from leadwire.infrastructure import clock, db, txt_records
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound
from tests import make
from tests.jobs import run
from tests.mailing import mails

NAME = "example.org"


@pytest.fixture
async def domain(workspace, resolver):
    await changes.add(workspace, NAME)
    resolver.texts[NAME] = []
    return (await reads.listed(workspace))[0]


@pytest.fixture
async def other(database):
    return await accounts.create_workspace("Other")


async def check(domain):
    return await changes.check(domain.workspace, domain.id, "ada@example.org")


async def counts(workspace):
    return await reads.counting(workspace, [NAME]) == {NAME}


async def noted(workspace):
    """The audit log: what happened, to what, why."""
    rows = await db.rows(
        "SELECT action, subject, detail FROM audit_entry WHERE workspace_id = $1 ORDER BY id", workspace
    )
    return [tuple(row) for row in rows]


async def elsewhere(other, resolver):
    """The same domain in another workspace, with its record."""
    await changes.add(other, NAME)
    (domain,) = await reads.listed(other)
    resolver.texts[NAME].append(domain.record)
    return domain


async def test_its_record_proves_it(workspace, domain, resolver):
    assert (domain.record.startswith(PREFIX), len(domain.code), domain.checked_at) == (True, 32, None)
    assert not await counts(workspace)
    resolver.texts[NAME] = ["v=spf1 -all", domain.record]
    after = await check(domain)
    assert (after.state(clock.now()), after.words, after.checked_at is None) == ("proven", "", False)
    assert await counts(workspace)
    assert await noted(workspace) == [("domain.proven", NAME, "")]
    assert resolver.asked == [NAME]
    await check(domain)
    assert len(await noted(workspace)) == 1


async def test_a_record_in_parts_and_one_among_many(workspace, domain, resolver):
    """What is too long for UDP is asked for by TCP."""
    parts = domain.record[:20], domain.record[20:]
    resolver.texts[NAME] = [f"verification-of-somebody-else-{n}={'x' * 200}" for n in range(30)] + [parts]
    assert (await check(domain)).proven_at
    assert len(resolver.asked) == 2


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        ([], "no_record"),
        (["v=spf1 -all"], "no_record"),
        ([PREFIX], "other_value"),
        ([PREFIX + "0" * 32], "other_value"),
        (None, "no_domain"),
    ],
)
async def test_what_is_no_proof(workspace, domain, resolver, texts, fault):
    resolver.texts = {} if texts is None else {NAME: texts}
    after = await check(domain)
    assert (after.state(clock.now()), after.fault, after.words) == ("unproven", fault, FAULTS[fault])
    assert await reads.one(workspace, domain.id) == after
    assert not await counts(workspace)


@pytest.mark.parametrize("spoiled", [" {}", "{} ", "{}0", '{}\\"', "x{}"])
async def test_only_the_very_text_counts(domain, resolver, spoiled):
    resolver.texts[NAME] = [spoiled.format(domain.record)]
    assert (await check(domain)).proven_at is None
    resolver.texts[NAME] = [domain.record.upper()]
    assert (await check(domain)).proven_at is None


async def test_a_record_of_the_name_below_or_above_is_none(workspace, domain, resolver):
    resolver.texts |= {f"www.{NAME}": [domain.record], f"_leadwire.{NAME}": [domain.record], "org": [domain.record]}
    assert (await check(domain)).fault == "no_record"


@pytest.mark.parametrize(
    ("rcode", "fault"),
    [(None, "unreachable"), (dns.rcode.SERVFAIL, "name_servers"), (dns.rcode.REFUSED, "name_servers")],
)
async def test_no_answer_is_neither_a_proof_nor_a_loss(workspace, domain, resolver, monkeypatch, rcode, fault):
    resolver.texts[NAME] = [domain.record]
    await check(domain)
    monkeypatch.setattr(txt_records, "_PATIENCE", 0.5 if rcode is None else 60.0)
    resolver.faults[NAME] = rcode
    for days in (1, 30):
        with clock.at(clock.now() + timedelta(days=days)):
            after = await check(domain)
            assert (after.state(clock.now()), after.fault, after.missing_since) == ("proven", fault, None)
            assert await counts(workspace)


async def test_where_no_resolver_is_the_check_says_so(workspace, database):
    await changes.add(workspace, NAME)
    assert (await check((await reads.listed(workspace))[0])).fault == "unreachable"  # the tests' setting


async def test_a_lost_record_counts_for_a_week(workspace, domain, resolver):
    resolver.texts[NAME] = [domain.record]
    await check(domain)
    began = clock.now()
    resolver.texts[NAME] = []
    for days, state in ((0, "missing"), (6, "missing"), (7, "unproven"), (8, "unproven")):
        with clock.at(began + timedelta(days=days)):
            after = await check(domain)
            assert after.state(clock.now()) == state
            assert await counts(workspace) == (state == "missing")
    told = [action for action, *_ in await noted(workspace)]
    assert told == ["domain.proven", "domain.record_missing", "domain.lost"]


async def test_admins_are_told_once_that_a_record_is_missing(workspace, domain, other, resolver, mailing):
    ada = await make.user(workspace, "admin")
    await make.user(workspace, "agent")
    await make.user(other, "admin")
    resolver.texts[NAME] = [domain.record]
    await check(domain)
    resolver.texts[NAME] = []
    for _ in range(2):
        after = await check(domain)
    ((to, values),) = await mails("domain_missing")
    assert (to, values["domain"], values["record"]) == (f"{ada}@example.org", NAME, domain.record)
    assert values["until"] == f"{after.ends_at:%d %B %Y}"


async def test_an_address_that_was_never_checked_keeps_no_other_admin_from_being_told(
    workspace, domain, resolver, mailing
):
    told, other = [await make.user(workspace, "admin") for _ in range(2)]
    await db.rows("UPDATE login SET email = 'two@at@example.org' WHERE id = $1", other)
    resolver.texts[NAME] = [domain.record]
    await check(domain)
    resolver.texts[NAME] = []
    await check(domain)
    assert [to for to, _ in await mails("domain_missing")] == [f"{told}@example.org"]


async def test_a_record_that_is_back_within_the_week(workspace, domain, resolver):
    resolver.texts[NAME] = [domain.record]
    await check(domain)
    resolver.texts[NAME] = []
    after = await check(domain)
    assert after.ends_at == after.missing_since + timedelta(days=7)
    resolver.texts[NAME] = [domain.record]
    with clock.at(clock.now() + timedelta(days=20)):  # nobody has looked meanwhile
        assert (await check(domain)).state(clock.now()) == "proven"


async def test_no_answer_after_the_week_is_no_loss(workspace, domain, resolver):
    resolver.texts[NAME] = [domain.record]
    await check(domain)
    resolver.texts[NAME] = []
    await check(domain)
    resolver.faults[NAME] = dns.rcode.SERVFAIL
    with clock.at(clock.now() + timedelta(days=20)):
        assert (await check(domain)).state(clock.now()) == "missing"


async def test_another_workspace_does_not_prove_it_while_the_first_record_is_there(workspace, domain, other, resolver):
    resolver.texts[NAME] = [domain.record]
    await check(domain)
    second = await elsewhere(other, resolver)
    assert second.code != domain.code
    assert (await check(second)).fault == "taken"
    assert (await counts(workspace), await counts(other)) == (True, False)


async def test_a_domain_goes_to_another_workspace_with_its_record(workspace, domain, other, resolver, mailing):
    ada = await make.user(workspace, "admin")
    resolver.texts[NAME] = [domain.record]
    await check(domain)
    resolver.texts[NAME] = []
    second = await elsewhere(other, resolver)
    assert (await check(second)).proven_at
    assert (await counts(workspace), await counts(other)) == (False, True)
    first = await reads.one(workspace, domain.id)
    assert (first.state(clock.now()), first.words) == ("unproven", FAULTS["lost"])
    assert (await noted(workspace))[-1] == ("domain.lost", NAME, "proven elsewhere")
    assert await noted(other) == [("domain.proven", NAME, "")]
    assert [(to, values["domain"]) for to, values in await mails("domain_lost")] == [(f"{ada}@example.org", NAME)]


async def test_a_proof_ends_what_others_have_taken_over(workspace, domain, other, resolver):
    taken_over = await make.domain(other, NAME)
    assert await counts(other)
    assert await reads.taken_over() == [(NAME, f"{clock.now() + timedelta(days=1):%Y-%m-%d}")]
    resolver.texts[NAME] = [domain.record]
    await check(domain)
    assert (await counts(other), (await reads.one(other, taken_over)).fault) == (False, "lost")
    assert await reads.taken_over() == []


async def test_what_was_taken_over_ends_by_itself_and_not_by_a_check(workspace, resolver):
    made = await make.domain(workspace, NAME)
    resolver.texts[NAME] = []
    assert (await changes.check(workspace, made, "x")).state(clock.now()) == "taken_over"
    with clock.at(clock.now() + timedelta(days=2)):
        assert not await counts(workspace)
        assert (await reads.one(workspace, made)).state(clock.now()) == "unproven"


async def test_a_proof_replaces_what_was_taken_over(workspace, resolver):
    made = await make.domain(workspace, NAME)
    resolver.texts[NAME] = [(await reads.one(workspace, made)).record]
    assert (await changes.check(workspace, made, "x")).state(clock.now()) == "proven"
    with clock.at(clock.now() + timedelta(days=200)):
        assert await counts(workspace)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" Example.ORG ", NAME),
        ("@example.org", NAME),
        ("bücher.example", "xn--bcher-kva.example"),
        ("a.b-c.co", "a.b-c.co"),
    ],
)
async def test_a_name_is_kept_as_dns_has_it(workspace, text, name):
    assert await changes.add(workspace, text) == name
    with pytest.raises(Conflict, match="here already"):
        await changes.add(workspace, name)


@pytest.mark.parametrize(
    "text",
    [
        "", "@", "org", "ada@example.org", "@@example.org", "exa mple.org", "exa_mple.org", "-a.org", "a..org",
        "a.org.", "https://a.org", "a.org/x", "a.org:53", "127.0.0.1", "[127.0.0.1]", "::1", f"{'a' * 64}.org", "a.1",
        "a\0.org", "a\n.org", f"{'a.' * 130}org", "*.org",
    ],
)  # fmt: skip
async def test_what_is_no_domain(workspace, text):
    with pytest.raises(Invalid):
        await changes.add(workspace, text)


@pytest.mark.parametrize("text", ["gmail.com", "@GMAIL.com", "web.de"])
async def test_where_anybody_can_have_an_address_is_refused(workspace, text):
    with pytest.raises(Invalid) as refused:
        await changes.add(workspace, text)
    assert "Anybody can have an address" in refused.value.errors[0].message


async def test_there_are_so_many_at_most(workspace, monkeypatch):
    monkeypatch.setattr(changes, "_MOST", 1)
    await changes.add(workspace, "a.example")
    with pytest.raises(Conflict, match="at most 1 domains"):
        await changes.add(workspace, "b.example")


async def test_it_is_removed_once_no_provider_relies_on_it(workspace, domain, other, resolver):
    resolver.texts[NAME] = [domain.record]
    await check(domain)
    provider = await sso.add(workspace, "Acme ID", "https://login.example.org")
    await sso.configure(workspace, provider, sso.Setup(client_id="c", client_secret="s", domains=[NAME]))
    with pytest.raises(Conflict, match="Acme ID relies on example"):
        await changes.remove(workspace, domain.id)
    with pytest.raises(NotFound):
        await changes.remove(other, domain.id)
    await sso.remove(workspace, provider)
    assert await changes.remove(workspace, domain.id) == NAME
    for change in (changes.remove(workspace, domain.id), check(domain)):
        with pytest.raises(NotFound):
            await change


async def test_the_job_checks_what_is_due(workspace, domain, resolver):
    resolver.texts[NAME] = [domain.record]
    await run("domain.check")
    assert (await reads.one(workspace, domain.id)).proven_at
    resolver.texts[NAME] = []
    await db.rows("UPDATE email_domain SET check_at = now()")
    await run("domain.check")
    assert (await reads.one(workspace, domain.id)).missing_since
    assert await db.value("SELECT count(*) FROM job WHERE kind = 'domain.check'") == 0
    actors = {row["actor"] for row in await db.rows("SELECT actor FROM audit_entry WHERE action LIKE 'domain.%'")}
    assert actors == {"domains"}
