"""Tickets: what a browser keeps for us for a while, and can neither read nor make up."""

from leadwire.infrastructure import clock, secret_box
from leadwire.infrastructure.errors import OperatorError


def sealed(purpose: str, user_id: str, text: str, life: int) -> str:
    """Return a ticket for `life` seconds. None of the parts has a space."""
    return secret_box.get().seal(f"{purpose} {user_id} {int(clock.now().timestamp()) + life} {text}").hex()


def opened(purpose: str, ticket: str) -> tuple[str, str]:
    """Return the user and the text of a ticket for this purpose; empty for anything else, or after its time."""
    try:
        made_for, user_id, until, text = secret_box.get().open(bytes.fromhex(ticket)).split(" ")
    except (ValueError, OperatorError):
        return "", ""
    return (user_id, text) if made_for == purpose and int(until) >= clock.now().timestamp() else ("", "")
