"""A device that keeps passkeys, in software, and that can be told to lie."""

import json
import os
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

PRESENT, VERIFIED, KEY = 0x01, 0x04, 0x40


def text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def raw(of: str) -> bytes:
    return urlsafe_b64decode(of + "=" * (-len(of) % 4))


class Device:
    """One passkey. What it says of itself can be set before each use."""

    def __init__(self, origin: str) -> None:
        self.origin, self.host = origin, origin.partition("://")[2].partition(":")[0]
        self.id, self.user, self.count, self.flags = os.urandom(16), b"", 0, PRESENT | VERIFIED
        self.client = {}
        """What clientDataJSON says beside its type, challenge and origin."""
        self._key = ec.generate_private_key(ec.SECP256R1())

    def make(self, options: str) -> str:
        """What `navigator.credentials.create` returns, as JSON."""
        asked = json.loads(options)
        self.user = raw(asked["user"]["id"])
        point = self._key.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32), -3: point.y.to_bytes(32)}
        attested = bytes(16) + struct.pack(">H", len(self.id)) + self.id + cbor2.dumps(public)
        made = {"fmt": "none", "attStmt": {}, "authData": self._said(KEY) + attested}
        client = self._client("webauthn.create", asked["challenge"])
        response = {"attestationObject": text(cbor2.dumps(made)), "transports": ["internal"]}
        return self._credential({**response, "clientDataJSON": text(client)})

    def answer(self, options: str, kind: str = "webauthn.get") -> str:
        """What `navigator.credentials.get` returns, as JSON."""
        client, said = self._client(kind, json.loads(options)["challenge"]), self._said()
        signature = self._key.sign(said + sha256(client).digest(), ec.ECDSA(SHA256()))
        response = {"authenticatorData": text(said), "signature": text(signature), "userHandle": text(self.user)}
        return self._credential({**response, "clientDataJSON": text(client)})

    def _said(self, more: int = 0) -> bytes:
        return sha256(self.host.encode()).digest() + bytes([self.flags | more]) + struct.pack(">I", self.count)

    def _client(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin, **self.client}).encode()

    def _credential(self, response: dict) -> str:
        return json.dumps({"id": text(self.id), "rawId": text(self.id), "type": "public-key", "response": response})
