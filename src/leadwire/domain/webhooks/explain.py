"""One delivery explained: what happened hop by hop, what comes next, and its request put together again."""

import shlex
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from leadwire.delivery import auto_redrive, redrive_job, signing
from leadwire.domain.webhooks import rotation
from leadwire.domain.webhooks.schema import Attempt, DeliveryDetail, Endpoint
from leadwire.infrastructure import clock, ids, settings

_KEPT: Final = "(yours, kept encrypted)"
_HIDDEN: Final = "(shown to admins)"
_WANTED: Final = "CertificateRequired"  # TLS's word (RFC 8446 section 6.2)
_WORDS: Final = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, dict[str, str]])
_AGAIN: Final = "It is sent again by itself, once your server answers with a 2xx."
_DISABLED: Final = "Its endpoint is disabled. It is sent once that is enabled again."
_HELD: Final = "Its workspace is suspended, or being moved. It is sent afterwards."
_PAUSED: Final = (
    "The receiver asked for a pause (Retry-After). Nothing is sent to it, and no attempt counts, until it ends."
)


class Hop(Struct, frozen=True):
    """One stretch of the way, in milliseconds; None while it has not happened."""

    name: str
    took: float | None


class Timeline(Struct, frozen=True):
    """Hops of the first attempt, what the last attempt means, and what comes next."""

    hops: list[Hop]
    meaning: str
    next: str


def timeline(delivery: DeliveryDetail, endpoint: Endpoint | None) -> Timeline:
    """Return what happened to one delivery and what comes next. `endpoint`: its own, None once that is removed."""
    counted = [attempt for attempt in delivery.history if attempt.counted]
    first, last = (counted[0], counted[-1]) if counted else (None, None)
    return Timeline(_hops(delivery, first), meaning(last) if last else "", _next(delivery, endpoint, last))


def meaning(attempt: Attempt) -> str:
    """Say what the outcome of an attempt means, and what to do about it."""
    if attempt.http_status == HTTPStatus.UNAUTHORIZED:
        return "Signature rejected (401)? Check that your server has this endpoint's secret."
    if attempt.error and _WANTED in attempt.error:
        return "Your server asks for a client certificate. Store one in the endpoint's settings."
    return _WORDS["meanings"][attempt.outcome].format(status=attempt.http_status)


async def request_headers(
    workspace: str, delivery: DeliveryDetail, own: Sequence[str] = (), *, signed: bool = True
) -> list[tuple[str, str]]:
    """Return the headers of the last attempt, or of the next if there was none, signed with the present secret.

    Custom headers are named, not shown, and so are signatures unless `signed`: a receiver takes them for ours. Raise
    NotFound when the endpoint is gone.
    """
    secret, staged, key = await rotation.signers(workspace, delivery.endpoint_id)
    last = delivery.last
    headers = signing.headers(
        event_id=delivery.event_id,
        body=delivery.body.encode(),
        secret=secret,
        staged=staged,
        at=int((clock.parse(last.started_at) if last else clock.now()).timestamp()),
        attempt=last.number if last else 1,
        prefix=settings.get().header_prefix,
        traceparent=delivery.traceparent,
        test=delivery.test,
        sequence=delivery.sequence,
        signing_key=key,
        ordering_key=delivery.ordering_key,
    )
    visible = [
        (name, value if signed or not name.lower().endswith("signature") else _HIDDEN) for name, value in headers
    ]
    return [*visible, *((name, _KEPT) for name in own)]


def curl(delivery: DeliveryDetail, sent: Sequence[tuple[str, str]]) -> str:
    """Return the same POST for a shell: every part quoted, the body byte by byte."""
    lines = [f"curl -X POST {shlex.quote(delivery.url or '')}"]
    lines += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in sent if value not in (_KEPT, _HIDDEN)]
    lines.append(f"--data-raw {shlex.quote(delivery.body)}")
    return " \\\n  ".join(lines)


def _hops(delivery: DeliveryDetail, first: Attempt | None) -> list[Hop]:
    sent = first.started_at if first else None
    alone = first and delivery.attempts == 1 and delivery.generation == 1
    exchange = float(first.duration_ms) if first else None
    whole = _between(sent, delivery.finished_at if alone else None)
    return [
        Hop("Recorded to queued", _between(delivery.recorded_at, delivery.relayed_at)),
        Hop("Queued to sent", _between(delivery.relayed_at, sent)),
        Hop("Sent to answered", exchange),
        Hop("Answered to recorded", None if whole is None else max(0.0, whole - (exchange or 0))),
    ]


def _next(delivery: DeliveryDetail, endpoint: Endpoint | None, last: Attempt | None) -> str:
    if endpoint and _by_itself(delivery, endpoint):
        return _AGAIN
    if delivery.state != "waiting":
        return _WORDS["next"][delivery.state]
    if endpoint and (endpoint.paused_until or not endpoint.enabled):
        return _DISABLED if not endpoint.enabled else _HELD if endpoint.held else _PAUSED
    count, schedule = delivery.attempts, settings.get().retry_schedule
    if last is None or count == 0:
        return (
            "It waits its turn: for the endpoint to have room, for the first answer of a host that is new, or for its"
            " receiver to fetch it."
        )
    if count > len(schedule):
        return "The next attempt, when it is due."
    return f"Attempt {count + 1} of {len(schedule) + 1}, {_span(schedule[count - 1])} after attempt {count} failed."


def _by_itself(delivery: DeliveryDetail, endpoint: Endpoint) -> bool:
    """Whether a dead letter is sent again once its endpoint answers, without a person."""
    return (
        endpoint.enabled
        and delivery.state == "dead"
        and not delivery.test
        and delivery.generation <= redrive_job.TIMES
        and (delivery.finished_at or "") >= (endpoint.auto_redrive_since or "9")
        and ids.moment(delivery.event_id) > clock.now() - auto_redrive.OLDEST
    )


def _span(seconds: int) -> str:
    return f"{seconds // 60} min" if seconds >= 60 and seconds % 60 == 0 else f"{seconds} s"


def _between(start: str | None, end: str | None) -> float | None:
    return max(0.0, (clock.parse(end) - clock.parse(start)).total_seconds() * 1000) if start and end else None
