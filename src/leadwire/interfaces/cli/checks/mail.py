"""The mail server: whether it answers, speaks TLS as it should and lets us in. Nothing is sent."""

import asyncio
from typing import Final

import aiosmtplib

from leadwire.domain.mail import transport
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.checks.finding import Finding, unless

_ABOUT: Final = "mail server"


async def check(settings: Settings) -> Finding:
    """Connect, begin TLS and sign in, as the setting says."""
    server = settings.smtp_url
    if server is None or server.is_mailbox:
        where = "kept, and shown at /dev/mail" if server else "none is sent: there is no LEADWIRE_SMTP_URL"
        open_to_all = server is not None and settings.public_url.startswith("https:")
        return unless(open_to_all, _ABOUT, where)
    try:
        async with asyncio.timeout(transport.TIMEOUT):
            smtp = await transport.connect(server, transport.context(server))
            smtp.close()
    except (aiosmtplib.SMTPException, OSError, ValueError) as error:
        return unless(True, _ABOUT, f"{server}: {' '.join(str(error).split()) or type(error).__name__}")
    return Finding(_ABOUT, "ok", f"{server} lets us in" if server.user else f"{server} answers")
