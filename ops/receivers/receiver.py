"""A receiver of Leadwire's webhooks. Run: SECRET=whsec_... PORT=9000 python receiver.py"""

import base64
import hmac
import json
import os
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        genuine = verified(os.environ["SECRET"].split(","), self.headers, body)
        self.send_response(204 if genuine else 401)
        self.end_headers()
        if genuine:  # later, and once for each webhook-id: an event may come again
            print(self.headers["webhook-id"], json.loads(body)["event"], flush=True)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
