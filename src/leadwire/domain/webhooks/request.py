"""A delivery's POST as it was made, put together again: for the page that explains it and for `curl`."""

import shlex
from collections.abc import Sequence
from typing import Final

from leadwire.delivery import signing
from leadwire.domain.webhooks import rotation
from leadwire.domain.webhooks.schema import DeliveryDetail
from leadwire.infrastructure import clock, settings

_KEPT: Final = "(yours, kept encrypted)"
_HIDDEN: Final = "(shown to admins)"


async def headers(
    workspace: str, delivery: DeliveryDetail, own: Sequence[str] = (), *, signed: bool = True
) -> list[tuple[str, str]]:
    """The headers of the last attempt, or of the next if there was none, signed with the present secret.

    Own headers are named, not shown, and so are signatures unless `signed`: a receiver takes them for ours. Raises
    NotFound when the endpoint is gone.
    """
    secret, staged = await rotation.reveal(workspace, delivery.endpoint_id)
    last = delivery.history[-1] if delivery.history else None
    made = signing.headers(
        event_id=delivery.event_id,
        body=delivery.body.encode(),
        secret=secret,
        staged=staged,
        at=int((clock.parse(last.started_at) if last else clock.now()).timestamp()),
        attempt=last.number if last else 1,
        prefix=settings.get().header_prefix,
        traceparent=delivery.traceparent,
        test=delivery.test,
    )
    shown = [(name, value if signed or not name.lower().endswith("signature") else _HIDDEN) for name, value in made]
    return [*shown, *((name, _KEPT) for name in own)]


def curl(delivery: DeliveryDetail, sent: Sequence[tuple[str, str]]) -> str:
    """The same POST for a shell: every part quoted, the body byte by byte."""
    lines = [f"curl -X POST {shlex.quote(delivery.url or '')}"]
    lines += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in sent if value not in (_KEPT, _HIDDEN)]
    lines.append(f"--data-raw {shlex.quote(delivery.body)}")
    return " \\\n  ".join(lines)
