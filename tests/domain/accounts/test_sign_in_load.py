"""Many sign-ins at once: none waits for long, and a whole IPv6 network gets few attempts."""

import asyncio

import pytest

from leadwire.domain.accounts import passwords
from leadwire.domain.accounts.changes import sign_in_limits
from leadwire.infrastructure.errors import RateLimited, Unavailable
from tests.interfaces.web.conftest import PASSWORD, admin, browser, stranger  # noqa: F401 - fixtures


async def test_eighteen_passwords_are_checked_or_wait_and_the_rest_is_refused():
    tries = [passwords.matches(None, "wrong") for _ in range(100)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    refused = [result for result in results if isinstance(result, Unavailable)]
    assert (len(refused), results.count(False)) == (82, 18)
    assert {refusal.headers["Retry-After"] for refusal in refused} == {"3"}
    assert await passwords.matches(None, "wrong") is False  # there is room again


async def test_who_comes_then_is_asked_to_try_again_and_loses_no_try(admin, stranger, monkeypatch):  # noqa: F811
    monkeypatch.setattr(passwords, "_slots", asyncio.Semaphore(0))
    form = {"email": "ada@example.org", "password": PASSWORD}
    for _ in range(sign_in_limits.PER_ACCOUNT + 1):
        answer = await stranger.post("/sign-in", data=form)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "3")
        assert "Try again in a few seconds" in answer.text
    monkeypatch.undo()
    assert (await stranger.post("/sign-in", data=form)).status_code == 303


@pytest.mark.parametrize(("most", "apart"), [(20, 0), (40, 1), (80, 0x100)], ids=["/64", "/56", "/48"])
async def test_an_ipv6_network_has_so_many_tries(redis, most, apart):
    """Tries from the same /64, from /64s of one /56, and from /56s of one /48."""
    for number in range(most + 1):
        counted = sign_in_limits.count(f"{number}@example.org", f"2001:db8:0:{number * apart:x}::/64")
        if number < most:
            await counted
        else:
            with pytest.raises(RateLimited):
                await counted
    await sign_in_limits.count("elsewhere@example.org", "2001:db8:1::/64")
