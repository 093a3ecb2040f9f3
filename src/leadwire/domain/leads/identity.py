"""E-mail addresses and phone numbers in one normal form each, by which `changes` recognizes a person. Pure."""

import re
from typing import Final

import phonenumbers

from leadwire.infrastructure import email_address

_EXTENSION: Final = re.compile(r"(?:ext|x)[^a-z]*$", re.IGNORECASE)


def email(text: str) -> str:
    """`text` trimmed, its domain in lower case (RFC 5321 section 2.4). Raise ValueError when it is no address."""
    parts = email_address.read(text, dotted=True)
    return f"{parts.local_part}@{parts.domain.lower()}"


def sought(text: str) -> str:
    """An address that somebody looks for, in the same form. What is none stays as it is."""
    try:
        return email(text)
    except ValueError:
        return text.strip()


def phone(text: str) -> str:
    """E.164 (`+15550100`) where it parses, else as typed, trimmed. Raise ValueError when it cannot be a number."""
    typed = text.strip()
    number = _EXTENSION.sub("", typed)
    if sum(character.isdecimal() for character in number) < 3 or any(character.isalpha() for character in number):
        raise ValueError("Not a phone number.")
    try:
        parsed = phonenumbers.parse(typed, None)
    except phonenumbers.NumberParseException:
        return typed
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
