"""Signatures: published vectors, other people's verifiers, and every way to tamper."""

import base64
import hmac
from contextlib import nullcontext

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook
from svix.webhooks import Webhook as SvixWebhook

from leadwire import __version__
from leadwire.delivery import signing
from leadwire.infrastructure import clock
from leadwire_development import verifying

BODIES = [b'{"event":"lead.created"}', '{"name":"Zoë Müller — 日本"}'.encode(), b"", b"x" * 60_000]

WRONG_BODY = "X-Service-Signature does not match the body"
WRONG_CONTENT = "webhook-signature does not match"
WRONG_TIME = "webhook-timestamp is too far from now: a replay, or a wrong clock"
NO_TIME = "webhook-timestamp is not a number"


def made(body: bytes, secret: str, **more) -> dict[str, str]:
    now = int(clock.now().timestamp())
    values = {"event_id": "evt_1", "staged": None, "at": now, "attempt": 1, "prefix": "X-Service-", **more}
    return dict(signing.headers(body=body, secret=secret, **values))


def test_the_vector_of_the_standard_webhooks_specification():
    headers = dict(
        signing.headers(
            event_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
            body=b'{"test": 2432232314}',
            at=1614265330,
            attempt=1,
            staged=None,
            secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            prefix="X-Service-",
        )
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_all_headers_of_a_plain_delivery():
    made = signing.headers(
        event_id="evt_1", body=b"{}", secret="whsec_AAAA", staged=None, at=7, attempt=2, prefix="X-Acme-"
    )
    assert made == [
        ("content-type", "application/json"),
        ("user-agent", f"Leadwire/{__version__}"),
        ("X-Acme-Signature", "sha256=" + hmac.new(b"whsec_AAAA", b"{}", "sha256").hexdigest()),
        ("webhook-id", "evt_1"),
        ("webhook-timestamp", "7"),
        ("webhook-signature", "v1," + base64.b64encode(hmac.digest(bytes(3), b"evt_1.7.{}", "sha256")).decode()),
        ("X-Acme-Attempt", "2"),
    ]


def test_the_number_of_a_numbered_delivery_comes_last():
    numbered = made(b"{}", signing.new_secret(), sequence=17)
    assert list(numbered.items())[-1] == ("X-Service-Sequence", "17")


def test_the_ordering_key_is_a_header_of_its_own():
    assert made(b"{}", signing.new_secret(), ordering_key="conv_1")["X-Service-Ordering-Key"] == "conv_1"
    assert "X-Service-Ordering-Key" not in made(b"{}", signing.new_secret())


def test_a_secret_is_32_random_bytes():
    secrets = {signing.new_secret() for _ in range(10)}
    assert len(secrets) == 10
    assert {len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) for secret in secrets} == {32}


def test_the_vector_of_githubs_documentation():
    secret, body = "It's a Secret to Everybody", b"Hello, World!"
    expected = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    verifying.verify(body, {"X-Service-Signature": expected}, secret, now=0)
    with pytest.raises(verifying.BadSignature):
        verifying.verify(body + b"!", {"X-Service-Signature": expected}, secret, now=0)


@pytest.mark.parametrize("body", BODIES)
def test_other_peoples_verifiers_accept_us(body):
    secret = signing.new_secret()
    headers = made(body, secret)
    verifying.verify(body, headers, secret, now=int(clock.now().timestamp()))
    if body.startswith(b"{"):
        Webhook(secret).verify(body, headers)
        SvixWebhook(secret).verify(body, headers)


def test_both_secrets_verify_while_one_is_staged():
    old, new, body = signing.new_secret(), signing.new_secret(), b"{}"
    headers = made(body, old, staged=new)
    for secret in (old, new):
        Webhook(secret).verify(body, headers)
        SvixWebhook(secret).verify(body, headers)
    verifying.verify(body, headers, old, now=int(clock.now().timestamp()))
    with pytest.raises(verifying.BadSignature, match="X-Service-Signature"):  # it switches when `new` is promoted
        verifying.verify(body, headers, new, now=int(clock.now().timestamp()))


@given(st.binary(max_size=2000), st.text(st.characters(codec="utf-8", exclude_characters=" ")), st.integers(0, 2**33))
def test_what_is_signed_verifies_for_the_holder_of_the_secret_only(body, event_id, at):
    secret = signing.new_secret()
    headers = made(body, secret, event_id=event_id, at=at)
    verifying.verify(body, headers, secret, now=at)
    with pytest.raises(verifying.BadSignature):
        verifying.verify(body, headers, signing.new_secret(), now=at)


