"""A receiver that fetches: it verifies what it is handed, acknowledges most of it, and lets some expire."""

import asyncio
import time
import zlib
from typing import Any, Final

import httpx
import msgspec

from leadwire_development import verifying
from ops.chaos import payload
from ops.chaos.customer import Customer
from ops.chaos.journal import SILENCE, answer_of
from ops.chaos.records import FETCHED, Post

_PREFIX: Final = "x-service-"
_UNREADABLE: Final = payload.EventKey("", "", None)
_REST: Final = 0.2  # seconds after a request that failed


class Puller:
    """`posts` is what it has got: acknowledged (204), or not."""

    def __init__(self, customer: Customer) -> None:
        self.posts: list[Post] = []
        self._customer = customer
        self._token = customer.tokens[FETCHED]
        self._secret = customer.secrets[FETCHED]

    async def run(self, stop: asyncio.Event) -> None:
        """Fetch until `stop` is set. An answer that gets lost is as good as a receiver that has died."""
        while not stop.is_set():
            try:
                answer = await self._customer.once("POST", "/receiver/v1/fetch?limit=20&wait=1", self._token)
                answer.raise_for_status()
            except httpx.HTTPError:
                await asyncio.sleep(_REST)
                continue
            at, batch = time.time(), answer.json()["data"]
            posts = [self._read(one, at) for one in batch["deliveries"]]
            self.posts += await self._acknowledge(batch["lease"], posts)

    async def _acknowledge(self, lease: str, posts: list[Post]) -> list[Post]:
        """Acknowledge those that are to be; return all of them with what came of it."""
        wanted = [post.event_id for post in posts if post.answer != SILENCE]
        known: set[str] = set()
        if wanted:
            body = {"lease": lease, "ids": wanted}
            answer = await self._customer.ask("POST", "/receiver/v1/acknowledge", self._token, json=body)
            known = set(answer.json()["data"]["acknowledged"])
        held = time.time() - posts[0].at if posts else 0.0
        good = [204 if post.event_id in known else SILENCE for post in posts]
        return [
            msgspec.structs.replace(post, held=held, answer=answer) for post, answer in zip(posts, good, strict=True)
        ]

    def _read(self, delivery: dict[str, Any], at: float) -> Post:
        body = delivery["body"].encode()
        headers = {name.lower(): value for name, value in delivery["headers"].items()}
        event, event_id = _UNREADABLE, headers["webhook-id"]
        try:
            verifying.verify(body, headers, self._secret, now=int(at))
            event = payload.read(body)
            verified = True
        except ValueError:  # also of what has no body any more, because its person was erased
            verified = False
        attempt = int(headers[f"{_PREFIX}attempt"])
        failing, _ = answer_of("flaky", event_id, attempt)
        return Post(
            at=at,
            endpoint=FETCHED,
            sender=FETCHED,
            event_id=event_id,
            attempt=attempt,
            kind=event.kind,
            subject=event.subject,
            number=event.number,
            verified=verified,
            digest=zlib.crc32(body),
            answer=204 if failing == 204 else SILENCE,
            held=0.0,
            sequence=int(headers.get(f"{_PREFIX}sequence", "0")) or None,
        )
