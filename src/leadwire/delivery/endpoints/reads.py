"""Whether this process's keys open the secrets of endpoints: without them nothing can be signed."""

from typing import Final, NamedTuple

from leadwire.delivery.endpoints.table import WebhookEndpoint
from leadwire.infrastructure import secret_box
from leadwire.infrastructure.db.statements import sql, statement
from leadwire.infrastructure.errors import OperatorError

_LATEST: Final = statement(
    WebhookEndpoint.select(WebhookEndpoint.secret).order_by(WebhookEndpoint.created_at, ascending=False), "LIMIT 1"
)
# Whether the table is there.
_EXISTS: Final = sql("SELECT to_regclass('webhook_endpoint') IS NOT NULL")
# One secret of every key that secrets were sealed with, and of how many endpoints they are.
_BY_KEY: Final = sql("""
SELECT DISTINCT ON (key) substring(secret FOR 4) AS key, secret, count(*) OVER (PARTITION BY substring(secret FOR 4))
FROM webhook_endpoint ORDER BY key""")


class Secrets(NamedTuple):
    """How many endpoints there are, and how many of them have a secret that no key of ours opens."""

    endpoints: int
    unreadable: int


async def check_secret() -> None:
    """Raise OperatorError when the latest endpoint's secret was sealed with a key that is not ours."""
    sealed = await _LATEST.value()
    if sealed is not None:
        secret_box.get().open(sealed)


async def count_secrets() -> Secrets | None:
    """Return how many there are; None before the first migration. Raise OperatorError when our keys are not valid."""
    if not await _EXISTS.value():
        return None
    endpoints = unreadable = 0
    found = await _BY_KEY.rows()
    if not found:
        return Secrets(0, 0)
    box = secret_box.get()
    for _, sealed, count in found:
        endpoints += count
        try:
            box.open(bytes(sealed))
        except OperatorError:
            unreadable += count
    return Secrets(endpoints, unreadable)
