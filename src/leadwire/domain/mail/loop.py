"""Sends what is due, some mails at a time, so that webhooks never wait for mail. Several relays share the work."""

import asyncio
import logging
from collections import deque
from typing import Any, Final

import msgspec

from leadwire.domain.mail import compose, reads, transport
from leadwire.domain.mail.changes import attempts
from leadwire.domain.mail.schema import STATES, Claimed
from leadwire.domain.mail.transport import Connection, Result
from leadwire.infrastructure import telemetry
from leadwire.infrastructure.errors import DomainError, OperatorError
from leadwire.infrastructure.loop import Loop
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.metrics import counter

_BATCH: Final = 100
_AT_ONCE: Final = 4  # connections
_LEASE: Final = 120.0  # seconds; no mail is begun after half of it
_POLL: Final = 1.0
_PAUSE: Final = 5.0  # after the mail server did not answer

MAILS: Final = counter(
    "mails",
    "Attempts to send a mail, by the state after it: sent, waiting for the next one, or dead.",
    "state",
    values=STATES,
)


class Mailer:
    """One relay process's part. Without a mail server there is nothing to do."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._server, self._sender = settings.smtp_url, compose.sender(settings)
        self._tls = transport.context(settings.smtp_url) if settings.smtp_url else None
        self._stop = asyncio.Event()
        self._loop = Loop("mail", self.run_once)
        self.stuck = self._loop.stuck

    async def run(self, stop: asyncio.Event) -> None:
        """Send until `stop` is set; what is under way is finished."""
        if self._server:
            self._stop = stop
            await self._loop.run(stop)

    async def run_once(self) -> float:
        """Send a batch. Return the seconds until the next one."""
        if self._server is None:
            return _POLL
        claimed = await attempts.claim(_BATCH, _LEASE)
        waiting = deque(mail for mail in claimed if not mail.suspended)
        async with asyncio.TaskGroup() as group:
            made = (Connection(self._server, self._sender, self._tls) for _ in range(min(_AT_ONCE, len(waiting))))
            tasks = [group.create_task(self._send(waiting, connection)) for connection in made]
        for mail in waiting:
            await attempts.release(mail)
        if not all(task.result() for task in tasks):
            return _PAUSE
        return 0.0 if claimed else _POLL

    async def _send(self, waiting: deque[Claimed], connection: Connection) -> bool:
        """Send mails of the batch until there is none. Return False when the server does not answer."""
        until = asyncio.get_running_loop().time() + _LEASE / 2
        try:
            while waiting and not self._stop.is_set() and asyncio.get_running_loop().time() < until:
                mail = waiting.popleft()
                result = await self._attempt(connection, mail)
                state = await attempts.record(mail, result.outcome, result.error)
                if state:
                    MAILS.labels(state).inc()
                if result.outcome != "sent":  # what the server said may name the recipient
                    about: dict[str, Any] = {"mail": mail.id, "kind": mail.kind, "state": state}
                    about |= {"outcome": result.outcome, "code": result.error[:3]}
                    telemetry.log("mail.failed", level=logging.WARNING, **about)
                if not result.usable:
                    return False
            return True
        finally:
            await connection.close()

    async def _attempt(self, connection: Connection, mail: Claimed) -> Result:
        if reads.is_mailbox():
            return Result("sent")
        if mail.suppressed:
            return Result("suppressed", "mail to this address was refused before")
        try:
            message = compose.message(mail, reads.opened(mail.data), self._settings)
        except (DomainError, OperatorError, msgspec.MsgspecError, ValueError, TypeError) as error:
            return Result("failed", f"{type(error).__name__}: {error}")
        return await connection.send(message)
