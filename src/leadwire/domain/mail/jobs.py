"""Mails are sent, some at a time.

When a mail is due next, and what came of it, stands in its row. Account mails are a kind of their own: they do not wait
behind notices.
"""

import functools
from typing import Any, Final

from leadwire.domain.mail import compose, reads
from leadwire.domain.mail.changes import attempts
from leadwire.domain.mail.schema import JOBS, STATES
from leadwire.domain.mail.schema import Claimed as Mail
from leadwire.domain.mail.transport import Connections, Result
from leadwire.infrastructure import settings, telemetry
from leadwire.infrastructure.jobs import Again, Claimed, job
from leadwire.infrastructure.smtp_url import SmtpServer
from leadwire.infrastructure.telemetry.metrics import counter

_AT_ONCE: Final = 4  # of a kind
_PAUSE: Final = 5.0  # seconds after the mail server did not answer
_connections: Final = functools.lru_cache(maxsize=1)(Connections)

MAILS: Final = counter(
    "mails",
    "Attempts to send a mail, by the state after it: sent, waiting for the next one, or dead.",
    "state",
    values=STATES,
)


async def send(job: Claimed) -> Again | None:
    """Send a mail. Whatever keeps it from being sent is its own failure, tried again by the schedule of webhooks."""
    server = settings.get().smtp_url
    if server is None:
        return Again(_PAUSE, rest=_PAUSE)
    rest = 0.0
    if mail := await attempts.claim(job.key):
        result = await _attempt(mail, server)
        rest = 0.0 if result.usable else _PAUSE
        await _record(mail, result)
    due_in = await attempts.due_in(job.key)
    return None if due_in is None else Again(due_in, rest=rest)


for priority, kind in enumerate(JOBS):
    job(kind, at_once=_AT_ONCE, find=functools.partial(attempts.without_job, priority), ahead=None)(send)


async def _attempt(mail: Mail, server: SmtpServer) -> Result:
    if server.is_mailbox:
        return Result("sent")
    if mail.suppressed:
        return Result("suppressed", "mail to this address was refused before")
    try:
        message = compose.message(mail, reads.opened(mail.id, mail.data), settings.get())
        return await _connections(server, compose.sender(settings.get())).send(message)
    except Exception as error:  # noqa: BLE001 - as a template may raise
        return Result("failed", telemetry.text_of(error))


async def _record(mail: Mail, result: Result) -> None:
    state = await attempts.record(mail, result.outcome, result.error)
    if state:
        MAILS.labels(state).inc()
    if result.outcome != "sent":  # what the server said may name the recipient
        about: dict[str, Any] = {"mail": mail.id, "kind": mail.kind, "state": state}
        about |= {"outcome": result.outcome, "code": result.error[:3]}
        telemetry.warn("mail.failed", **about)
