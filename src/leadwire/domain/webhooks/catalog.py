"""The catalog of events, for people who choose: what each means and when it is sent. Pure."""

from typing import Final

from msgspec import Struct


class EventInfo(Struct, frozen=True):
    """One kind of event."""

    kind: str
    title: str
    about: str
    """When it is sent."""
    data: str
    """What it carries."""


GROUPS: Final[dict[str, tuple[EventInfo, ...]]] = {
    "Leads": (
        EventInfo(
            "lead.created",
            "New lead",
            "A visitor left an e-mail address or a phone number for the first time.",
            "The lead, with where it came from, its bot and its conversation.",
        ),
        EventInfo(
            "lead.updated",
            "Lead changed",
            "A lead's data or score changed: by an answer, through the API, or by a person. One event for each change.",
            "The lead, and the previous values of what changed.",
        ),
        EventInfo(
            "lead.deleted",
            "Lead erased",
            "A lead was erased, so that your systems can erase it, too.",
            "The lead's id only.",
        ),
    ),
    "Conversations": (
        EventInfo(
            "conversation.started",
            "Conversation started",
            "A visitor sent the first message.",
            "The conversation, with the page, the language and the browser.",
        ),
        EventInfo(
            "conversation.handoff",
            "Person asked for",
            "A visitor or the flow asked for a person, or an operator took over.",
            "The conversation, the reason, and the lead if there is one.",
        ),
        EventInfo(
            "conversation.ended",
            "Conversation ended",
            "A conversation was closed: by the visitor, the bot, an operator, the API, or after silence.",
            "The conversation, who ended it and why, and the lead if there is one.",
        ),
    ),
    "Messages": (
        EventInfo(
            "message.received",
            "Message from a visitor",
            "A visitor wrote something or chose an answer. Frequent.",
            "The message, its conversation and its bot.",
        ),
        EventInfo(
            "message.sent",
            "Message to a visitor",
            "The bot or an operator wrote something. Frequent.",
            "The message, its conversation and its bot.",
        ),
    ),
    "Audit log": (
        EventInfo(
            "audit.recorded",
            "Audit entry",
            "Somebody signed in, changed a setting or looked at personal data. For your security team's log.",
            "The entry: who, what, when and from which network.",
        ),
    ),
}
"""Every kind that an endpoint can subscribe to, in groups."""
