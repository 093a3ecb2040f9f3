"""The key that decrypts endpoint secrets: without it nothing can be signed or delivered."""

from leadwire.delivery.endpoints import reads as endpoints
from leadwire.infrastructure.errors import OperatorError
from leadwire.interfaces.cli.checks.finding import Finding, error, ok


async def check() -> list[Finding]:
    """Whether the keys decrypt one secret of every key that the secrets in the database were encrypted with."""
    about = "secret key fits"
    try:
        secrets = await endpoints.count_secrets()
    except OperatorError as fault:
        return [error(about, str(fault), "set LEADWIRE_SECRET_KEY as it was")]
    if secrets is None:
        return []
    if not secrets.endpoints:
        return [ok(about, "no endpoint has a secret yet")]
    if secrets.unreadable:
        return [
            error(
                about,
                f"the secrets of {secrets.unreadable} endpoints were sealed with a key that is not ours",
                "add the old key to LEADWIRE_SECRET_KEY after the new one, separated by a comma",
            )
        ]
    return [ok(about, f"it opens the secrets of {secrets.endpoints} endpoints")]
