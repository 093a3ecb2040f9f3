"""What everybody who deals with a conversation may be told: there is none, or it is over."""

from leadwire.infrastructure.errors import Conflict, NotFound


def unknown() -> NotFound:
    """There is no such conversation in the workspace."""
    return NotFound("There is no such conversation.")


def ended() -> Conflict:
    """It has ended for good: what a visitor says then begins a new one, which the widget does by this code."""
    return Conflict("The conversation has ended.", code="conversation_ended")
