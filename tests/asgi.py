"""The API without a socket. The app is made once: that takes half a second, and thousands of tests ask for it."""

import functools
import itertools
from ipaddress import IPv4Address
from typing import Final

import httpx
from litestar.types import ASGIApp

from leadwire.app import create_app
from leadwire_development import pages

_callers: Final = itertools.count(int(IPv4Address("127.1.0.1")))


@functools.cache
def app() -> ASGIApp:
    """The app under the settings that all tests start from."""
    return create_app(more=pages.MAILBOX)


def transport() -> httpx.ASGITransport:
    """A way to it from an address of its own: what one test has used up of a limit is no other's loss."""
    caller = (str(IPv4Address(next(_callers))), 40_000)
    return httpx.ASGITransport(app(), raise_app_exceptions=False, client=caller)  # type: ignore[arg-type]
