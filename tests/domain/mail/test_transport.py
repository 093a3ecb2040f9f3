"""TLS and signing in, against a real server with a certificate of its own."""

import pytest

from leadwire.domain.mail import changes
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import read
from leadwire.infrastructure.smtp_url import SmtpServer, parse
from tests.mail_server import PASSWORD, USER, MailServer
from tests.mailing import send

QUOTED = "p%40ss%2Fword"


async def sent(workspace: str, _chosen) -> tuple[str, str | None]:
    async with db.transaction():
        await changes.queue(workspace, "second_factor_on", "ada@example.org", {"at": "today", "workspace": "Test"})
    await send()
    state, error = await db.row("SELECT state, error FROM mail")
    return state, error


async def test_starttls_and_auth(workspace, set_mail, certified, trusted):
    async with MailServer(certified, auth=True) as server:
        assert await sent(workspace, set_mail(f"smtp://{USER}:{QUOTED}@127.0.0.1:{server.port}")) == ("sent", None)
        assert server.encrypted == [True]


async def test_tls_from_the_first_byte(workspace, set_mail, certified, trusted):
    async with MailServer(certified, implicit=True) as server:
        assert await sent(workspace, set_mail(f"smtps://127.0.0.1:{server.port}")) == ("sent", None)


async def test_a_server_without_starttls_gets_no_mail(workspace, smtp, set_mail):
    state, error = await sent(workspace, set_mail(f"smtp://127.0.0.1:{smtp.port}"))
    assert (state, smtp.received) == ("waiting", [])
    assert "STARTTLS" in error


async def test_a_certificate_that_nobody_knows_is_refused(workspace, set_mail, certified):
    async with MailServer(certified) as server:
        state, error = await sent(workspace, set_mail(f"smtp://127.0.0.1:{server.port}"))
        assert (state, server.received) == ("waiting", [])
        assert "certificate" in error.lower()


async def test_a_wrong_password_is_tried_again_and_not_shown(workspace, set_mail, certified, trusted):
    async with MailServer(certified, auth=True) as server:
        state, error = await sent(workspace, set_mail(f"smtp://{USER}:hidden@127.0.0.1:{server.port}"))
        assert (state, error[:3]) == ("waiting", "535")
        assert "hidden" not in error


@pytest.mark.parametrize(("url", "server"), [
    ("smtp://mail.example", ("mail.example", 587, "starttls")),
    ("smtp://mail.example:25", ("mail.example", 25, "starttls")),
    ("smtps://mail.example", ("mail.example", 465, "implicit")),
    ("smtp://mail.example:465", ("mail.example", 465, "implicit")),
    ("smtp://mail.example?tls=none", ("mail.example", 25, "none")),
    ("smtp://mail.example:2525/?tls=implicit", ("mail.example", 2525, "implicit")),
    ("smtp://[::1]:2525?tls=none", ("::1", 2525, "none")),
])  # fmt: skip
def test_what_an_address_says(url, server):
    found = parse(url)
    assert (found.host, found.port, found.tls) == server


def test_user_and_password_are_decoded_and_the_password_is_not_shown():
    found = parse(f"smtp://ada%40example.org:{QUOTED}@mail.example")
    assert (found.user, found.password) == ("ada@example.org", PASSWORD)
    assert PASSWORD not in repr(found) + str(found)
    assert parse("mailbox:") == SmtpServer()


@pytest.mark.parametrize("url", [
    "http://u:hidden@mail.example:465", "smtp://u:hidden@mail.example:0",
    "http://u:hidden@mail.example", "smtp://", "smtp://u:hidden@", "smtp://u:hidden@mail.example:99999",
    "smtp://u:hidden@mail.example:x", "smtp://u:hid/den@mail.example", "smtp://u:hidden@mail.example/path",
    "smtp://u:hidden@mail.example?tls=maybe", "smtp://u:hidden@mail.example?other=1", "smtp://hidden@mail.example",
    "smtp://u:hidden@mail.example?tls=none", "smtps://u:hidden@mail.example?tls=starttls",
    "smtp://u:hidden@a b.example",
    "smtp://u:hidden@mail.example#x", "mail.example", "smtp://:hidden@mail.example",
])  # fmt: skip
def test_an_address_that_cannot_be_used_is_one_line_without_the_password(url):
    with pytest.raises(OperatorError, match="LEADWIRE_SMTP_URL") as refused:
        read(
            {"LEADWIRE_SMTP_URL": url, "LEADWIRE_MAIL_FROM": "a@b.example", "LEADWIRE_PUBLIC_URL": "https://b.example"}
        )
    assert "hidden" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "sender",
    [
        "nobody",
        "a@b\r\nBcc: c@d.example",
        "a@b.example\nX: y",
        "<>",
        "a@bücher.example",
        "ä@b.example",
        "a b@c.example",
    ],
)
def test_a_sender_that_is_no_address_is_refused(sender):
    with pytest.raises(OperatorError, match="LEADWIRE_MAIL_FROM"):
        read({"LEADWIRE_MAIL_FROM": sender})


def test_mail_needs_a_sender_and_an_address_for_links():
    for more in ({}, {"LEADWIRE_MAIL_FROM": "a@b.example"}, {"LEADWIRE_PUBLIC_URL": "https://b.example"}):
        with pytest.raises(OperatorError, match="LEADWIRE_SMTP_URL needs"):
            read({"LEADWIRE_SMTP_URL": "smtp://mail.example", **more})
