"""Many sign-ins at once: none waits for long, and strangers do not keep an account's owner out."""

import asyncio
import os
import subprocess
import sys
import threading

import pytest

from leadwire.domain.accounts.sign_in import changes as sign_in
from leadwire.domain.accounts.sign_in import passwords, tries
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Invalid, RateLimited, Unavailable
from tests.interfaces.web.conftest import PASSWORD, admin, agent, browser, stranger  # noqa: F401 - fixtures

EMAIL = "ada@example.org"


@pytest.mark.parametrize(
    ("lane", "taken"), [(passwords.KNOWN, 18), (passwords.STRANGERS, 17)], ids=["known", "strangers"]
)
async def test_so_many_passwords_are_checked_or_wait_and_the_rest_is_refused(lane, taken, monkeypatch):
    all_asked, verify = threading.Event(), passwords._verify
    monkeypatch.setattr(passwords, "_verify", lambda *args: all_asked.wait() and verify(*args))
    tries = [asyncio.create_task(passwords.matches(None, "wrong", lane)) for _ in range(100)]
    await asyncio.wait(tries, return_when=asyncio.FIRST_COMPLETED)  # each has begun when the first is refused
    all_asked.set()
    results = await asyncio.gather(*tries, return_exceptions=True)
    refused = [result for result in results if isinstance(result, Unavailable)]
    assert (len(refused), results.count(False)) == (100 - taken, taken)
    assert {refusal.headers["Retry-After"] for refusal in refused} == {"3"}
    assert await passwords.matches(None, "wrong", lane) is False  # there is room again


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has a priority of its own on Linux only")
async def test_strangers_passwords_are_hashed_at_a_low_priority():
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    assert await passwords.STRANGERS.run(priority) == max(10, priority())
    assert await passwords.KNOWN.run(priority) == priority()


_NICER = """
import asyncio, os, threading
from leadwire.domain.accounts.sign_in import passwords
os.nice(15)
print(asyncio.run(passwords.STRANGERS.run(lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has a priority of its own on Linux only")
def test_they_are_hashed_at_no_higher_priority_than_the_service():
    told = subprocess.run([sys.executable, "-c", _NICER], capture_output=True, text=True, check=True)
    assert int(told.stdout) >= min(19, os.nice(0) + 15)  # from wherever the tests themselves are


async def test_who_comes_then_is_asked_to_try_again_and_loses_no_try(admin, stranger, monkeypatch):  # noqa: F811
    monkeypatch.setattr(passwords.STRANGERS, "_places", asyncio.Semaphore(0))
    form = {"email": EMAIL, "password": PASSWORD}
    for _ in range(tries.PER_NETWORK + 1):
        answer = await stranger.post("/sign-in", data=form)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "3")
        assert "Try again in a few seconds" in answer.text
    assert (await admin.post("/sign-in", data=form)).status_code == 303  # in a browser that is known
    monkeypatch.undo()
    assert (await stranger.post("/sign-in", data=form)).status_code == 303


@pytest.mark.parametrize(("most", "apart"), [(20, 0), (40, 1), (80, 0x100)], ids=["/64", "/56", "/48"])
async def test_an_ipv6_network_has_so_many_tries(redis, most, apart):
    """Tries from the same /64, from /64s of one /56, and from /56s of one /48."""
    taken = 0

    async def use_up() -> None:
        nonlocal taken
        for taken in range(250):
            await tries.count_stranger(f"{taken}@example.org", f"2001:db8:0:{taken * apart:x}::/64")

    with pytest.raises(RateLimited):
        await use_up()
    assert taken == most
    await tries.count_stranger("elsewhere@example.org", "2001:db8:1::/64")


@pytest.mark.parametrize("near", ["192.0.2.{}", "2001:db8:7:{:x}::/64"])
async def test_one_network_has_five_tries_at_an_account_and_uses_up_no_more_of_it(redis, near):
    for number in range(tries.PER_NETWORK):
        await tries.count_stranger(EMAIL, near.format(number))
    for number in range(tries.PER_ACCOUNT):
        with pytest.raises(RateLimited):
            await tries.count_stranger(EMAIL, near.format(number))
    await tries.count_stranger(EMAIL, "198.51.100.1")


async def flood() -> int:
    """Strangers try passwords, each network five at once, until one is refused. Return how many were checked."""
    checked = 0
    for network in range(250):
        guesses = [
            sign_in.sign_in(EMAIL, "a guess", Browser(f"203.0.{network}.{number}"))
            for number in range(tries.PER_NETWORK)
        ]
        results = await asyncio.gather(*guesses, return_exceptions=True)
        assert {type(result) for result in results} <= {Invalid, RateLimited}
        checked += sum(isinstance(result, Invalid) for result in results)
        if any(isinstance(result, RateLimited) for result in results):
            break
    return checked


async def test_the_owner_gets_in_while_strangers_flood_the_account(admin, stranger):  # noqa: F811
    assert await flood() == tries.PER_ACCOUNT
    form = {"email": EMAIL, "password": PASSWORD}
    refused = await stranger.post("/sign-in", data=form)
    assert refused.status_code == 429
    assert "use a passkey or a browser in which you have signed in before" in refused.text
    await admin.fill("/sign-out")
    assert (await admin.post("/sign-in", data=form)).status_code == 303
    assert "<title>Overview" in await admin.open("/")


async def test_the_owner_confirms_a_session_while_strangers_flood_the_account(admin):  # noqa: F811
    await flood()
    await admin.open("/account")
    await db.rows("UPDATE user_session SET confirmed_at = confirmed_at - interval '11 minutes'")
    await admin.fill("/confirm", password=PASSWORD)
    assert await db.value("SELECT confirmed_at > now() - interval '1 minute' FROM user_session")


async def test_a_known_browser_has_five_tries_and_strangers_keep_theirs(admin, stranger):  # noqa: F811
    await admin.fill("/sign-out")
    for _ in range(tries.PER_HOLDER):
        await admin.fill("/sign-in", 422, email=EMAIL, password="wrong")
    assert (await admin.post("/sign-in", data={"email": EMAIL, "password": PASSWORD})).status_code == 429
    assert (await stranger.post("/sign-in", data={"email": EMAIL, "password": PASSWORD})).status_code == 303


async def test_another_account_s_browser_is_a_stranger_s(admin, agent, stranger):  # noqa: F811
    for _ in range(tries.PER_HOLDER):
        await agent.fill("/sign-in", 422, email=EMAIL, password="wrong")
    refused = await agent.post("/sign-in", data={"email": EMAIL, "password": PASSWORD})
    assert refused.headers["Retry-After"] == "180"  # a network's, not a holder's
