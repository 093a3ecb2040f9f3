"""A provider tried out for an admin: what is right and what is wrong, step by step."""

from collections.abc import Awaitable
from typing import Final, TypeVar

from msgspec import Struct

from leadwire.domain.accounts.sso import discovery, flow
from leadwire.domain.accounts.sso.discovery import Metadata
from leadwire.domain.accounts.sso.faults import SignOnRefused
from leadwire.domain.accounts.sso.reads import Provider
from leadwire.domain.accounts.sso.tokens import ALGORITHMS

T = TypeVar("T")

_ADVICE: Final = {
    "unreachable": "Open the issuer with /.well-known/openid-configuration behind it in a browser.",
    "wrong_status": "Open the issuer with /.well-known/openid-configuration behind it in a browser.",
    "wrong_issuer": "Enter the issuer letter for letter as the provider writes it, with or without a slash at its end.",
    "forbidden_address": "It has to be https and public, or in a network that the operator allows.",
    "client_refused": "Copy client id and secret once more. The secret may have expired.",
}


class Check(Struct, frozen=True):
    """A step: what was looked at, and what is wrong with it, or an empty text."""

    name: str
    fault: str = ""
    advice: str = ""


async def run(provider: Provider, callback: str) -> list[Check]:
    """Try a provider out, up to the first step that fails. Nobody is signed in."""
    done: list[Check] = []
    try:
        metadata = await _step(done, "Its configuration", discovery.metadata(provider.issuer, anew=True))
        await _step(done, "Its keys", _usable_keys(metadata))
        if metadata.code_challenge_methods_supported is not None:
            supported = "S256" in metadata.code_challenge_methods_supported
            done.append(Check("PKCE", "" if supported else "The provider does not know S256.", "Switch PKCE on there."))
        if provider.client_secret:
            await _step(done, "Client id and secret", flow.tried_client(provider, metadata, callback))
    except SignOnRefused:
        pass
    return done


async def _usable_keys(metadata: Metadata) -> None:
    algorithms = metadata.id_token_signing_alg_values_supported
    if algorithms and not set(algorithms) & set(ALGORITHMS):
        raise SignOnRefused("wrong_algorithm", f"it knows {', '.join(algorithms)}")
    kinds = {kind for kind, _ in ALGORITHMS.values()}
    if not [key for key in await discovery.keys(metadata.jwks_uri) if key.kty in kinds and key.use == "sig"]:
        raise SignOnRefused("no_keys")


async def _step(done: list[Check], name: str, work: Awaitable[T]) -> T:
    try:
        result = await work
    except SignOnRefused as refusal:
        told = f"{refusal.detail} ({refusal.told})" if refusal.told else refusal.detail
        done.append(Check(name, told, _ADVICE.get(refusal.fault, "")))
        raise
    done.append(Check(name))
    return result