@pytest.mark.parametrize(("off", "accepted"), [(-301, False), (-300, True), (300, True), (301, False)])
def test_the_time_may_be_off_by_the_tolerance_either_way(off, accepted):
    secret, body = signing.new_secret(), b"{}"
    headers = made(body, secret, at=1_000_000)
    with nullcontext() if accepted else pytest.raises(verifying.BadSignature, match="too far"):
        verifying.verify(body, headers, secret, now=1_000_000 + off)


@given(st.binary(max_size=300), st.binary(min_size=1, max_size=20), st.integers(0, 300))
def test_any_change_of_the_body_is_noticed(body, more, place):
    secret = signing.new_secret()
    headers = made(body, secret)
    with pytest.raises(verifying.BadSignature):
        verifying.verify(body[:place] + more + body[place:], headers, secret, now=int(clock.now().timestamp()))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"X-Service-Signature": None}, "X-Service-Signature is missing"),
        ({"X-Service-Signature": "sha256=00"}, WRONG_BODY),
        ({"X-Service-Signature": "é"}, WRONG_BODY),
        ({"X-Service-Signature": "\udcff"}, WRONG_BODY),
        ({"webhook-id": "evt_2"}, WRONG_CONTENT),
        ({"webhook-id": "\udcff"}, WRONG_CONTENT),
        ({"webhook-id": None}, "webhook-id is missing"),
        ({"webhook-timestamp": "1"}, WRONG_TIME),
        ({"webhook-timestamp": "9" * 12}, WRONG_TIME),
        ({"webhook-timestamp": "0" * 13}, NO_TIME),
        ({"webhook-timestamp": "now"}, NO_TIME),
        ({"webhook-timestamp": "1" * 5000}, NO_TIME),
        ({"webhook-timestamp": None}, "webhook-timestamp is missing"),
        ({"webhook-signature": None}, "webhook-signature is missing"),
        ({"webhook-signature": "v1,AAAA"}, WRONG_CONTENT),
        ({"webhook-signature": ""}, WRONG_CONTENT),
    ],
)
def test_every_tampered_header_is_named(change, why):
    secret, body = signing.new_secret(), b"{}"
    headers = {name: value for name, value in {**made(body, secret), **change}.items() if value is not None}
    with pytest.raises(verifying.BadSignature) as refused:
        verifying.verify(body, headers, secret, now=int(clock.now().timestamp()))
    assert str(refused.value) == why


def test_the_key_of_rfc_8032_signs_as_there_and_beside_the_secrets():
    """Its third vector for Ed25519; the message of a webhook is longer."""
    private = base64.b64encode(
        bytes.fromhex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7")
    ).decode()
    public = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"
    assert signing.public_key(private).hex() == public
    assert signing._private(private).sign(bytes.fromhex("af82")).hex() == (
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
    )
    old, new = signing.new_secret(), signing.new_secret()
    plain = made(b"{}", old, staged=new, at=7)
    both = made(b"{}", old, staged=new, at=7, signing_key=private)
    one = both["webhook-signature"].removeprefix(plain["webhook-signature"] + " v1a,")
    Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(base64.b64decode(one), b"evt_1.7.{}")
    assert {**both, "webhook-signature": ""} == {**plain, "webhook-signature": ""}


def test_other_peoples_verifiers_accept_us_beside_a_signature_with_a_key():
    secret, body = signing.new_secret(), b"{}"
    headers = made(body, secret, signing_key=signing.new_signing_key())
    verifying.verify(body, headers, secret, now=int(clock.now().timestamp()))
    Webhook(secret).verify(body, headers)
    SvixWebhook(secret).verify(body, headers)


def test_signatures_are_separated_by_a_space_and_one_of_them_is_enough():
    secret, body, now = signing.new_secret(), b"{}", int(clock.now().timestamp())
    headers = made(body, secret, at=now)
    right = headers["webhook-signature"]
    verifying.verify(body, {**headers, "webhook-signature": f"v1,AAAA {right} v2,x"}, secret, now=now)
    with pytest.raises(verifying.BadSignature):
        verifying.verify(body, {**headers, "webhook-signature": f"v1,AAAA\t{right}"}, secret, now=now)


def test_header_names_are_compared_without_case_and_the_prefix_is_a_setting():
    secret, body = signing.new_secret(), b"{}"
    headers = {name.upper(): value for name, value in made(body, secret, prefix="X-Acme-").items()}
    verifying.verify(body, headers, secret, now=int(clock.now().timestamp()), prefix="X-Acme-")


def test_the_headers_of_a_test_and_a_trace():
    headers = made(b"", signing.new_secret(), test=True, traceparent="00-a", attempt=3)
    assert headers["X-Service-Test"] == "true"
    assert headers["traceparent"] == "00-a"
    assert headers["X-Service-Attempt"] == "3"
