"""Providers of single sign-on, set up while somebody else sets one up or comes from it."""

from functools import partial

import pytest

from leadwire.domain.accounts.domains import changes as domains
from leadwire.domain.accounts.domains import reads as domain_reads
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.accounts.sso import changes as sso
from leadwire.domain.accounts.sso import discovery, reads
from leadwire.domain.accounts.sso.changes import sign_in
from leadwire.domain.accounts.sso.faults import SignOnRefused
from leadwire.domain.accounts.sso.tokens import Claims, Header
from leadwire.infrastructure import clock, db, preconditions
from leadwire.infrastructure.errors import Conflict
from tests import make
from tests.delivery.interleaved import overlapped
from tests.interleavings.accounts import BROWSER
from tests.oidc.lying import set_up

NAME = "example.org"


async def test_the_second_to_save_at_the_same_moment_is_told_of_the_first(workspace, resolver):
    await domains.add(workspace, NAME)
    (domain,) = await domain_reads.listed(workspace)
    resolver.texts[NAME] = [domain.record]
    await domains.check(workspace, domain.id, "ada@example.org")
    provider = await sso.add(workspace, "Acme ID", "https://login.example.org")
    saw = preconditions.digest((await reads.one(provider, workspace)).chosen)
    save = [
        partial(
            sso.configure, workspace, provider, sso.Setup(client_id=name, client_secret="s", domains=[NAME]), saw=saw
        )
        for name in ("first", "second")
    ]
    with pytest.raises(Conflict, match="Somebody else has changed this"):
        await overlapped(*save)
    assert (await reads.one(provider, workspace)).client_id == "first"


async def test_who_comes_while_a_group_loses_its_role_does_not_get_it(workspace):
    given = {"default_role": None, "role_claim": "groups", "roles": {"staff": "admin"}}
    made = await set_up(workspace, "https://login.example.org", **given)
    now = clock.now().timestamp()
    claims = Claims("", "", now, now, "eve", email="eve@example.org", email_verified=True, every={"groups": ["staff"]})
    before = await reads.one(made)

    async def come():
        with pytest.raises(SignOnRefused, match="set this provider up otherwise"):
            await sign_in.sign_in(before, claims, BROWSER)

    await overlapped(partial(sso.configure, workspace, made, sso.Setup(roles={"board": "admin"})), come)
    assert await db.value("SELECT count(*) FROM user_account") == 0


async def test_somebody_new_who_comes_from_two_providers_at_once_gets_one_account(workspace):
    sessions_of = []

    async def come(made):
        now = clock.now().timestamp()
        claims = Claims("", "", now, now, "eve", email="eve@example.org", email_verified=True)
        sessions_of.append(await sign_in.sign_in(await reads.one(made), claims, BROWSER))

    made = [await set_up(workspace, f"https://{name}.example.org", default_role="agent") for name in ("one", "two")]
    await overlapped(*(partial(come, provider) for provider in made))
    people = [await sessions.person(token, "127.0.0.1") for token in sessions_of]
    assert [person.email for person in people] == ["eve@example.org"] * 2
    assert await db.value("SELECT count(*) FROM user_account") == 1


async def test_passwords_stay_on_where_the_provider_of_whoever_ends_them_has_just_been_removed(workspace):
    emergency = await make.user(workspace, "admin")
    await db.rows("UPDATE login SET password_hash = 'a hash' WHERE id = $1", emergency)
    await sso.set_break_glass(workspace, emergency, on=True)
    made = await set_up(workspace, "https://login.example.org", default_role="admin")
    now = clock.now().timestamp()
    claims = Claims("", "", now, now, "eve", email="eve@example.org", email_verified=True)
    me = await sessions.person(await sign_in.sign_in(await reads.one(made), claims, BROWSER), "127.0.0.1")
    await sso.remove(workspace, made)
    with pytest.raises(Conflict, match="Sign in through the provider first"):
        await sso.enforce(workspace, me)


async def test_a_domain_that_a_provider_has_just_come_to_rely_on_stays(workspace):
    made = await set_up(workspace, "https://login.example.org")
    await make.domain(workspace, "example.com")
    (domain,) = [one for one in await domain_reads.listed(workspace) if one.name == "example.com"]

    async def late():
        with pytest.raises(Conflict, match="Acme ID relies on"):
            await domains.remove(workspace, domain.id)

    await overlapped(partial(sso.configure, workspace, made, sso.Setup(domains=[NAME, "example.com"])), late)


async def test_a_provider_that_says_other_addresses_each_time_is_not_remembered_for_ever(database):
    for number in range(2 * discovery._MOST):
        with pytest.raises(SignOnRefused):
            await discovery.key_for(Header("RS256"), f"https://127.0.0.1/keys?{number}#")
    assert len(discovery._locks) <= discovery._MOST
