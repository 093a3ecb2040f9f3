"""The authorization code flow (OpenID Connect Core 1.0), with PKCE, state and nonce bound to one browser.

What has to be remembered between leaving for the provider and coming back is sealed in a cookie: nothing is stored for
whoever never comes back.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

import msgspec
from msgspec import Struct, structs

from leadwire.domain.accounts import tickets
from leadwire.domain.accounts.sso import discovery, tokens
from leadwire.domain.accounts.sso.discovery import Metadata
from leadwire.domain.accounts.sso.faults import SignOnRefused
from leadwire.domain.accounts.sso.reads import Provider
from leadwire.domain.accounts.sso.tokens import SKEW, Claims
from leadwire.domain.accounts.table import IdentityProvider
from leadwire.infrastructure import clock, secret_box

PATIENCE: Final = 600
"""Seconds that signing in at the provider may take."""

_LONGEST_WAY: Final = 1000  # characters, as JSON: a cookie has 4096
_BASIC, _POST = "client_secret_basic", "client_secret_post"


class Flow(Struct, frozen=True):
    """A sign-on under way."""

    state: str
    nonce: str
    verifier: str
    onward: str
    """Where the browser goes afterwards."""
    session: str
    """The session whose person has to sign in anew; empty where a session is to begin."""
    begun_at: float
    """Unix time."""


class _Answer(Struct, frozen=True):
    id_token: str = ""
    access_token: str = ""
    error: str = ""


async def begin(provider: Provider, callback: str, onward: str, session: str = "") -> tuple[str, str]:
    """Return the address that the browser goes to, and the text of its cookie. Raise SignOnRefused."""
    if provider.client_secret is None:
        raise SignOnRefused("not_set_up")
    metadata = await discovery.metadata(provider.issuer)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    onward = onward if len(msgspec.json.encode(onward)) <= _LONGEST_WAY else "/"
    flow = Flow(state, nonce, verifier, onward, session, clock.now().timestamp())
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code", "response_mode": "query", "scope": "openid email profile",
        "client_id": provider.client_id, "redirect_uri": callback, "state": state, "nonce": nonce,
        "code_challenge": challenge, "code_challenge_method": "S256",
    }  # fmt: skip
    if session:
        query |= {"prompt": "login", "max_age": "0"}
    address = discovery.vetted(metadata.authorization_endpoint)
    cookie = tickets.sealed("sso", provider.id, msgspec.json.encode(flow).decode(), PATIENCE)
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}", cookie


def opened(cookie: str | None, provider_id: str, state: str) -> Flow:
    """The flow of this browser that an answer belongs to. Raise SignOnRefused."""
    begun_with, text = tickets.opened("sso", cookie or "")
    if not text:
        raise SignOnRefused("too_old")
    if begun_with != provider_id:  # each has a callback address of its own
        raise SignOnRefused("mix_up")
    flow = msgspec.json.decode(text, type=Flow)
    if not hmac.compare_digest(flow.state.encode(), state.encode()):
        raise SignOnRefused("wrong_state")
    return flow


async def finish(provider: Provider, flow: Flow, callback: str, query: Mapping[str, str]) -> Claims:
    """What the provider says of who came back, once all of it is checked. Raise SignOnRefused."""
    metadata = await discovery.metadata(provider.issuer)
    said_by = query.get("iss")  # RFC 9207
    if said_by != provider.issuer and (said_by is not None or metadata.authorization_response_iss_parameter_supported):
        raise SignOnRefused("mix_up")
    if "error" in query or not query.get("code"):
        raise SignOnRefused("declined" if "error" in query else "malformed_answer", query.get("error", "no code"))
    answer = await _redeem(provider, metadata, query["code"], flow.verifier, callback)
    if not answer.id_token:
        raise SignOnRefused("no_token")
    claims = await verified(provider, metadata, answer.id_token)
    if claims.nonce is None or not hmac.compare_digest(claims.nonce.encode(), flow.nonce.encode()):
        raise SignOnRefused("wrong_nonce")
    if not claims.sub:
        raise SignOnRefused("malformed_token", "no sub")
    if flow.session and (claims.auth_time is None or claims.auth_time < flow.begun_at - SKEW):
        raise SignOnRefused("not_anew")
    lacks = not claims.email or (provider.role_claim and values_of(claims, provider.role_claim) is None)
    return await _completed(claims, metadata, answer.access_token) if lacks and metadata.userinfo_endpoint else claims


async def verified(provider: Provider, metadata: Metadata, token: str, kind: str = "jwt") -> Claims:
    """What a token claims that this provider issued for us and that is valid now. Raise SignOnRefused.

    Not every provider names the type of its tokens; one that does must name this `kind` (RFC 8725 section 3.11).
    """
    header = tokens.header_of(token)
    if header.kind not in ("jwt", kind):
        raise SignOnRefused("wrong_type", header.typ)
    claims = tokens.claims_of(token, await discovery.key_for(header, metadata.jwks_uri))
    tokens.check(claims, provider.issuer, provider.client_id, clock.now().timestamp())
    return claims


def values_of(claims: Claims, name: str) -> list[str] | None:
    """The texts that a claim has; None where it is absent. `realm_access.roles` is also looked for as it is nested."""
    value: Any = claims.every.get(name)
    if value is None:
        value = claims.every
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return None
    return [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]


async def tried_client(provider: Provider, metadata: Metadata, callback: str) -> None:
    """Find out whether the provider knows our client id and secret, by a code of no one. Raise SignOnRefused."""
    try:
        await _redeem(provider, metadata, "test", secrets.token_urlsafe(32), callback)
    except SignOnRefused as refusal:
        if refusal.fault != "code_refused":
            raise


async def _redeem(provider: Provider, metadata: Metadata, code: str, verifier: str, callback: str) -> _Answer:
    """What a code is exchanged for. Raise SignOnRefused."""
    at = secret_box.place(IdentityProvider.client_secret, provider.id)
    secret = secret_box.get().open(provider.client_secret or b"", at)
    form = {
        "grant_type": "authorization_code", "code": code, "redirect_uri": callback, "code_verifier": verifier,
    }  # fmt: skip
    headers = {}
    methods = metadata.token_endpoint_auth_methods_supported
    if _POST in methods and _BASIC not in methods:
        form |= {"client_id": provider.client_id, "client_secret": secret}
    else:  # RFC 6749 section 2.3.1
        both = f"{quote_plus(provider.client_id)}:{quote_plus(secret)}"
        headers["Authorization"] = f"Basic {base64.b64encode(both.encode()).decode()}"
    status, body = await discovery.answered(metadata.token_endpoint, form, **headers)
    answer = discovery.decoded(body, _Answer)
    if status != 200 or answer.error:
        named = answer.error or f"status {status}"
        refused = answer.error in ("invalid_client", "unauthorized_client")
        raise SignOnRefused("client_refused" if refused else "code_refused", named)
    return answer


async def _completed(claims: Claims, metadata: Metadata, access_token: str) -> Claims:
    """With what the provider tells beside the token. Raise SignOnRefused."""
    if not (access_token.isascii() and access_token.isprintable()):  # RFC 6749 appendix A.12
        raise SignOnRefused("malformed_answer", "its access token cannot be sent")
    bearer = f"Bearer {access_token}"
    more = await discovery.fetch(metadata.userinfo_endpoint, dict[str, Any], Authorization=bearer)
    if more.get("sub") != claims.sub:
        raise SignOnRefused("wrong_userinfo")
    email, verified_ = more.get("email"), more.get("email_verified")
    named = {"email": email, "email_verified": verified_ in (True, "true")} if isinstance(email, str) else {}
    return structs.replace(claims, every={**more, **claims.every}, **({} if claims.email else named))
