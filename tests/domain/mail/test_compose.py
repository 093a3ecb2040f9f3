"""What a mail says: text, the same as HTML, and headers that no value can add to."""

import pytest

from leadwire.domain.mail import compose
from leadwire.domain.mail.schema import URGENT, Claimed, Contents
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import Invalid
from leadwire.infrastructure.settings import Settings

BASE = "https://leads.example"
SETTINGS = Settings(mail_from="Lëadwire <noreply@leads.example>", public_url=BASE)
VALUES = {
    "by": "ada@example.org", "workspace": "Test", "role": "agent", "path": "/join/token", "days": 3, "at": "today",
    "address": "1.2.3.4", "agent": "Firefox", "name": "Phone", "left": "7",
    "domain": "example.org", "until": "1 May 2026", "record": "leadwire-domain-verification=0",
}  # fmt: skip


def message(kind="invitation", recipient="eve@example.org", unsubscribe="", **values):
    mail = Claimed("mail_1", "ws_1", kind, recipient, b"", 0, clock.now(), clock.now(), False)
    return compose.message(mail, Contents(VALUES | values, unsubscribe), SETTINGS)


@pytest.mark.parametrize("kind", URGENT)
def test_every_kind_is_written(kind):
    made = compose.content(kind, Contents(VALUES), BASE)
    assert made.subject
    assert "\n" not in made.subject
    assert "{" not in made.text + made.subject
    assert made.text.startswith(made.text.strip()[:10])


def test_a_link_of_ours_is_a_button_and_others_are_text():
    made = compose.content("invitation", Contents(VALUES | {"workspace": "see https://evil.example/"}), BASE)
    assert made.html.count("<a ") == 1
    assert f'<a href="{BASE}/join/token"' in made.html
    assert ">Join, with a new account or the one that you have</a>" in made.html
    assert f"{BASE}/join/token" in made.text


def test_what_looks_like_html_is_text():
    made = compose.content("invitation", Contents(VALUES | {"workspace": '<img src="x">&amp;'}), BASE)
    assert "<img" not in made.html
    assert "&lt;img src=&#34;x&#34;&gt;&amp;amp;" in made.html
    assert '<img src="x">&amp;' in made.text


@pytest.mark.parametrize("bad", ["Test\r\nBcc: mal@example.org", "Test\nX: y", "Test\u2028X: y", "Te\0st", "Te\x85st"])
def test_a_value_adds_no_header(bad):
    made = message(workspace=bad)
    assert set(made.keys()) == {
        "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type",
    }  # fmt: skip
    head = made.as_bytes().partition(b"\n\n")[0]
    assert not any(line.lower().startswith((b"bcc", b"x:")) for line in head.splitlines())


@pytest.mark.parametrize("bad", ["eve@example.org\r\nBcc: mal@example.org", "eve", "Eve <eve@example.org>", ""])
def test_a_recipient_that_is_no_address_is_refused(bad):
    with pytest.raises(Invalid):
        message(recipient=bad)


def test_a_path_that_would_end_further_mails_adds_no_header():
    with pytest.raises(ValueError, match="linefeed"):
        message(unsubscribe="/unsubscribe/x\r\nBcc: mal@example.org")


def test_one_click_ends_further_mails():
    made = message(unsubscribe="/unsubscribe/token")
    assert made["List-Unsubscribe"] == f"<{BASE}/unsubscribe/token>"
    assert made["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    text, html = made.iter_parts()
    assert f"{BASE}/unsubscribe/token" in text.get_content()
    assert f'href="{BASE}/unsubscribe/token"' in html.get_content()
    assert message()["List-Unsubscribe"] is None


def test_a_long_subject_is_cut():
    assert len(message(workspace="x" * 1000)["Subject"]) == 200


def test_a_value_that_is_missing_is_told():
    with pytest.raises(Invalid, match="'by' is undefined"):
        compose.content("invitation", Contents({}), BASE)


def test_the_sender_has_a_name():
    made = message()
    assert str(made["From"]) == "Lëadwire <noreply@leads.example>"
    assert made["Message-ID"] == "<mail_1@leads.example>"
    made.as_bytes().decode("ascii")
