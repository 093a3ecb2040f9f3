"""A receiver of Leadwire's webhooks. Run: SECRET=whsec_... PORT=9000 python receiver.py

With KEYS=https://.../jwks.json instead of SECRET it verifies by what is published there (needs cryptography).
"""

import base64
import functools
import hmac
import json
import os
import time
import urllib.request
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography import exceptions
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def signed_text(headers: Mapping[str, str], body: bytes) -> bytes:
    """What was signed; empty if it is older than five minutes."""
    sent = headers.get("webhook-timestamp") or ""
    fresh = sent.isascii() and sent.isdigit() and len(sent) <= 12 and abs(time.time() - int(sent)) <= 300
    return f"{headers.get('webhook-id')}.{sent}.".encode() + body if fresh else b""


def verified(secrets: list[str], headers: Mapping[str, str], body: bytes) -> bool:
    """Whether one of the secrets signed exactly these bytes."""
    if not (text := signed_text(headers, body)):
        return False
    keys = [base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets]
    keys = [key for key in keys if len(key) >= 24]  # an unset variable is no secret
    expected = [b"v1," + base64.b64encode(hmac.digest(key, text, "sha256")) for key in keys]
    given = (headers.get("webhook-signature") or "").encode().split(b" ")
    return any(hmac.compare_digest(one, other) for one in given for other in expected)


def published_keys(url: str) -> list[Ed25519PublicKey]:
    """The keys of an endpoint. Keep them for five minutes."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        found = [base64.urlsafe_b64decode(key["x"] + "=") for key in json.load(answer)["keys"]]
    return [Ed25519PublicKey.from_public_bytes(one) for one in found]


def verified_by_key(keys: list[Ed25519PublicKey], headers: Mapping[str, str], body: bytes) -> bool:
    """Whether one of the keys signed exactly these bytes."""
    text = signed_text(headers, body)
    for given in (headers.get("webhook-signature") or "").split(" "):
        for key in keys if text and given.startswith("v1a,") else ():
            try:
                key.verify(base64.b64decode(given.removeprefix("v1a,")), text)
            except (exceptions.InvalidSignature, ValueError):
                continue
            return True
    return False


@functools.lru_cache(maxsize=1)
def keys(_five_minutes: float) -> list[Ed25519PublicKey]:
    return published_keys(os.environ["KEYS"])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        if "KEYS" in os.environ:
            genuine = verified_by_key(keys(time.monotonic() // 300), self.headers, body)
        else:
            genuine = verified(os.environ["SECRET"].split(","), self.headers, body)
        self.send_response(204 if genuine else 401)
        self.end_headers()
        if genuine:  # later, and once for each webhook-id: an event may come again
            print(self.headers["webhook-id"], json.loads(body)["event"], flush=True)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
