"""What providers publish: their configuration and keys, fetched when needed and used for ten minutes.

Customers type the addresses, so each request goes through the guard that webhooks go through.
"""

import asyncio
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from leadwire.delivery.transport import shared
from leadwire.delivery.transport.addresses import checked
from leadwire.domain.accounts.sso.faults import SignOnRefused
from leadwire.domain.accounts.sso.tokens import Header, Jwk
from leadwire.infrastructure import clock, settings
from leadwire.infrastructure.errors import Invalid
from leadwire.infrastructure.http_client import httpx

T = TypeVar("T")

_LARGEST: Final = 65_536  # bytes: where the guard cuts an answer off
_HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "Leadwire"}
_HOLDS: Final = 600.0  # seconds that what a provider publishes is used
_AGAIN: Final = 60.0  # seconds until its keys are fetched once more for one that is not among them
_MOST: Final = 200  # addresses of each of which something is kept


class Metadata(Struct, frozen=True):
    """What a provider says of itself (OpenID Connect Discovery 1.0)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    id_token_signing_alg_values_supported: list[str] = []
    code_challenge_methods_supported: list[str] | None = None
    authorization_response_iss_parameter_supported: bool = False


class _Keys(Struct):
    keys: list[msgspec.Raw]


_metadata: dict[str, tuple[Metadata, float]] = {}
_published: dict[str, tuple[list[Jwk], float]] = {}
_missed: dict[str, float] = {}  # Unix time at which keys were fetched for one that was not among those we had
_locks: dict[str, asyncio.Lock] = {}


async def metadata(issuer: str, *, anew: bool = False) -> Metadata:
    """What the issuer publishes, at most ten minutes old. Raise SignOnRefused."""
    now = clock.now().timestamp()
    document, at = _metadata.get(issuer, (None, 0.0))
    if anew or document is None or at < now - _HOLDS:
        document = await fetch(issuer.removesuffix("/") + "/.well-known/openid-configuration", Metadata)
        if document.issuer != issuer:
            raise SignOnRefused("wrong_issuer", f"it says {document.issuer}")
        for url in (document.authorization_endpoint, document.token_endpoint, document.jwks_uri):
            vetted(url)
        _keep(_metadata, issuer, (document, now))
    return document


async def key_for(header: Header, jwks_uri: str) -> Jwk:
    """The key that a token is signed with. For one that is not known they are fetched anew, at most once a minute.

    Raise SignOnRefused.
    """
    if jwks_uri not in _locks:
        _keep(_locks, jwks_uri, asyncio.Lock())
    async with _locks[jwks_uri]:
        now = clock.now().timestamp()
        published, at = _published.get(jwks_uri, ([], 0.0))
        fitting = [key for key in published if key.fits(header)]
        stale = at < now - _HOLDS
        if stale or (not fitting and _missed.get(jwks_uri, 0.0) < now - _AGAIN):
            _keep(_published, jwks_uri, ([], now)) if stale else _keep(_missed, jwks_uri, now)  # should it fail
            published = await keys(jwks_uri)
            _keep(_published, jwks_uri, (published, now))
            fitting = [key for key in published if key.fits(header)]
    if len(fitting) != 1 and not (fitting and header.kid):
        raise SignOnRefused("unknown_key")
    return fitting[0]


async def keys(jwks_uri: str) -> list[Jwk]:
    """The keys that a provider publishes now, without those that are not for us. Raise SignOnRefused."""
    usable = []
    for raw in (await fetch(jwks_uri, _Keys)).keys:
        try:
            usable.append(msgspec.json.decode(raw, type=Jwk))
        except msgspec.MsgspecError:
            continue  # of a kind that we do not know
    return usable


def _keep(kept: dict[str, T], key: str, value: T) -> None:
    if len(kept) >= _MOST:
        kept.clear()
    kept[key] = value


def vetted(url: str) -> str:
    """An address as it may be called: https, unless its host is in LEADWIRE_ALLOWED_NETWORKS. Raise SignOnRefused."""
    try:
        return checked(url, settings.get().allowed_networks)
    except Invalid as refusal:
        raise SignOnRefused("forbidden_address", refusal.detail) from refusal


async def fetch(url: str, model: type[T], form: dict[str, str] | None = None, **headers: str) -> T:
    """The JSON at an address, or that a form is answered with. Raise SignOnRefused."""
    status, body = await answered(url, form, **headers)
    if status != 200:
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
        answer = await shared.transport().handle_async_request(request)
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
