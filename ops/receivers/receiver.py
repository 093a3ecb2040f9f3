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


def verified(secrets: list[str], headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a holder of one of the secrets sent exactly these bytes, less than five minutes ago."""
    event_id, sent, signatures = (headers.get(f"webhook-{name}") or "" for name in ("id", "timestamp", "signature"))
    if not (sent.isascii() and sent.isdigit() and len(sent) <= 12 and abs(time.time() - int(sent)) <= 300):
        return False
    signed = f"{event_id}.{sent}.".encode() + body
    keys = [base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets]
    expected = [b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256")) for key in keys]
    # While a secret is being changed two signatures are given: one must match.
    return any(hmac.compare_digest(given.encode(), one) for given in signatures.split(" ") for one in expected)


def published_keys(url: str) -> list[Ed25519PublicKey]:
    """The keys of an endpoint. Keep them for five minutes."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        found = [base64.urlsafe_b64decode(key["x"] + "=") for key in json.load(answer)["keys"]]
    return [Ed25519PublicKey.from_public_bytes(one) for one in found]


def verified_by_key(keys: list[Ed25519PublicKey], headers: Mapping[str, str], body: bytes) -> bool:
    """Whether the holder of one of the keys sent exactly these bytes, less than five minutes ago."""
    event_id, sent, signatures = (headers.get(f"webhook-{name}") or "" for name in ("id", "timestamp", "signature"))
    if not (sent.isascii() and sent.isdigit() and len(sent) <= 12 and abs(time.time() - int(sent)) <= 300):
        return False
    signed = f"{event_id}.{sent}.".encode() + body
    for given in signatures.split(" "):
        for key in keys if given.startswith("v1a,") else ():  # while a key is changed there are two: one must match
            try:
                key.verify(base64.b64decode(given.removeprefix("v1a,")), signed)
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
