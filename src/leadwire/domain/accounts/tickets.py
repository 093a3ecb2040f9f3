"""Tickets: what a browser keeps for us for a while, and can neither read nor make up."""

from leadwire.infrastructure import clock, secret_box
from leadwire.infrastructure.errors import OperatorError


def sealed(purpose: str, owner: str, text: str, life: int) -> str:
    """Return a ticket for `life` seconds. `purpose` and `owner` have no spaces."""
    return secret_box.get().seal(f"{purpose} {owner} {int(clock.now().timestamp()) + life} {text}").hex()


def opened(purpose: str, ticket: str) -> tuple[str, str]:
    """Return the owner and the text of a ticket for this purpose; empty for anything else, or after its time."""
    try:
        made_for, owner, until, text = secret_box.get().open(bytes.fromhex(ticket)).split(" ", 3)
    except (ValueError, OperatorError):
        return "", ""
    return (owner, text) if made_for == purpose and int(until) >= clock.now().timestamp() else ("", "")
