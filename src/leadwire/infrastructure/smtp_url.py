"""`LEADWIRE_SMTP_URL`: the mail server, how it is called, and the account there.

    smtp://user:secret@host:587?tls=starttls

`tls` is `starttls` (the default of smtp), `implicit` (of smtps and of port 465) or `none`. A server that does not offer
what is asked for gets no mail: TLS is never left out silently.
"""

import ipaddress
import re
from typing import Final, Literal, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from leadwire.infrastructure.errors import OperatorError

Tls = Literal["starttls", "implicit", "none"]

MAILBOX: Final = "mailbox:"
"""The value under `leadwire up`: mail is sent nowhere, and shown on a page of its own."""

_SCHEMES: Final[dict[str, Tls]] = {"smtp": "starttls", "smtps": "implicit"}
_PORTS: Final[dict[Tls, int]] = {"starttls": 587, "implicit": 465, "none": 25}


class SmtpServer(Struct, frozen=True):
    """Where mail goes. Without a host it is kept, see `MAILBOX`."""

    host: str = ""
    port: int = 0
    tls: Tls = "none"
    user: str = ""
    password: str = ""

    @property
    def is_mailbox(self) -> bool:
        """Whether mail is kept, not sent."""
        return not self.host

    def __repr__(self) -> str:
        """Without the password: this may end up in a log."""
        return f"{self.host}:{self.port} (tls={self.tls})"


def parse(text: str) -> SmtpServer:
    """Read the setting. Raise OperatorError, whose text does not have the password."""
    if text == MAILBOX:
        return SmtpServer()
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError as error:
        raise _wrong("it cannot be read; write special characters of user and password as %XX") from error
    query = dict(parse_qsl(url.query, keep_blank_values=True))
    host, user, password = url.hostname or "", unquote(url.username or ""), unquote(url.password or "")
    usual = "implicit" if port == 465 else _SCHEMES.get(url.scheme)
    tls = cast(Tls, query.pop("tls", usual) or "starttls")
    if tls not in _PORTS:
        raise _wrong("tls is starttls, implicit or none")
    faults = {
        "it begins with smtp:// or smtps://": url.scheme not in _SCHEMES,
        "it names no host, or port 0": not re.fullmatch(r"[\w.:-]+", host) or port == 0,
        "it has a path, a fragment or something else than tls= after the host": bool(
            url.path.strip("/") or url.fragment or query
        ),
        "smtps:// has tls=implicit": url.scheme == "smtps" and tls != "implicit",
        "it has a user without a password, or a password without a user": bool(user) != bool(password),
        "with tls=none the password would be read on the way": bool(password) and tls == "none" and not _local(host),
    }
    for fault, so in faults.items():
        if so:
            raise _wrong(fault)
    return SmtpServer(host, port or _PORTS[tls], tls, user, password)


def _local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _wrong(fault: str) -> OperatorError:
    return OperatorError(f"LEADWIRE_SMTP_URL cannot be used (smtp://user:secret@host:587?tls=starttls): {fault}")
