"""The key that opens endpoint secrets: without it nothing can be signed, so nothing is delivered."""

from leadwire.infrastructure import db, secret_box
from leadwire.infrastructure.errors import OperatorError
from leadwire.interfaces.cli.checks.finding import Finding, error, ok


async def check() -> list[Finding]:
    """Whether our keys open one secret of every key that the database's secrets were sealed with."""
    about = "secret key fits"
    if await db.value("SELECT to_regclass('webhook_endpoint') IS NULL"):
        return []
    sealed = await db.rows(
        """SELECT DISTINCT ON (key) substring(secret FOR 4) AS key, secret, count(*) OVER (PARTITION BY
           substring(secret FOR 4)) AS endpoints FROM webhook_endpoint ORDER BY key"""
    )
    if not sealed:
        return [ok(about, "no endpoint has a secret yet")]
    try:
        keys = secret_box.get()
    except OperatorError as fault:
        return [error(about, str(fault), "set LEADWIRE_SECRET_KEY as it was")]
    shut = 0
    for row in sealed:
        try:
            keys.open(bytes(row["secret"]))
        except OperatorError:
            shut += row["endpoints"]
    if shut:
        return [
            error(
                about,
                f"the secrets of {shut} endpoints were sealed with a key that is not ours",
                "add the old key to LEADWIRE_SECRET_KEY after the new one, separated by a comma",
            )
        ]
    return [ok(about, f"it opens the secrets of {sum(row['endpoints'] for row in sealed)} endpoints")]
