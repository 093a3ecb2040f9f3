"""Every lie of a provider, or of who comes back from one, is refused by its name, and logged without what it held."""

import time
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from leadwire.delivery.transport import shared
from leadwire.domain.accounts.sso.faults import FAULTS
from leadwire.infrastructure import clock, db
from tests.oidc.lying import (
    CLIENT,
    EC,
    RSA,
    b64,
    jwk,
    leave,
    lying,
    set_up,
    through,
    with_public_key_as_secret,
    without_signature,
)

OTHER = rsa.generate_private_key(65537, 2048)
OTHER_EC = ec.generate_private_key(ec.SECP256R1())
SHORT = rsa.generate_private_key(65537, 1024)
NOW = int(time.time())


@pytest.fixture
async def liar(database):
    async with lying() as made:
        yield made


@pytest.fixture
async def provider(workspace, liar):
    return await set_up(workspace, liar.issuer)


def claims(**told):
    return lambda liar: liar.claims.update(told)


def answers(path, *told):
    return lambda liar: liar.answers.update({path: told})


def metadata(**told):
    return lambda liar: liar.metadata.update(told)


def signed(**attributes):
    def lie(liar):
        for name, value in attributes.items():
            setattr(liar, name, value)

    return lie


def mangled(change):
    return signed(mangle=change)


def with_other_claims(token):
    head, _, tail = token.split(".")
    return f"{head}.{b64({'iss': 'x', 'aud': 'y', 'exp': 1, 'iat': 1})}.{tail}"


