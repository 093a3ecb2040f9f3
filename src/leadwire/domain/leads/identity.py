"""E-mail addresses and phone numbers in one normal form each, by which `changes` recognizes a person. Pure."""

import re
from typing import Final

import email_validator
import phonenumbers

# Only the form is checked, so that addresses on a company's `.local` or `.test` domain are valid.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()

_LONGEST_LOCAL_PART: Final = 64  # octets (RFC 5321 section 4.5.3.1.1); the library minds the whole address only
_EXTENSION: Final = re.compile(r"(?:ext|x)[^a-z]*$", re.IGNORECASE)


def email(text: str) -> str:
    """`text` trimmed, its domain in lower case (RFC 5321 section 2.4). Raise ValueError when it is no address."""
    try:
        parts = email_validator.validate_email(text.strip(), check_deliverability=False)
    except email_validator.EmailNotValidError as error:
        raise ValueError(str(error)) from error
    if len(parts.local_part.encode()) > _LONGEST_LOCAL_PART:
        raise ValueError(f"The part before the @-sign is longer than {_LONGEST_LOCAL_PART} bytes.")
    return f"{parts.local_part}@{parts.domain.lower()}"


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
