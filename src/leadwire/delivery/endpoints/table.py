"""The table of webhook endpoints, and whether this process's keys open their secrets: else nothing can be signed."""

from typing import Final, NamedTuple

from piccolo.columns import Array, BigInt, Boolean, Bytea, Column, DoublePrecision, Integer, SmallInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure import secret_box
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import columns, named
from leadwire.infrastructure.errors import OperatorError

LARGEST_WINDOW: Final = 256
"""Deliveries of an endpoint that may be queued at a time, unless a worker could not hold so many."""


class JSONPath(Column):
    """PostgreSQL's jsonpath, for which Piccolo has no column. It takes the name of the class."""

    value_type = str


class WebhookEndpoint(Table, db=DB, tablename="webhook_endpoint"):
    """A customer's URL and what it subscribes to. Made disabled; disabled by the system only with a reason.

    How it takes deliveries is said by the first of these that holds:

    - not `enabled`: none but tests
    - `paused_until` is infinity: none, as its workspace is suspended
    - `paused_until` is later than now: none, as its receiver asked for a pause
    - `new_host`: few, at a rate that all endpoints of the workspace at that host share, until one has answered a 2xx
    - `open`: a change queues its deliveries itself
    - `due_at` is infinity: none waits, or its receiver fetches what waits; whoever adds one wakes it
    - `due_at` is a time: they wait, and admission looks at it then
    """

    declared = Declared(
        line="endpoint", fenced=False, by_hand="deletion",
        hidden="open due_at rate_tokens rate_at admission_window",
        sealed="secret staged_secret signing_key headers certificate next_signing_key",
        anew="enabled disabled_reason staged_at token_at public_keys certificate_subject certificate_ends_at"
        " paused_until queued queued_from waiting_from ordered_from looked_at failing_since failures",
        moved={
            "open": "false", "due_at": "'infinity'", "paused_until": "'infinity'", "queued": "0", "queued_from": "''",
            "waiting_from": "'-infinity'", "ordered_from": "0", "looked_at": "NULL",
        },
    )  # fmt: skip
    id = Text(primary_key=True)
    workspace_id = Text()
    url = Text()
    events = Array(Text())
    filter = Text(null=True, default=None)  # JSON: what of these events it is sent; null: all
    filter_path = JSONPath(null=True, default=None)  # the same, for `passes_filter`
    enabled = Boolean(default=False)
    disabled_reason = Text(null=True, default=None)
    secret = Bytea()  # sealed, see secret_box
    staged_secret = Bytea(null=True, default=None)  # the next one, during a rotation
    staged_at = Timestamptz(null=True, default=None)
    signing_key = Bytea(null=True, default=None)  # of Ed25519, sealed; null: no such signature is wanted
    next_signing_key = Bytea(null=True, default=None)
    public_keys = Text(null=True, default=None)  # JSON: those of these two, and the former one; anybody may see them
    headers = Bytea(null=True, default=None)  # the customer's own, sealed JSON: they may hold a password
    certificate = Bytea(null=True, default=None)  # shown to the receiver: sealed PEM, with its chain and its key
    certificate_subject = Text(null=True, default=None)
    certificate_ends_at = Timestamptz(null=True, default=None)
    ordered = Boolean(default=False)
    numbered = Boolean(default=False)  # its deliveries carry numbers without gaps
    token = Bytea(null=True, default=None)  # SHA-256 of what its receiver authenticates with
    token_at = Timestamptz(null=True, default=None)
    rate_limit = Integer(null=True, default=None)  # deliveries a minute
    rate_tokens = DoublePrecision(default=0)  # the bucket of that limit, as it was at `rate_at`
    rate_at = Timestamptz(null=True, default=None)
    open = Boolean(default=False)  # a change may queue deliveries itself: nothing waits, no order, no rate
    due_at = Timestamptz()  # when the relay has to look at what waits; infinity: when something is added
    # As its receiver asked for with Retry-After; infinity: its workspace is suspended.
    paused_until = Timestamptz(null=True, default=None)
    admission_window = SmallInt(default=LARGEST_WINDOW)  # deliveries that may be queued at a time
    # What admission knows of its queue: at most so many are queued, none of an earlier event, nothing that waits is due
    # before that time, nothing unfinished has a position before that one (where order is wanted), and when all that was
    # looked up last.
    queued = Integer(default=0)
    queued_from = Text(default="")
    waiting_from = Timestamptz()
    ordered_from = BigInt(default=0)
    looked_at = Timestamptz(null=True, default=None)
    new_host = Boolean(default=False)  # its host has not answered this workspace with a 2xx yet
    failing_since = Timestamptz(null=True, default=None)
    failures = Integer(default=0)  # failed attempts since then
    auto_redrive_since = Timestamptz(null=True, default=None)  # what dies from then on is sent again by itself
    created_at = Timestamptz()
    updated_at = Timestamptz()


SEALED: Final = columns(WebhookEndpoint, WebhookEndpoint.declared.sealed)
"""Columns that `secret_box` seals; the last one is not needed to send."""

_EXISTS, _BY_KEY = named(__file__, "exists by_key")


class Secrets(NamedTuple):
    """How many endpoints there are, and how many of them have a secret that no key of ours opens."""

    endpoints: int
    unreadable: int


def sealed(endpoint_id: str, column: Column, text: str) -> bytes:
    """What a sealed column of an endpoint holds for a text."""
    return secret_box.get().seal(text, secret_box.place(column, endpoint_id))


def opened(endpoint_id: str, column: Column, sealed: bytes | None) -> str:
    """The text; empty for none. Raise OperatorError when no key of ours opens it at this place."""
    return secret_box.get().open(sealed, secret_box.place(column, endpoint_id)) if sealed else ""


async def check_secret() -> None:
    """Raise OperatorError when the latest endpoint's secret was sealed with a key that is not ours."""
    by_id, secret = WebhookEndpoint.id, WebhookEndpoint.secret  # ids are in the order of time, and have an index
    if row := await WebhookEndpoint.select(by_id, secret).order_by(by_id, ascending=False).first():
        opened(row["id"], secret, row["secret"])


@query()
async def subscribed(kind: str, workspace: str) -> bool:
    """Whether a workspace has an enabled endpoint for a kind of event."""


async def count_secrets() -> Secrets | None:
    """Return how many there are; None before the first migration. Raise OperatorError when our keys are not valid."""
    if not await _EXISTS.value():
        return None
    endpoints = unreadable = 0
    for _, endpoint_id, sealed, count in await _BY_KEY.rows():
        endpoints += count
        try:
            opened(endpoint_id, WebhookEndpoint.secret, sealed)
        except OperatorError:
            unreadable += count
    return Secrets(endpoints, unreadable)
