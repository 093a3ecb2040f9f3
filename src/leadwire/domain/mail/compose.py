"""A mail as it is sent: the text of its kind's template, and the same as HTML, which is made from that text.

A template is plain text: the subject, an empty line, then paragraphs. In the HTML a line that is nothing but an address
of this installation becomes a button, named by the line before it. Nobody else's text becomes more than text.
"""

import functools
import re
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import parseaddr
from typing import Any, Final, NamedTuple

import email_validator
import jinja2

from leadwire.domain.mail.schema import Claimed, Contents
from leadwire.infrastructure import email_address
from leadwire.infrastructure.errors import Invalid, invalid_field
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.unseen import UNSEEN

_LONGEST_SUBJECT: Final = 200


class Content(NamedTuple):
    """What a person reads."""

    subject: str
    text: str
    html: str


class Block(NamedTuple):
    """A paragraph of the HTML: its lines, or a button."""

    lines: list[str]
    link: str = ""
    is_list: bool = False


def address(text: str) -> str:
    """An address that mail can be sent to, in lower case. Raise Invalid, as for line breaks and names before it."""
    return _parts(text).normalized.lower()


def content(kind: str, contents: Contents, base: str) -> Content:
    """The text of a mail; `base` is the address of this installation. Raise Invalid, as for a value that is missing."""
    onward = f"{base}{contents.unsubscribe}" if contents.unsubscribe else ""
    try:
        told = _templates().get_template(f"{kind}.txt").render(contents.values, base=base)
    except jinja2.TemplateError as error:
        raise Invalid(f"{kind} cannot be written: {error}") from error
    subject, _, body = told.strip().partition("\n")
    subject = UNSEEN.sub(" ", subject)[:_LONGEST_SUBJECT].strip()
    text = body.strip() + "\n"
    blocks = [_block(paragraph.split("\n"), base) for paragraph in re.split(r"\n{2,}", text.strip())]
    html = _templates().get_template("layout.html").render(subject=subject, blocks=blocks, base=base, onward=onward)
    if onward:
        text += f"\nNo more mails of this kind: {onward}\n"
    return Content(subject, text, html)


def message(mail: Claimed, contents: Contents, settings: Settings) -> EmailMessage:
    """The mail with its headers. The Message-ID is the same however often it is sent. Raise Invalid.

    No value can add a header: EmailMessage refuses line breaks in one.
    """
    text = content(mail.kind, contents, settings.public_url)
    composed, to = EmailMessage(), _parts(mail.recipient)
    headers: dict[str, Any] = {
        "From": settings.mail_from,
        # Its domain as DNS has it: only a name before the @ that is not ASCII needs SMTPUTF8.
        "To": Address(username=to.local_part, domain=to.ascii_domain),
        "Subject": text.subject,
        "Date": mail.created_at,
        "Message-ID": f"<{mail.id}@{sender(settings).rpartition('@')[2]}>",
        "Auto-Submitted": "auto-generated",
    }
    if contents.unsubscribe:
        headers |= {
            "List-Unsubscribe": f"<{settings.public_url}{contents.unsubscribe}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        }
    for name, value in headers.items():
        composed[name] = value
    composed.set_content(text.text)
    composed.add_alternative(text.html, subtype="html")
    return composed


def sender(settings: Settings) -> str:
    """The address that mail comes from, without its name."""
    return parseaddr(settings.mail_from)[1]


def _parts(text: str) -> email_validator.ValidatedEmail:
    try:
        return email_address.read(text)
    except ValueError as error:
        raise invalid_field("/email", "not_an_email", "This is not an e-mail address.") from error


def _block(lines: list[str], base: str) -> Block:
    *before, last = lines
    if last.startswith(f"{base}/") and not re.search(r"\s", last):
        return Block(before or [last], link=last)
    return Block([line.removeprefix("- ") for line in lines], is_list=all(line.startswith("- ") for line in lines))


@functools.cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("leadwire.domain.mail", "templates"),
        autoescape=jinja2.select_autoescape(["html"]),  # the others are text
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
