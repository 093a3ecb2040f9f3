"""`python -m leadwire_client TARGET --url URL`: bring an endpoint's deliveries to a program on this machine.

The endpoint is one whose receiver fetches (`pull:NAME`). Each delivery is sent on to TARGET with the body and headers
that a webhook would have. What TARGET answers counts: after anything but a 2xx status it comes again. With --since it
begins with what has happened in that time; with --resend it has one event sent again, and ends if there is no TARGET.
"""

import argparse
import asyncio
import os
import re
import sys
import time
from datetime import UTC, datetime
from typing import Final

from leadwire_client.errors import LeadwireError
from leadwire_client.http_client import httpx
from leadwire_client.receiver import AsyncReceiver, Delivery

_WITHIN: Final = 25.0  # seconds, less than a delivery may take
_OF_THE_CONNECTION: Final = frozenset({
    "host", "content-length", "connection", "transfer-encoding", "accept-encoding", "keep-alive", "upgrade",
})  # fmt: skip


def main() -> None:
    """Exit 1 where going on is no use: a token that is not known, a wrong secret."""
    parser = argparse.ArgumentParser(prog="python -m leadwire_client", description=__doc__)
    parser.add_argument(
        "target", type=_address, nargs="?", help="your program's address, such as http://localhost:3000/hooks"
    )
    parser.add_argument("--url", type=_address, required=True, help="Leadwire's, such as https://leads.example.com")
    parser.add_argument("--token", default=os.environ.get("LEADWIRE_TOKEN"), help="the endpoint's (or LEADWIRE_TOKEN)")
    parser.add_argument("--secret", default=os.environ.get("SECRET"), help="the endpoint's, whsec_... (or SECRET)")
    parser.add_argument("--since", type=_span, help="begin with the events of this time, such as 2h, 30m or 1d")
    parser.add_argument("--resend", metavar="EVENT", help="have this event sent again, evt_...")
    options = parser.parse_args()
    if not (options.target or options.resend):
        parser.error("give a TARGET, or --resend")
    if not options.token:
        parser.error("the endpoint's token is needed: --token or LEADWIRE_TOKEN")
    if options.target and not options.secret:
        parser.error("what comes is checked with the endpoint's secret: --secret or SECRET")
    try:
        asyncio.run(bring(options))
    except KeyboardInterrupt:
        sys.exit(130)
    except LeadwireError as error:
        sys.exit(f"{type(error).__name__}: {error}")


def _address(text: str) -> str:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise ValueError(text) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(text)
    return text


def _span(text: str) -> int:
    """Seconds."""
    found = re.fullmatch("([0-9]{1,4})([smhd])", text)
    if not found:
        raise ValueError(text)
    return int(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86_400}[found[2]]


async def bring(options: argparse.Namespace) -> None:
    """Have sent again what is asked for, then send deliveries on, without end. Raise what `AsyncReceiver` raises."""
    async with AsyncReceiver(options.token, options.url, options.secret or "") as own:
        if options.resend:
            await own.redrive(options.resend)
            print(f"{options.resend} is sent again", flush=True)
        if options.since:
            asked = await own.redrive(since=datetime.fromtimestamp(time.time() - options.since, UTC))
            print(f"{asked.total} events since then are sent again", flush=True)
        if options.target:
            await _forward(options.target, options.url, own)


async def _forward(target: str, url: str, own: AsyncReceiver) -> None:
    async with httpx.AsyncClient(timeout=_WITHIN, trust_env=False) as program:
        print(f"bringing deliveries of {url} to {target}", flush=True)
        async for one in own.deliveries():
            said = await _sent_on(program, target, one)
            print(f"{one.event.kind:<21} {one.event.id}  {said}", flush=True)


async def _sent_on(program: httpx.AsyncClient, target: str, one: Delivery) -> str:
    headers = {name: value for name, value in one.headers.items() if name not in _OF_THE_CONNECTION}
    try:
        async with program.stream("POST", target, content=one.body, headers=headers) as answer:
            pass  # its body is ignored, whatever it is
    except httpx.TransportError as error:
        return f"no answer ({type(error).__name__}), comes again"
    if not answer.is_success:
        return f"answered {answer.status_code}, comes again"
    in_time = await one.acknowledge()
    return f"answered {answer.status_code}" + ("" if in_time else ", too late: comes again")


if __name__ == "__main__":
    main()