LIES = {
    "issuer of the token": ("wrong_token_issuer", claims(iss="https://elsewhere.example")),
    "audience": ("wrong_audience", claims(aud="another-client")),
    "audiences": ("wrong_audience", claims(aud=["another-client", "a-third"])),
    "no audience": ("wrong_audience", claims(aud=[])),
    "no aud": ("malformed_token", claims(aud=None)),
    "azp": ("wrong_party", claims(aud=[CLIENT, "another"], azp="another")),
    "azp alone": ("wrong_party", claims(azp="another")),
    "no azp for two": ("wrong_party", claims(aud=[CLIENT, "another"])),
    "nonce": ("wrong_nonce", claims(nonce="of-another-browser")),
    "nonce that is no ASCII": ("wrong_nonce", claims(nonce="nönce")),
    "no nonce": ("wrong_nonce", claims(nonce=None)),
    "expired": ("expired", claims(exp=NOW - 120)),
    "issued tomorrow": ("not_yet_valid", claims(iat=NOW + 86_400)),
    "issued a year ago": ("expired", claims(iat=NOW - 31_536_000)),
    "issued eleven minutes ago": ("expired", claims(iat=NOW - 660)),
    "valid tomorrow": ("not_yet_valid", claims(nbf=NOW + 86_400)),
    "no iat": ("malformed_token", claims(iat=None)),
    "no exp": ("malformed_token", claims(exp=None)),
    "exp as text": ("malformed_token", claims(exp=str(NOW + 86_400))),
    "no sub": ("malformed_token", claims(sub=None)),
    "sub as number": ("malformed_token", claims(sub=7)),
    "a long sub": ("malformed_token", claims(sub="x" * 256)),
    "NUL in sub": ("malformed_token", claims(sub="a\0b")),
    "NUL in sid": ("malformed_token", claims(sid="a\0b")),
    "half a character in sub": ("malformed_token", claims(sub="\ud800")),
    "alg none": ("wrong_algorithm", mangled(without_signature)),
    "HS256 with the public key": ("wrong_algorithm", mangled(with_public_key_as_secret)),
    "RS512": ("wrong_algorithm", signed(header={"alg": "RS512"})),
    "PS256 said, RS256 done": ("wrong_signature", signed(header={"alg": "PS256"})),
    "ES256 with a key for RSA": ("unknown_key", signed(header={"alg": "ES256"})),
    "another key of that name": ("wrong_signature", signed(key=OTHER)),
    "another ES256 key of that name": ("wrong_signature", signed(alg="ES256", key=OTHER_EC, keys=[jwk(EC, "one")])),
    "its own key in the header": ("wrong_signature", signed(key=OTHER, header={"jwk": jwk(OTHER, "one")})),
    "a key nobody published": ("unknown_key", signed(key=OTHER, kid="two")),
    "no kid, two keys": ("unknown_key", signed(header={"kid": None}, keys=[jwk(RSA, "one"), jwk(OTHER, "two")])),
    "a key of 1024 bits": ("unknown_key", signed(key=SHORT, keys=[jwk(SHORT, "one")])),
    "a key for encryption": ("unknown_key", signed(keys=[jwk(RSA, "one", use="enc")])),
    "a key for another algorithm": ("unknown_key", signed(keys=[jwk(RSA, "one", alg="PS256")])),
    "a logout token": ("wrong_type", signed(header={"typ": "logout+jwt"})),
    "an access token": ("wrong_type", signed(header={"typ": "at+jwt"})),
    "an access token, spelled out": ("wrong_type", signed(header={"typ": "application/AT+JWT"})),
    "a proof of possession": ("wrong_type", signed(header={"typ": "dpop+jwt"})),
    "a security event": ("wrong_type", signed(header={"typ": "secevent+jwt"})),
    "no type at all": ("wrong_type", signed(header={"typ": ""})),
    "a number as type": ("malformed_token", signed(header={"typ": 7})),
    "critical headers": ("wrong_signature", signed(header={"crit": ["exp2"], "exp2": 1})),
    "other claims": ("wrong_signature", mangled(with_other_claims)),
    "cut in the signature": ("wrong_signature", mangled(lambda token: token[:-8])),
    "cut in half": ("malformed_token", mangled(lambda token: token[: len(token) // 2].rpartition(".")[0])),
    "doubled": ("malformed_token", mangled(lambda token: token + token)),
    "doubled with a dot": ("malformed_token", mangled(lambda token: f"{token}.{token}")),
    "no token at all": ("malformed_token", mangled(lambda _: "...")),
    "a header that is no JSON": ("malformed_token", mangled(lambda token: "AAAA" + token)),
    "not ASCII": ("malformed_token", mangled(lambda token: token + "é")),
    "very long": ("malformed_token", claims(more="x" * 40_000)),
    "e-mail not verified": ("email_not_verified", claims(email_verified=False)),
    "e-mail not called verified": ("email_not_verified", claims(email_verified=None)),
    "a foreign domain": ("foreign_domain", claims(email="grace@example.com")),
    "a domain behind ours": ("foreign_domain", claims(email="grace@example.org.example.com")),
    "a domain before ours": ("foreign_domain", claims(email="grace@evil-example.org")),
    "no e-mail": ("no_email", claims(email=None)),
    "two addresses": ("no_email", claims(email="eve@evil.example,grace@example.org")),
    "two @, ours behind the last": ("no_email", claims(email="grace@beta.example@example.org")),
    "two @, ours behind the first": ("no_email", claims(email="grace@example.org@beta.example")),
    "a name before it": ("no_email", claims(email="Grace <grace@example.org>")),
    "a line break": ("no_email", claims(email="grace\r\nBcc: eve@example.org")),
    "another person's userinfo": (
        "wrong_userinfo",
        lambda liar: (claims(email=None)(liar), signed(userinfo={"sub": "eve", "email": "eve@example.org"})(liar)),
    ),
    "an access token that no header has": (
        "malformed_answer",
        signed(access_token="töken", userinfo={"sub": "grace-1"}, claims={"email": None}),
    ),
    "an access token of two lines": (
        "malformed_answer",
        signed(access_token="to\nken", userinfo={"sub": "grace-1"}, claims={"email": None}),
    ),
    "no ID token": ("no_token", answers("/token", 200, {}, {"access_token": "the-access-token"})),
    "an ID token that is none": ("not_json", answers("/token", 200, {}, {"id_token": ["a", "b"]})),
    "code used": ("code_refused", answers("/token", 400, {}, {"error": "invalid_grant"})),
    "secret wrong": ("client_refused", answers("/token", 401, {}, {"error": "invalid_client"})),
    "token endpoint with HTML": ("not_json", answers("/token", 200, {}, b"<html>")),
    "token endpoint elsewhere": ("redirected", answers("/token", 307, {"location": "http://127.0.0.1:1/"}, b"")),
    "configuration elsewhere": (
        "redirected",
        answers("/.well-known/openid-configuration", 302, {"location": "http://169.254.169.254/"}, b""),
    ),
    "configuration missing": ("wrong_status", answers("/.well-known/openid-configuration", 404, {}, b"{}")),
    "configuration empty": ("not_json", answers("/.well-known/openid-configuration", 200, {}, b"{}")),
    "issuer": ("wrong_issuer", metadata(issuer="https://elsewhere.example")),
    "token endpoint inside": ("forbidden_address", metadata(token_endpoint="http://10.0.0.1/token")),
    "keys at the metadata service": ("forbidden_address", metadata(jwks_uri="https://169.254.169.254/keys")),
    "authorization by script": ("forbidden_address", metadata(authorization_endpoint="javascript:alert(1)")),
    "keys without TLS": ("forbidden_address", metadata(jwks_uri="http://login.example.com/keys")),
    "huge keys": ("too_large", answers("/keys", 200, {}, {"keys": [jwk(RSA, f"{n}") for n in range(400)]})),
    "keys packed": ("not_json", answers("/keys", 200, {"content-encoding": "gzip"}, b"\x1f\x8b" + b"x" * 100)),
    "keys that are none": ("not_json", answers("/keys", 200, {}, {"keys": "all of them"})),
    "no keys": ("unknown_key", signed(keys=[{"kty": "oct", "k": "AAAA"}, {"kty": 7}])),
    "keys never come": ("unreachable", lambda liar: liar.answers.update({"/keys": liar.over.wait})),
    "token never comes": ("unreachable", lambda liar: liar.answers.update({"/token": liar.over.wait})),
}


async def refused(answer, fault, caplog):
    """Nobody is signed in, the page says why and what helps, and nothing of it is in the log."""
    assert answer.status_code == 400, (answer.status_code, answer.headers)
    page = answer.text.replace("&#39;", "'")
    assert f"<code>{fault}</code>" in page, page[-400:]
    assert FAULTS[fault].what in page
    assert FAULTS[fault].advice in page
    assert await db.value("SELECT count(*) FROM user_session") == 0
    assert await db.value("SELECT count(*) FROM user_account") == 0
    told = [(one.getMessage(), one.fields) for one in caplog.records if hasattr(one, "fields")]
    told = [fields for event, fields in told if event == "sso.refused"]
    assert told[-1]["fault"] == fault
    text = f"{[one.getMessage() for one in caplog.records]} {told}"
    assert [held for held in ("@", "one-time-code", "eyJ", "the-access-token") if held in text] == []


@pytest.mark.parametrize("name", LIES)
async def test_a_lie_is_refused(name, stranger, provider, liar, caplog, monkeypatch):
    fault, lie = LIES[name]
    if "never" in name:
        monkeypatch.setattr(shared, "PATIENCE", 1.0)
    shared.transport.cache_clear()
    lie(liar)
    begun = await stranger.get(f"/sso/{provider}")
    answer = begun if begun.status_code != 303 else await through(stranger, provider, liar)
    shared.transport.cache_clear()
    await refused(answer, fault, caplog)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"iss": "https://elsewhere.example"}, "mix_up"),
        ({"state": "another"}, "wrong_state"),
        ({"state": "stäte"}, "wrong_state"),
        ({"state": ""}, "wrong_state"),
        ({"code": ""}, "malformed_answer"),
        ({"code": ["c-1", "c-1"]}, "malformed_answer"),
        ({"error": "access_denied", "error_description": "Call +1 555 0100"}, "declined"),
    ],
)
async def test_an_answer_that_is_not_of_this_sign_in(stranger, provider, liar, caplog, answer, fault):
    done = await through(stranger, provider, liar, **answer)
    await refused(done, fault, caplog)
    assert "555 0100" not in done.text


