"""E-mail addresses, read in the same way wherever one enters. Only the form is checked: whether mail arrives is not."""

from typing import Final

import email_validator
from email_validator import ValidatedEmail

email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()  # a company's own `.local` or `.test`
_LONGEST: Final = 1000  # characters as typed; the library puts accents in order before it counts, for seconds if many
_LONGEST_LOCAL_PART: Final = 64  # octets (RFC 5321 section 4.5.3.1.1); the library minds the whole address only


def normal(text: str) -> str:
    """An address as accounts have it, however it is typed: in lower case, its domain as people write it. What is none
    stays as it is.
    """
    try:
        return read(text).normalized.lower()
    except ValueError:
        return text.strip().lower()


def read(text: str, *, dotted: bool = False) -> ValidatedEmail:
    """Return the parts of one address and nothing else; its domain must have a dot if `dotted`.

    Raise ValueError, as for two @, a line break or a name before it.
    """
    if len(text) > _LONGEST:
        raise ValueError("The address is too long.")
    parts = email_validator.validate_email(text.strip(), check_deliverability=False, globally_deliverable=dotted)
    if len(parts.local_part.encode()) > _LONGEST_LOCAL_PART:
        raise ValueError(f"The part before the @-sign is longer than {_LONGEST_LOCAL_PART} bytes.")
    return parts
