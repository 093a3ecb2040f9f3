"""`verify` with public keys: those that are given, and those that are fetched from a real server of Leadwire."""

import asyncio
import base64
import hmac
import json
import time
from types import SimpleNamespace

import pytest

from leadwire.delivery import signing
from leadwire.domain.webhooks import changes, reads, rotation, signing_keys
from leadwire.domain.webhooks.schema import PUBLISHED_BEFORE, EndpointChange
from leadwire.infrastructure import clock
from leadwire_client import (
    AsyncPublicKeys,
    InvalidSignature,
    PublicKeys,
    StaleSignature,
    Unreachable,
    public_keys,
    verify,
)
from tests import asgi
from tests.client.test_verify import NOW, SECRET, _body
from tests.serving import on_socket

PRIVATE, OTHER = (signing.new_signing_key() for _ in range(2))


def _public(private: str) -> str:
    return f"whpk_{base64.b64encode(signing.public_key(private)).decode()}"


def _signed(body: bytes, private: str = PRIVATE, at: int = NOW) -> dict[str, str]:
    about = {"event_id": "evt_1", "body": body, "secret": SECRET, "staged": None, "at": at, "attempt": 1}
    return dict(signing.headers(**about, prefix="X-Service-", signing_key=private))


def test_a_public_key_verifies_what_its_private_key_signed_alone():
    body = _body()
    headers = _signed(body)
    for keys in (_public(PRIVATE), [_public(OTHER), _public(PRIVATE)], [SECRET, _public(OTHER)]):
        assert verify(body, headers, keys, now=NOW).kind == "lead.created"
    v1, v1a = headers["webhook-signature"].split(" ")
    for changed in (
        {"webhook-signature": v1}, {"webhook-signature": v1a.replace("v1a,", "v1,")}, {"webhook-signature": v1a[:-3]},
        {"webhook-signature": "v1a,"}, {"webhook-signature": "v1a,é"}, {"webhook-signature": "v1a,\udcff"},
        {"webhook-id": "evt_2"}, {"webhook-timestamp": str(NOW + 1)},
    ):  # fmt: skip
        with pytest.raises(InvalidSignature):
            verify(body, headers | changed, _public(PRIVATE), now=NOW)
    with pytest.raises(InvalidSignature):
        verify(body + b" ", headers, _public(PRIVATE), now=NOW)
    with pytest.raises(InvalidSignature):
        verify(body, _signed(body, OTHER), _public(PRIVATE), now=NOW)
    with pytest.raises(StaleSignature):
        verify(body, headers, _public(PRIVATE), now=NOW + 301)


def test_a_public_key_is_nobodys_secret():
    """Who knows it can make an HMAC with it, which proves nothing."""
    body = _body()
    digest = hmac.digest(signing.public_key(PRIVATE), b"evt_1.%d.%s" % (NOW, body), "sha256")
    forged = _signed(body) | {"webhook-signature": f"v1,{base64.b64encode(digest).decode()}"}
    with pytest.raises(InvalidSignature):
        verify(body, forged, _public(PRIVATE), now=NOW)


@pytest.mark.parametrize("key", ["whpk_", "whpk_AAAA", "whpk_é", f"whpk_{'A' * 44}"])
def test_what_cannot_be_a_public_key_is_said(key):
    with pytest.raises(ValueError, match="key"):
        verify(b"", {}, key)


class Set:
    """A server of keys, with answers to choose."""

    def __init__(self, *private: str) -> None:
        self.status, self.asked = 200, 0
        self.keys(*private)

    def keys(self, *private: str) -> None:
        made = [{"kty": "OKP", "crv": "Ed25519", "x": _public(one)[5:-1].translate(str.maketrans("+/", "-_"))}
                for one in private]  # fmt: skip
        self.body = json.dumps({"keys": [*made, {"kty": "RSA", "n": "x", "e": "AQAB"}]}).encode()

    async def __call__(self, scope, receive, send) -> None:
        self.asked += 1
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        await send({"type": "http.response.body", "body": self.body})


@pytest.fixture(params=[PublicKeys, AsyncPublicKeys])
async def kept(request, monkeypatch):
    """A server, what asks it for its keys, and a clock to be set."""
    now = [1000.0]
    monkeypatch.setattr(public_keys, "time", SimpleNamespace(monotonic=lambda: now[0]))
    served = Set(PRIVATE)
    async with on_socket(served) as address:
        keys = request.param(f"{address}/jwks.json")

        async def current():
            if isinstance(keys, AsyncPublicKeys):
                return await keys.current()
            return await asyncio.to_thread(keys.current)

        yield served, current, now


async def test_keys_are_kept_for_five_minutes(kept):
    served, current, now = kept
    assert [await current() for _ in range(3)] == [[_public(PRIVATE)]] * 3
    served.keys(PRIVATE, OTHER)
    now[0] += 299
    assert (await current(), served.asked) == ([_public(PRIVATE)], 1)
    now[0] += 1
    assert (await current(), served.asked) == ([_public(PRIVATE), _public(OTHER)], 2)


@pytest.mark.parametrize(("status", "body"), [(500, b""), (200, b"{"), (200, b'{"keys": 1}'), (403, b"")])
async def test_known_keys_count_for_a_day_without_a_response(kept, status, body):
    served, current, now = kept
    await current()
    served.status, served.body = status, body
    now[0] += 300
    assert [await current() for _ in range(2)] == [[_public(PRIVATE)]] * 2
    assert served.asked == 2, "a server in need is asked again after a while"
    now[0] += 86_400
    with pytest.raises(Unreachable, match="does not tell any key"):
        await current()
    served.status = 200
    served.keys(OTHER)
    now[0] += 10
    assert await current() == [_public(OTHER)]


async def test_an_endpoint_without_keys_has_none(kept):
    served, current, now = kept
    await current()
    served.status = 404
    now[0] += 300
    with pytest.raises(Unreachable):
        await current()


async def test_leadwires_own_keys_are_fetched_also_while_one_is_replaced(workspace, monkeypatch):
    made = await changes.create(workspace, "https://crm.example.com/", ["lead.created"])
    await changes.configure(workspace, made.id, EndpointChange(ed25519=True))
    async with on_socket(asgi.app()) as address:
        keys = AsyncPublicKeys(f"{address}/.well-known/leadwire/{made.id}/jwks.json")
        old = (await rotation.signers(workspace, made.id))[2]
        await signing_keys.stage(workspace, made.id)
        present = await keys.current()
        assert present == [one.text for one in (await reads.endpoint(workspace, made.id)).public_keys]
        with clock.at(clock.now() + PUBLISHED_BEFORE):
            await signing_keys.promote(workspace, made.id)
        new = (await rotation.signers(workspace, made.id))[2]
        body = _body()
        for private in (old, new):
            assert verify(body, _signed(body, private, int(time.time())), present).id == "evt_1"