async def test_a_provider_that_promises_its_name_has_to_give_it(stranger, provider, liar, caplog):
    liar.metadata = {"authorization_response_iss_parameter_supported": True}
    await refused(await through(stranger, provider, liar), "mix_up", caplog)
    assert (await through(stranger, provider, liar, iss=liar.issuer)).status_code == 303


async def test_an_answer_of_another_provider_is_a_mix_up_even_without_its_name(
    workspace, stranger, provider, liar, caplog
):
    """An attacker's provider sends the browser on to an honest one, with the state that it was given."""
    honest = await set_up(workspace, liar.issuer, "Honest")
    asked = await leave(stranger, provider)
    done = await stranger.get(f"/sso/{honest}/callback", params={"code": "c-1", "state": asked["state"]})
    await refused(done, "mix_up", caplog)
    assert [path for path, *_ in liar.asked if path == "/token"] == []  # the code went nowhere


async def test_another_browser_cannot_use_the_answer(stranger, provider, liar, caplog):
    asked = await leave(stranger, provider)
    stranger.cookies.clear()
    done = await stranger.get(f"/sso/{provider}/callback", params={"code": "c-1", "state": asked["state"]})
    await refused(done, "too_old", caplog)


@pytest.mark.parametrize("cookie", ["x", "AAAA", "====", "not base64 at all"])
async def test_a_cookie_that_is_not_ours(stranger, provider, liar, caplog, cookie):
    headers = {"Cookie": f"leadwire-sso={cookie}"}
    done = await stranger.get(f"/sso/{provider}/callback?code=c-1&state=s", headers=headers)
    await refused(done, "too_old", caplog)


