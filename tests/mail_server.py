"""A real mail server with manners to choose: refusals, hangs, cuts, STARTTLS and AUTH."""

import asyncio
import email
import ssl
from email.message import EmailMessage
from email.policy import default
from types import SimpleNamespace
from typing import Any, Self

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from tests.waiting import eventually

USER, PASSWORD = "leadwire", "p@ss/word"


class MailServer:
    """Keeps what it receives. `answers` are said to the next RCPT (`rcpt`) or DATA (`data`), one each; `hang` and `cut`
    are answers, too.
    """

    def __init__(self, context: ssl.SSLContext | None = None, *, auth: bool = False, implicit: bool = False) -> None:
        self.received: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.rcpt: list[str] = []
        self.data: list[str] = []
        self.connections = 0
        self.encrypted: list[bool] = []
        self._implicit, self._context, self._auth = (context, None, auth) if implicit else (None, context, auth)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.get_running_loop().create_server(self._session, "127.0.0.1", 0, ssl=self._implicit)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def wait(self, count: int) -> list[EmailMessage]:
        await eventually(lambda: len(self.received) >= count)
        return self.received

    def _session(self) -> SMTP:
        self.connections += 1
        return SMTP(
            SimpleNamespace(handle_RCPT=self._take_recipient, handle_DATA=self._take_data),
            hostname="mail.test",
            enable_SMTPUTF8=True,
            tls_context=self._context,
            require_starttls=self._context is not None,
            auth_required=self._auth,
            auth_require_tls=self._context is not None,
            authenticator=self._known,
        )

    def _known(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, given: Any) -> AuthResult:
        return AuthResult(success=(given.login, given.password) == (USER.encode(), PASSWORD.encode()), handled=False)

    async def _take_recipient(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: Any
    ) -> str:
        said = await self._say(server, self.rcpt)
        if said.startswith("250"):
            envelope.rcpt_tos.append(address)
        return said

    async def _take_data(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        said = await self._say(server, self.data)
        if said.startswith("250"):
            self.recipients += envelope.rcpt_tos
            self.encrypted.append(session.ssl is not None)
            self.received.append(email.message_from_bytes(envelope.content, policy=default))  # type: ignore[arg-type]
        return said

    async def _say(self, server: SMTP, answers: list[str]) -> str:
        said = answers.pop(0) if answers else "250 OK"
        if said == "hang":
            await asyncio.Event().wait()
        if said == "cut":
            server.transport.abort()
        return said
