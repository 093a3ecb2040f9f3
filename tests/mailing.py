"""Mail switched on in this process, and a real server that takes it."""

import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec
import pytest
import trustme

from leadwire.domain.mail import reads
from leadwire.domain.mail.schema import JOBS
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.smtp_url import parse
from tests import jobs
from tests.mail_server import MailServer

URL = "https://leads.example"

SetMail = Callable[..., Settings]


@pytest.fixture
def set_mail(monkeypatch: pytest.MonkeyPatch) -> SetMail:
    """Set what `LEADWIRE_SMTP_URL` and other settings are from now on."""

    def set_to(smtp_url: str, **more: Any) -> Settings:
        known: dict[str, Any] = {"mail_from": "Leadwire <noreply@leads.example>", "public_url": URL, **more}
        configured = settings.get()
        chosen = msgspec.structs.replace(configured, smtp_url=parse(smtp_url), **known)
        monkeypatch.setattr(settings, "get", lambda: chosen)
        return chosen

    return set_to


@pytest.fixture
async def smtp() -> AsyncIterator[MailServer]:
    async with MailServer() as server:
        yield server


@pytest.fixture
def mailing(smtp: MailServer, set_mail: SetMail) -> Settings:
    """Mail goes to `smtp`."""
    return set_mail(f"smtp://127.0.0.1:{smtp.port}?tls=none")


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def certified(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    return context


@pytest.fixture
def trusted(authority: trustme.CA, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with authority.cert_pem.tempfile() as path:
        monkeypatch.setenv("SSL_CERT_FILE", path)
        yield path


async def mails(kind: str | None = None) -> list[tuple[str, dict[str, Any]]]:
    """The recipient and the values of each queued mail, in order."""
    rows = await db.rows(
        "SELECT id, recipient, data FROM mail WHERE state = 'waiting' AND ($1::text IS NULL OR kind = $1) ORDER BY id",
        kind,
    )
    return [(row["recipient"], reads.opened(row["id"], row["data"]).values) for row in rows]


async def send() -> None:
    """Send what is due, as one process of several may do."""
    await jobs.run(*JOBS)