async def test_an_answer_counts_once_even_with_its_cookie(stranger, provider, liar, caplog):
    asked = await leave(stranger, provider)
    liar.nonce, headers = asked["nonce"], {"Cookie": f"leadwire-sso={stranger.cookies['leadwire-sso']}"}
    query = {"code": "c-1", "state": asked["state"]}
    assert (await stranger.get(f"/sso/{provider}/callback", params=query)).status_code == 303
    stranger.cookies.clear()
    await db.rows("DELETE FROM user_session")
    await db.rows("DELETE FROM user_account")
    done = await stranger.get(f"/sso/{provider}/callback", params=query, headers=headers)
    await refused(done, "replayed", caplog)


async def test_who_takes_too_long_begins_again(stranger, provider, liar, caplog, monkeypatch):
    asked = await leave(stranger, provider)
    later = clock.now() + timedelta(seconds=601)
    monkeypatch.setattr(clock, "now", lambda: later)
    done = await stranger.get(f"/sso/{provider}/callback", params={"code": "c-1", "state": asked["state"]})
    await refused(done, "too_old", caplog)


async def test_an_address_that_was_given_to_somebody_else_opens_no_account(stranger, provider, liar):
    assert (await through(stranger, provider, liar)).status_code == 303
    liar.claims = {"sub": "grace-2"}
    assert "<code>taken</code>" in (await through(stranger, provider, liar)).text


async def test_an_account_elsewhere_is_not_taken_over(agent, database, stranger, liar):
    from leadwire.domain.accounts import changes as accounts

    await db.rows("UPDATE login SET verified_at = now()")
    other = await accounts.create_workspace("Other")
    assert (await through(stranger, await set_up(other, liar.issuer), liar)).status_code == 303
    assert "viewer of Other" in await stranger.open("/account")
    assert await db.value("SELECT count(*) FROM login WHERE verified_at IS NULL") == 1
    assert await db.value("SELECT count(DISTINCT login_id) FROM user_account") == 2


async def test_where_no_accounts_are_made_nobody_new_gets_in(workspace, stranger, liar, caplog):
    provider = await set_up(workspace, liar.issuer, default_role=None)
    await refused(await through(stranger, provider, liar), "no_account", caplog)


async def test_without_a_role_nobody_gets_in(workspace, stranger, liar, caplog):
    provider = await set_up(workspace, liar.issuer, default_role=None, role_claim="groups", roles={"it": "admin"})
    liar.claims = {"groups": ["kitchen"]}
    await refused(await through(stranger, provider, liar), "no_role", caplog)


async def test_only_the_methods_that_are_meant(stranger, provider):
    assert (await stranger.post(f"/sso/{provider}/callback")).status_code == 405
    assert (await stranger.get(f"/sso/{provider}/logout")).status_code == 405
    for nobody in ("idp_nothing", "%00", "%ff", "%0a", "%f0%9f%98%80", "x" * 3000):
        assert (await stranger.get(f"/sso/{nobody}")).status_code == 404


async def test_a_network_may_call_so_often_and_no_more(stranger, provider):
    answers = [(await stranger.get(f"/sso/{provider}/callback")).status_code for _ in range(201)]
    assert answers == [400] * 200 + [429]
