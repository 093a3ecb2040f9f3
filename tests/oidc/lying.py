"""An OpenID provider that says whatever a test wants, over real HTTP. It signs without the library under test."""

import asyncio
import base64
import hmac
import json
import time
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from leadwire.domain.accounts.sso import changes as sso
from leadwire.domain.accounts.sso import discovery
from tests import make
from tests.serving import on_socket

CLIENT, SECRET, EMAIL = "leadwire-client", "s3cret & more", "grace@example.org"
RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
KEYS = {"RS256": RSA, "PS256": RSA, "ES256": EC, "EdDSA": ED, "Ed25519": ED}


def b64(data):
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def number(value):
    return b64(value.to_bytes((value.bit_length() + 7) // 8))


def jwk(key, kid, **more):
    """The public key as providers publish it."""
    public = key.public_key()
    if isinstance(key, rsa.RSAPrivateKey):
        numbers = public.public_numbers()
        return {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e), "kid": kid, **more}
    if isinstance(key, ec.EllipticCurvePrivateKey):
        numbers = public.public_numbers()
        x, y = (b64(part.to_bytes(32)) for part in (numbers.x, numbers.y))
        return {"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": kid, **more}
    return {"kty": "OKP", "crv": "Ed25519", "x": b64(public.public_bytes(Encoding.Raw, PublicFormat.Raw)), "kid": kid}


def signature(alg, key, data):
    if alg == "RS256":
        return key.sign(data, padding.PKCS1v15(), hashes.SHA256())
    if alg == "PS256":
        return key.sign(data, padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())
    if alg == "ES256":
        r, s = utils.decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32) + s.to_bytes(32)
    return key.sign(data)


def without_signature(token):
    return f"{b64({'alg': 'none'})}.{token.split('.')[1]}."


def with_public_key_as_secret(token):
    start = f"{b64({'alg': 'HS256', 'kid': 'one'})}.{token.split('.')[1]}"
    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return f"{start}.{b64(hmac.digest(pem, start.encode(), 'sha256'))}"


class Lying:
    """Honest, until a test changes one of its attributes."""

    def __init__(self):
        self.alg, self.kid, self.key = "RS256", "one", RSA
        self.keys = [jwk(RSA, "one")]
        self.claims, self.header, self.metadata, self.userinfo = {}, {}, {}, None
        self.nonce, self.access_token = "", "the-access-token"
        self.mangle = lambda token: token
        self.answers = {}
        """Path -> (status, headers, body) instead of the honest answer; or a coroutine function to wait for."""
        self.asked = []
        self.over = asyncio.Event()
        """Set when the test is over: an answer that waits for it never comes."""

    def token(self, **claims):
        """A signed token; what is None in its claims or header is left out."""
        now = int(time.time())
        body = {
            "iss": self.issuer, "aud": CLIENT, "sub": "grace-1", "exp": now + 300, "iat": now, "nonce": self.nonce,
            "email": EMAIL, "email_verified": True, **self.claims, **claims,
        }  # fmt: skip
        told = {name: value for name, value in body.items() if value is not None}
        header = {"alg": self.alg, "kid": self.kid, **self.header}
        start = f"{b64({name: value for name, value in header.items() if value is not None})}.{b64(told)}"
        return self.mangle(f"{start}.{b64(signature(self.alg, self.key, start.encode()))}")

    async def answer(self, scope, receive, send):
        if scope["type"] != "http":
            return
        body = (await receive()).get("body", b"")
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        path = scope["path"].removeprefix("/tenant")
        self.asked.append((path, parse_qs(body.decode()), headers))
        told = self.answers.get(path) or (200, {}, self._honest(path))
        if callable(told):
            told = await told()
            if told is True:
                told = 503, {}, b""
        status, more, content = told
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        listed = [(name.encode(), value.encode()) for name, value in more.items()]
        await send({"type": "http.response.start", "status": status, "headers": listed})
        await send({"type": "http.response.body", "body": content})

    def _honest(self, path):
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize?tenant=1",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                **({"userinfo_endpoint": f"{self.issuer}/me"} if self.userinfo else {}),
                **self.metadata,
            }
        if path == "/token":
            return {"access_token": self.access_token, "token_type": "Bearer", "id_token": self.token()}
        return {"/keys": {"keys": self.keys}, "/me": self.userinfo}.get(path, {})


@asynccontextmanager
async def lying():
    """A provider at an address of its own, inside the block."""
    made = Lying()
    discovery._metadata.clear()
    discovery._published.clear()
    discovery._missed.clear()

    async def app(scope, receive, send):  # a function: of a method uvicorn would think otherwise
        await made.answer(scope, receive, send)

    async with on_socket(app) as address:
        made.issuer = f"{address}/tenant"
        yield made
        made.over.set()


async def set_up(workspace, issuer, name="Acme ID", secret=SECRET, **more):
    """A provider of a workspace; its id."""
    made = await sso.add(workspace, name, issuer)
    given = {
        "name": name, "client_id": CLIENT, "client_secret": secret, "domains": ["example.org"], "trusts_email": False,
        "default_role": "viewer", "role_claim": "", "roles": {},
    }  # fmt: skip
    for domain in (given | more)["domains"]:
        await make.domain(workspace, domain)
    await sso.configure(workspace, made, sso.Setup(**given | more))
    return made


async def leave(browser, provider, query=""):
    """Begin a sign-on. Answers the query that the provider is asked with."""
    left = await browser.get(f"/sso/{provider}{query}")
    assert left.status_code == 303, left.text[-600:]
    return {name: values[0] for name, values in parse_qs(urlsplit(left.headers["Location"]).query).items()}


async def through(browser, provider, liar, query="", **answer):
    """To the provider and back; answers the response."""
    asked = await leave(browser, provider, query)
    liar.nonce = asked["nonce"]
    return await browser.get(
        f"/sso/{provider}/callback", params={"code": "one-time-code", "state": asked["state"], **answer}
    )
