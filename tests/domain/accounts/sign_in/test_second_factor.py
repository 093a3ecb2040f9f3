"""Codes: as RFC 6238 has them, of now, once, and not to be guessed."""

import base64
from datetime import UTC, datetime

import pytest

from leadwire.domain.accounts.sign_in.changes import second_factor
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Invalid, RateLimited
from tests.interfaces.web.conftest import admin, browser  # noqa: F401 - a fixture

HASH = "$argon2id$of-the-password"
SECRET = base64.b32encode(b"12345678901234567890").decode()


@pytest.fixture
def at(monkeypatch):
    """Sets our clock."""

    def move(seconds: int) -> None:
        monkeypatch.setattr(clock, "now", lambda: datetime.fromtimestamp(seconds, UTC))

    return move


@pytest.mark.parametrize(
    ("seconds", "code"),
    [(59, "287082"), (1111111109, "081804"), (1111111111, "050471"), (1234567890, "005924"), (20000000000, "353130")],
)
def test_the_codes_are_those_of_rfc_6238(at, seconds, code):
    at(seconds)
    assert second_factor._step_of(SECRET, code) == seconds // 30
    assert second_factor._step_of(SECRET, f" {code[:3]} {code[3:]}") == seconds // 30
    at(seconds + 30)  # a phone that is late
    assert second_factor._step_of(SECRET, code) == seconds // 30
    at(seconds + 61)
    assert second_factor._step_of(SECRET, code) is None


@pytest.mark.parametrize("code", ["", "0", "28708", "2870822", "abcdef", "２８７０８２", "-28708"])
def test_what_is_no_code_is_none(at, code):
    at(59)
    assert second_factor._step_of(SECRET, code) is None


@pytest.mark.parametrize("secret", ["", "A", "not base32!", "AAAA", "１２３４"])
def test_what_is_no_secret_is_refused(secret):
    with pytest.raises(Invalid):
        second_factor._step_of(secret, "000000")


@pytest.fixture
async def user(admin):  # noqa: F811
    """The ID of a user with a second factor."""
    sealed = second_factor.secret_box.get().seal(SECRET)
    await db.rows("UPDATE user_account SET totp_secret = $1, totp_step = 0, password_hash = $2", sealed, HASH)
    return await db.value("SELECT id FROM user_account")


async def test_a_ticket_lasts_five_minutes_and_cannot_be_made_up(at, user):
    at(59)
    ticket = second_factor.ticket(user, HASH)
    changed = f"{int(ticket[-2:], 16) ^ 1:02x}"
    of_another_kind = second_factor.offer(user)[1], second_factor.secret_box.get().seal(f"{user} 999 {HASH}").hex()
    for forged in ("", "00", "..", ticket[:-1], ticket[:-2], ticket[:-2] + changed, *of_another_kind):
        with pytest.raises(Invalid, match="Begin again"):
            await second_factor.redeem(forged, "287082", "a")
    at(59 + 301)
    with pytest.raises(Invalid, match="Begin again"):
        await second_factor.redeem(ticket, "287082", "a")
    at(59)
    assert await second_factor.redeem(ticket, "287082", "a") == user


async def test_a_ticket_ends_with_the_password_it_was_given_for(at, user):
    at(59)
    ticket = second_factor.ticket(user, HASH)
    await db.rows("UPDATE user_account SET password_hash = 'another'")
    with pytest.raises(Invalid, match="Begin again"):
        await second_factor.redeem(ticket, "287082", "a")


async def test_a_code_opens_once(at, user):
    at(59)
    await second_factor.redeem(second_factor.ticket(user, HASH), "287082", "a")
    with pytest.raises(Invalid, match="Wrong or used code"):
        await second_factor.redeem(second_factor.ticket(user, HASH), "287082", "a")


async def test_codes_may_be_guessed_five_times_whatever_is_known_of_the_password(at, user):
    at(59)
    for _ in range(5):
        with pytest.raises(Invalid):
            await second_factor.redeem(second_factor.ticket(user, HASH), "000000", "a")
    with pytest.raises(RateLimited):
        await second_factor.redeem(second_factor.ticket(user, HASH), "287082", "a")
