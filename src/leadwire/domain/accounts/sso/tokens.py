"""What a provider signs: the form of a token, its signature, and what it claims. Pure."""

import binascii
from base64 import urlsafe_b64decode
from typing import Any, Final

import msgspec
from joserfc import jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey
from msgspec import Struct

from leadwire.domain.accounts.sso.faults import SignOnRefused

SKEW: Final = 60
"""Seconds that a provider's clock may be off."""
OLDEST: Final = 600
"""Seconds after which a token does not count any more, however long it says that it is valid."""
ALGORITHMS: Final = {
    "RS256": ("RSA", None),
    "PS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
    "Ed25519": ("OKP", "Ed25519"),
}
"""The type of key, and the curve, that each takes. What else a token names is refused before a key is looked for."""

_LOGOUT: Final = "http://schemas.openid.net/event/backchannel-logout"
_LONGEST: Final = 32_768  # characters
_LONGEST_NAME: Final = 255  # characters of a `sub`
_SHORTEST_RSA: Final = 342  # characters of a modulus of 2048 bits
_PUBLIC: Final[dict[str, tuple[type[Key], str]]] = {
    "RSA": (RSAKey, "kty n e"), "EC": (ECKey, "kty crv x y"), "OKP": (OKPKey, "kty crv x"),
}  # fmt: skip


class Jwk(Struct, frozen=True):
    """A key as a provider publishes it; of its members, those that a signature is verified with."""

    kty: str
    kid: str | None = None
    use: str = "sig"
    alg: str | None = None
    crv: str | None = None
    n: str = ""
    e: str = ""
    x: str = ""
    y: str = ""

    def fits(self, header: "Header") -> bool:
        """Whether a token with this header may be signed with it."""
        strong = self.kty != "RSA" or len(self.n) >= _SHORTEST_RSA
        named = header.kid in (None, self.kid) and self.alg in (None, header.alg) and self.use == "sig"
        return named and strong and (self.kty, self.crv) == ALGORITHMS[header.alg]


class Header(Struct, frozen=True):
    """What a token says of its signature. Nobody has verified it."""

    alg: str
    kid: str | None = None
    typ: str = "JWT"

    @property
    def kind(self) -> str:
        """The type in lower case, without the `application/` that may be before it (RFC 7515 section 4.1.9)."""
        return self.typ.lower().removeprefix("application/")


class Claims(Struct, frozen=True):
    """What a provider claims. `email_verified` is a text at some of them."""

    iss: str
    aud: str | list[str]
    exp: float
    iat: float
    sub: str = ""
    nbf: float = 0
    azp: str | None = None
    nonce: str | None = None
    auth_time: float | None = None
    sid: str = ""
    jti: str = ""
    events: dict[str, Any] = {}
    email: str | None = None
    email_verified: bool | str = False
    every: dict[str, Any] = {}
    """All of them, by name."""

    @property
    def email_is_verified(self) -> bool:
        """Whether the provider says so."""
        return self.email_verified in (True, "true")


class _Allowed(jws.JWSRegistry):
    """Our algorithms and no other; without the library's warning that EdDSA has got a new name."""

    def get_alg(self, name: str) -> Any:
        if name not in ALGORITHMS:
            raise UnsupportedAlgorithmError(name)
        return self.algorithms[name]


_REGISTRY: Final = _Allowed(strict_check_header=False)


def header_of(token: str) -> Header:
    """Raise SignOnRefused for what is not one compact token, or is signed with none of our algorithms."""
    first, *rest = token.split(".")
    if len(rest) != 2 or len(token) > _LONGEST or not token.isascii():
        raise SignOnRefused("malformed_token", f"{len(rest) + 1} parts, {len(token)} characters")
    try:
        header = msgspec.json.decode(urlsafe_b64decode(first + "=" * (-len(first) % 4)), type=Header)
    except (msgspec.MsgspecError, binascii.Error, ValueError) as error:
        raise SignOnRefused("malformed_token", "its header cannot be read") from error
    if header.alg not in ALGORITHMS:
        raise SignOnRefused("wrong_algorithm", header.alg)
    return header


def claims_of(token: str, key: Jwk) -> Claims:
    """What a token claims, once its signature is verified. Raise SignOnRefused."""
    kind, members = _PUBLIC[key.kty]
    try:
        public = kind.import_key({name: getattr(key, name) for name in members.split()})
        body = jws.deserialize_compact(token, public, registry=_REGISTRY).payload
    except (JoseError, ValueError, TypeError) as error:
        raise SignOnRefused("wrong_signature", type(error).__name__) from error
    try:
        every = msgspec.json.decode(body or b"", type=dict[str, Any])
        return msgspec.convert({**every, "every": every}, Claims)
    except msgspec.MsgspecError as error:
        raise SignOnRefused("malformed_token", str(error)) from error


def check(claims: Claims, issuer: str, client_id: str, now: float) -> None:
    """Raise SignOnRefused unless a token was issued by this issuer, for this client, and is valid now (Unix time)."""
    audience = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    faults = {
        "wrong_token_issuer": claims.iss != issuer,
        "wrong_audience": client_id not in audience,
        "wrong_party": claims.azp != client_id if claims.azp is not None else len(audience) > 1,
        "malformed_token": any(
            len(text) > _LONGEST_NAME or not text.isprintable() for text in (claims.sub, claims.sid)
        ),
        "expired": claims.exp <= now - SKEW or claims.iat < now - OLDEST,
        "not_yet_valid": max(claims.iat, claims.nbf) > now + SKEW,
    }
    for fault, present in faults.items():
        if present:
            raise SignOnRefused(fault)


def check_logout(claims: Claims) -> None:
    """Raise SignOnRefused for what is no logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6)."""
    told = isinstance(claims.events.get(_LOGOUT), dict)
    if not told or claims.nonce is not None or not claims.jti or not (claims.sid or claims.sub):
        raise SignOnRefused("no_logout")
