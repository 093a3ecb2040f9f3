"""Connections to the mail server, each opened for a mail and kept for the next."""

import asyncio
import contextlib
import re
import socket
import ssl
from email.message import EmailMessage
from typing import Final, NamedTuple

import aiosmtplib

from leadwire.domain.mail.schema import Outcome
from leadwire.infrastructure.smtp_url import SmtpServer

TIMEOUT: Final = 30.0
"""Seconds that a mail may take, the connection included."""

_ANSWER: Final = 20.0  # seconds for each answer
_GOODBYE: Final = 2.0
_KEPT: Final = 5.0  # seconds after the last mail
# What says that there is no such recipient; other refusals are about us, a rule, or a full mailbox.
_UNKNOWN: Final = re.compile(r"(?!530|552|554)5\d\d (?!5\.[34567]\.|5\.2\.2)")


class Result(NamedTuple):
    """What came of a mail. `usable`: whether the server answers, so that the next one may be tried at once."""

    outcome: Outcome
    error: str = ""
    usable: bool = True


class Connections:
    """As many connections as mails are sent at once."""

    def __init__(self, server: SmtpServer, sender: str) -> None:
        self._server, self._sender, self._tls = server, sender, context(server)
        self._idle: list[aiosmtplib.SMTP] = []
        self._timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.Future[list[None]] | None = None

    async def send(self, message: EmailMessage) -> Result:
        """Send a mail to whom it is addressed."""
        (recipient,) = message["To"].addresses
        smtp, result = self._idle.pop(0) if self._idle else None, Result("sent")
        try:
            async with asyncio.timeout(TIMEOUT):
                smtp = smtp or await connect(self._server, self._tls)
                await smtp.send_message(message, sender=self._sender, recipients=[recipient.addr_spec])
        except aiosmtplib.SMTPRecipientsRefused as refused:
            said = _said(refused.recipients[0])
            result = Result("refused" if _UNKNOWN.match(said) else "failed", said)
        except aiosmtplib.SMTPResponseException as error:
            if smtp:
                smtp.close()
            return Result("failed", _said(error), usable=smtp is not None)
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:  # TimeoutError, ssl.SSLError are OSErrors
            if smtp:
                smtp.close()
            return Result("failed", f"{type(error).__name__}: {' '.join(str(error).split())}", usable=False)
        if smtp:
            self._keep(smtp)
        return result

    def _keep(self, smtp: aiosmtplib.SMTP) -> None:
        self._idle.append(smtp)
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(_KEPT, self._close)

    def _close(self) -> None:
        self._closing = asyncio.gather(*map(_end, self._idle))
        self._idle = []


def context(server: SmtpServer) -> ssl.SSLContext | None:
    """What certificates are verified by, if there is TLS at all: once for many connections, as making it takes long."""
    return None if server.tls == "none" else ssl.create_default_context()


async def connect(server: SmtpServer, tls: ssl.SSLContext | None) -> aiosmtplib.SMTP:
    """A connection with TLS and signed in, as the setting says. Raise SMTPException, OSError, ValueError."""
    smtp = aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        use_tls=server.tls == "implicit",
        start_tls=server.tls == "starttls",
        username=server.user or None,
        password=server.password or None,
        local_hostname=socket.gethostname(),
        tls_context=tls,
        timeout=_ANSWER,
    )
    await smtp.connect()
    return smtp


async def _end(smtp: aiosmtplib.SMTP) -> None:
    """Say goodbye, and end a connection."""
    with contextlib.suppress(aiosmtplib.SMTPException, OSError):
        async with asyncio.timeout(_GOODBYE):
            await smtp.quit()
    smtp.close()


def _said(error: aiosmtplib.SMTPResponseException) -> str:
    return f"{error.code} {' '.join(error.message.split())}"
