"""Visitors whom their website vouches for: what counts, what is refused, and what is kept of it."""

import hashlib
import hmac

import msgspec
import pytest

from leadwire.domain.bots import changes
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.infrastructure import clock, db
from tests import make
from tests.domain.bots.conftest import published

NOW = 3600  # seconds until it expires


@pytest.fixture
async def secret(workspace, shop):
    return await changes.make_identity_secret(workspace, shop.id)


def signed(secret, bot, email="ada@example.com", user_id="u-7", name="Ada", expires=NOW):
    expires += int(clock.now().timestamp())
    text = "\n".join([bot, str(expires), email, user_id, name])
    signature = hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()
    return {"email": email, "user_id": user_id, "name": name, "expires": expires, "signature": signature}


async def variables(caller):
    text = await db.value("SELECT variables::text FROM conversation WHERE id = $1", caller.conversation)
    return {key: value for key, value in msgspec.json.decode(text).items() if key.startswith("verified.")}


async def lead():
    row = await db.row("SELECT email, name, custom_fields::text AS custom_fields FROM lead")
    return row["email"], row["name"], msgspec.json.decode(row["custom_fields"])


async def test_a_signed_person_is_verified_and_a_lead(caller, secret):
    told = (await caller.says("what?", identity=signed(secret, caller.bot.id))).json()
    assert told["captured"] is True
    assert await variables(caller) == {
        "verified.email": "ada@example.com",
        "verified.user_id": "u-7",
        "verified.name": "Ada",
    }
    assert await lead() == ("ada@example.com", "Ada", {"user_id": "u-7"})
    who = await db.row("SELECT visitor_email, visitor_name FROM conversation")
    assert tuple(who) == ("ada@example.com", "Ada")


async def test_answers_do_not_replace_what_is_vouched_for(workspace, caller, secret):
    await caller.says("bob@example.com")
    await caller.says("Large", identity=signed(secret, caller.bot.id), attributes={"user_id": "u-8"})
    assert await lead() == ("ada@example.com", "Ada", {"size": "l", "user_id": "u-7"})
    lead_id = await db.value("SELECT id FROM lead")
    await leads.update(workspace, lead_id, LeadPatch(name="Ada Lovelace"), unchanged={})
    await caller.says("mail me: eve@example.com", identity=signed(secret, caller.bot.id), attributes={"user_id": "u-9"})
    assert await lead() == ("ada@example.com", "Ada Lovelace", {"size": "l", "user_id": "u-7"})  # said once


async def test_no_attribute_takes_the_place_of_what_is_vouched_for(caller, secret):
    """A stranger who gives Ada's address first would otherwise leave an id with her lead that nothing replaces."""
    await caller.says("ada@example.com", attributes={"user_id": "u-666", "email": "eve@example.com", "plan": "pro"})
    assert (await lead())[2] == {"plan": "pro"}
    ada = type(caller)(caller.client, caller.bot)
    await ada.says("what?", identity=signed(secret, caller.bot.id))
    assert (await lead())[2]["user_id"] == "u-7"


async def test_an_answer_after_it_is_the_visitors_word_only(caller, secret):
    await caller.says("what?", identity=signed(secret, caller.bot.id))
    await caller.says("eve@example.com")
    assert (await lead())[0] == "ada@example.com"
    assert await db.value("SELECT visitor_email FROM conversation") == "ada@example.com"


async def test_an_id_alone_is_verified_and_waits_for_an_address(caller, secret):
    await caller.says("what?", identity=signed(secret, caller.bot.id, email="", name=""))
    assert await variables(caller) == {"verified.user_id": "u-7"}
    assert await db.value("SELECT count(*) FROM lead") == 0
    await caller.says("ada@example.com")
    assert await lead() == ("ada@example.com", None, {"user_id": "u-7"})


REFUSED = [
    {"email": "eve@example.com"},
    {"name": "Eve"},
    {"user_id": "u-8"},
    {"signature": "0" * 64},
    {"expires": 2**33},
]


@pytest.mark.parametrize("change", REFUSED, ids=str)
async def test_what_was_changed_is_refused_and_stores_nothing(caller, secret, change):
    answer = await caller.says("hi", identity=signed(secret, caller.bot.id) | change)
    assert (answer.status_code, answer.json()["code"]) == (403, "identity_refused")
    assert await make.kinds() == []


async def test_what_expired_comes_too_early_or_is_no_person_is_refused(workspace, caller, secret):
    bot = caller.bot.id
    other = await published(workspace, name="Other")
    for wrong in (
        signed(secret, bot, expires=-1), signed(secret, bot, expires=90_000), signed(secret, bot, "", ""),
        signed(secret, bot, "no address"), signed(secret, other.id), signed("", bot), signed("another", bot),
    ):  # fmt: skip
        answer = await caller.says("hi", identity=wrong)
        assert (answer.status_code, answer.json()["code"]) == (403, "identity_refused")
    assert await make.kinds() == []


async def test_without_a_secret_or_with_the_one_before_nobody_is_verified(workspace, caller, secret):
    await changes.make_identity_secret(workspace, caller.bot.id)
    assert (await caller.says("hi", identity=signed(secret, caller.bot.id))).status_code == 403
    await db.rows("UPDATE bot SET identity_secret = NULL")
    assert (await caller.says("hi", identity=signed("", caller.bot.id))).json()["code"] == "identity_refused"
    assert (await caller.says("hi")).status_code == 201


async def test_a_conversation_is_of_one_person(caller, secret):
    await caller.says("what?", identity=signed(secret, caller.bot.id))
    for other in ({"email": "eve@example.com"}, {"user_id": "u-8"}):
        answer = await caller.says("hi", identity=signed(secret, caller.bot.id, **other))
        assert (answer.status_code, answer.json()["code"]) == (403, "identity_refused")
    assert (await variables(caller))["verified.email"] == "ada@example.com"


async def test_the_secret_is_sealed(workspace, shop, secret):
    sealed = await db.value("SELECT identity_secret FROM bot WHERE id = $1", shop.id)
    assert secret.encode() not in bytes(sealed)
    for table in ("bot", "event", "audit_entry"):
        assert await db.value(f"SELECT count(*) FROM {table} t WHERE t::text LIKE '%' || $1 || '%'", secret) == 0


BAD = [
    {"signature": "x"}, {"signature": "A" * 64}, {"expires": "soon"}, {"expires": -1}, {"expires": 1.5},
    {"name": "a\nb"}, {"name": "x" * 201}, {"email": "x" * 255}, {"user_id": 7}, {"more": 1},
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
async def test_an_identity_of_another_form_is_told(caller, secret, bad):
    answer = await caller.says("hi", identity=signed(secret, caller.bot.id) | bad)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith("/identity")
    assert await make.kinds() == []
