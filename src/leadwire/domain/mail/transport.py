"""One connection to the mail server, opened by its first mail and kept for the next."""

import asyncio
import re
import socket
import ssl
from email.message import EmailMessage
from typing import Final, NamedTuple

import aiosmtplib

from leadwire.domain.mail import compose
from leadwire.domain.mail.schema import Outcome
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.smtp_url import SmtpServer

TIMEOUT: Final = 30.0
"""Seconds that a mail may take, the connection included."""

_ANSWER: Final = 20.0  # seconds for each answer
# What says that there is no such recipient; other refusals are about us, a rule, or a full mailbox.
_UNKNOWN: Final = re.compile(r"(?!530|552|554)5\d\d (?!5\.[34567]\.|5\.2\.2)")


class Result(NamedTuple):
    """What came of a mail. `usable`: whether the server answers, so that the next one may be tried at once."""

    outcome: Outcome
    error: str = ""
    usable: bool = True


class Connection:
    """Sends mails one after the other."""

    def __init__(self, server: SmtpServer, settings: Settings) -> None:
        self._server, self._settings = server, settings
        self._smtp: aiosmtplib.SMTP | None = None

    async def send(self, message: EmailMessage) -> Result:
        """Send a mail to whom it is addressed."""
        (recipient,) = message["To"].addresses
        try:
            async with asyncio.timeout(TIMEOUT):
                self._smtp = self._smtp or await connect(self._server)
                await self._smtp.send_message(
                    message, sender=compose.sender(self._settings), recipients=[recipient.addr_spec]
                )
        except aiosmtplib.SMTPRecipientsRefused as refused:
            first = refused.recipients[0]
            said = f"{first.code} {' '.join(first.message.split())}"
            return Result("refused" if _UNKNOWN.match(said) else "failed", said)
        except aiosmtplib.SMTPResponseException as error:
            usable = self._smtp is not None
            await self.close()
            return Result("failed", f"{error.code} {' '.join(error.message.split())}", usable)
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:  # TimeoutError, ssl.SSLError are OSErrors
            await self.close()
            return Result("failed", f"{type(error).__name__}: {' '.join(str(error).split())}", usable=False)
        return Result("sent")

    async def close(self) -> None:
        """End the connection, if there is one, without waiting for an answer."""
        if self._smtp:
            smtp, self._smtp = self._smtp, None
            smtp.close()


async def connect(server: SmtpServer) -> aiosmtplib.SMTP:
    """A connection with TLS and signed in, as the setting says. Raise SMTPException, OSError, ValueError."""
    smtp = aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        use_tls=server.tls == "implicit",
        start_tls=server.tls == "starttls",
        username=server.user or None,
        password=server.password or None,
        local_hostname=socket.gethostname(),
        tls_context=None if server.tls == "none" else ssl.create_default_context(),
        timeout=_ANSWER,
    )
    await smtp.connect()
    return smtp
