"""What is an e-mail address, and that it is the same wherever one enters."""

import pytest

from leadwire.domain.accounts.sso.changes import sign_in
from leadwire.domain.accounts.sso.faults import SignOnRefused
from leadwire.domain.accounts.sso.reads import Provider
from leadwire.domain.accounts.sso.tokens import Claims
from leadwire.domain.leads import identity
from leadwire.domain.mail import compose
from leadwire.infrastructure import email_address
from leadwire.infrastructure.errors import Invalid

NONE = [
    "ada", "@example.org", "ada@", "ada@@example.org", "ada@beta.example@example.org", "ada@example.org@beta.example",
    "ada@example.org, eve@example.org", "Ada <ada@example.org>", "<ada@example.org>", "ada@example.org\r\nBcc: eve",
    "a\nda@example.org", "ada\0@example.org", '"ada"@example.org', "ada@[127.0.0.1]", "ada(eve)@example.org",
    f"{'a' * 65}@example.org", f"ada@{'a.' * 130}org", "ada@exa mple.org", "ada@-.org", "ada@example..org", "",
]  # fmt: skip
PROVIDER = Provider("idp_1", "ws_1", "Acme", "https://id.example", "c", None, ["example.org"], True, None, "", {})


@pytest.mark.parametrize("text", NONE)
def test_what_is_none_enters_nowhere(text):
    with pytest.raises(ValueError):
        email_address.read(text)
    with pytest.raises(ValueError):
        identity.email(text)
    with pytest.raises(Invalid):
        compose.address(text)
    with pytest.raises(SignOnRefused):
        sign_in._email(PROVIDER, Claims(iss="", sub="s", aud="c", exp=0, iat=0, email=text))


@pytest.mark.parametrize("text", ["Ada@Example.org", " ada@example.org ", "a.d+a@example.org", "jürgen@example.org"])
def test_an_address_enters_everywhere(text):
    read = email_address.read(text)
    assert read.ascii_domain == "example.org"
    address = f"{read.local_part}@example.org"
    assert identity.email(text) == address
    assert compose.address(text) == address.lower()
    claims = Claims(iss="", sub="s", aud="c", exp=0, iat=0, email=text)
    assert sign_in._email(PROVIDER, claims) == (address.lower(), "example.org")


def test_what_is_far_too_long_is_refused_before_its_accents_are_put_in_order():
    text = "a" + "\u0301\u0323" * 15_000 + "@example.org"
    with pytest.raises(ValueError, match="The address is too long"):
        email_address.read(text)
    assert email_address.normal(text) == text
