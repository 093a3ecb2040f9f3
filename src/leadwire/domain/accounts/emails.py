"""The one form of a user's e-mail address. Pure."""

import email_validator

from leadwire.infrastructure.errors import FieldError, Invalid


def normal(text: str) -> str:
    """`text` trimmed and in lower case. Raises Invalid when it is no address."""
    try:  # an office's own `.local` domain will do: whether mail arrives is not our question
        parts = email_validator.validate_email(text.strip(), check_deliverability=False, globally_deliverable=False)
    except email_validator.EmailNotValidError as error:
        message = "This is not an e-mail address."
        raise Invalid(message, faults=(FieldError("not_an_email", message, "/email"),)) from error
    return parts.normalized.lower()
