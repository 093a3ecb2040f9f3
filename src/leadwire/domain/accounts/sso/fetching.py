"""Requests to providers. Customers type their addresses, so each goes through the guard that webhooks go through."""

import functools
from typing import Final, TypeVar

import httpx
import msgspec

from leadwire.delivery.transport.addresses import checked
from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.domain.accounts.sso.faults import SignOnRefused
from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import Invalid

T = TypeVar("T")

_PATIENCE: Final = 10.0  # seconds for a whole request
_LARGEST: Final = 65_536  # bytes: where the guard cuts an answer off
_OK: Final = 200
_HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "Leadwire"}


def vetted(url: str) -> str:
    """An address as it may be called: https, unless its host is in LEADWIRE_ALLOWED_NETWORKS. Raise SignOnRefused."""
    try:
        return checked(url, settings.get().allowed_networks)
    except Invalid as refusal:
        raise SignOnRefused("forbidden_address", refusal.detail) from refusal


async def fetch(url: str, model: type[T], form: dict[str, str] | None = None, **headers: str) -> T:
    """The JSON at an address, or that a form is answered with. Raise SignOnRefused."""
    status, body = await answered(url, form, **headers)
    if status != _OK:
        raise SignOnRefused("wrong_status", f"{url} answered {status}")
    return decoded(body, model)


def decoded(body: bytes, model: type[T]) -> T:
    """JSON as a `model`. Raise SignOnRefused."""
    try:
        return msgspec.json.decode(body, type=model)
    except msgspec.MsgspecError as error:
        raise SignOnRefused("not_json", str(error)) from error


async def answered(url: str, form: dict[str, str] | None = None, **headers: str) -> tuple[int, bytes]:
    """The status and body of an answer that is neither a redirect nor too large. Raise SignOnRefused."""
    request = httpx.Request("POST" if form else "GET", vetted(url), data=form, headers={**_HEADERS, **headers})
    try:
        # Not through a client of httpx, which would keep cookies, nor read yet: it would be decompressed.
        answer = await _transport().handle_async_request(request)
        if answer.is_redirect:
            raise SignOnRefused("redirected", f"{url} leads elsewhere")
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise SignOnRefused("not_json", f"{url} answered with a compressed body, which was not asked for")
        body = await answer.aread()
    except httpx.HTTPError as error:
        refused = getattr(error, "outcome", "") == "blocked_address"
        raise SignOnRefused("forbidden_address" if refused else "unreachable", str(error)) from error
    if len(body) >= _LARGEST:
        raise SignOnRefused("too_large", f"{url} answered with 64 KiB or more")
    return answer.status_code, body


@functools.cache  # one a process
def _transport() -> GuardedTransport:
    chosen = settings.get()
    return GuardedTransport(chosen.allowed_networks, timeout=_PATIENCE, proxy=chosen.egress_proxy)
