"""A flow is a list of nodes: one sends a message (`say`), waits for the visitor (`ask`, `answer`), decides (`branch`,
`score`) or finishes. Pure.
"""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from leadwire.domain.bots.flow.attachments import Address, Image, Link
from leadwire.domain.bots.flow.expressions import When
from leadwire.domain.bots.flow.hours import Hours, Schedule

MAX_NODES: Final = 300

NodeId = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]{0,47}\Z")]
Text = Annotated[str, Meta(min_length=1, max_length=2000, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*\Z")]
Label = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*\Z")]
SaveTo = Annotated[str, Meta(pattern=r"^(email|name|phone|company|custom_fields\.[a-z][a-z0-9_]{0,63})\Z")]
Points = Annotated[int, Meta(ge=-100, le=100)]
Date = Annotated[str, Meta(max_length=20)]
Input = Literal["text", "email", "phone", "number", "url", "date", "choice"]


class Node(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", kw_only=True):
    """The fields that every node has."""

    id: NodeId
    """The ID of the node, by which other nodes refer to it. Must be unique within the flow."""


class Say(Node, frozen=True, forbid_unknown_fields=True, tag="say", kw_only=True):
    """Sends a message and continues."""

    text: Text
    """The message to send."""
    image: Image | None = None
    """An image to show below the text."""
    links: Annotated[tuple[Link, ...], Meta(max_length=3)] = ()
    """Buttons to show below the text, each of which opens a page."""
    next: NodeId
    """The node to continue with."""


class Option(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An answer that the visitor can choose. `next` overrides the `next` of the node."""

    label: Label
    """The text of the answer that the visitor sees."""
    value: Label | None = None
    """The value to store and to compare. Defaults to the label."""
    score: Points = 0
    """Points to add when the visitor chooses it, once per conversation."""
    consent: bool | None = None
    """If set, choosing it is recorded as consent to the node's text (`true`), or as its refusal (`false`)."""
    url: Address | None = None
    """The address of a page, which begins with `https://`. If set, choosing it also opens the page in a new tab."""
    next: NodeId | None = None
    """The node to continue with. Defaults to the `next` of the `ask` node."""

    @property
    def value_or_label(self) -> str:
        """The value to store when the visitor chooses it."""
        return self.label if self.value is None else self.value


class Ask(Node, frozen=True, forbid_unknown_fields=True, tag="ask", kw_only=True):
    """Asks a question, waits for the answer, validates it and stores it.

    The answer's variable is the last part of `save_to`, or else the ID of the node.
    """

    text: Text
    """The question to ask."""
    image: Image | None = None
    """An image to show below the text."""
    links: Annotated[tuple[Link, ...], Meta(max_length=3)] = ()
    """Buttons to show below the text, each of which opens a page."""
    input: Input = "text"
    """The kind of answer to accept."""
    save_to: SaveTo | None = None
    """The field of the lead to store the answer in. If omitted, only the flow can use the answer."""
    options: Annotated[tuple[Option, ...], Meta(max_length=20)] = ()
    """The answers to choose from. Required for `choice`, not allowed for other inputs."""
    placeholder: Label | None = None
    """An example to show in the empty input field."""
    min: float | None = None
    """The smallest number to accept. For `number` only."""
    max: float | None = None
    """The largest number to accept. For `number` only."""
    earliest: Date | None = None
    """The first date to accept: a date such as `2027-01-31`, `today`, or `today+14`. For `date` only."""
    latest: Date | None = None
    """The last date to accept, written as `earliest`. For `date` only."""
    retry_text: Text | None = None
    """The message to send after an invalid answer. Defaults to the question."""
    max_retries: Annotated[int, Meta(ge=0, le=10)] = 2
    """How many times to ask again after an invalid answer."""
    on_fail: NodeId | None = None
    """The node to continue with after the last invalid answer. If omitted, a person is asked to join."""
    next: NodeId
    """The node to continue with after a valid answer."""

    @property
    def variable(self) -> str:
        """The name of the variable that holds its answer."""
        return self.save_to.rpartition(".")[2] if self.save_to else self.id.replace("-", "_")


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """A condition and the node to continue with if it is true."""

    when: When
    """The condition to evaluate."""
    next: NodeId
    """The node to continue with if the condition is true."""


class Branch(Node, frozen=True, forbid_unknown_fields=True, tag="branch", kw_only=True):
    """Continues with the node of the first case whose condition is true."""

    cases: Annotated[tuple[Case, ...], Meta(min_length=1, max_length=20)]
    """The cases, evaluated in order."""
    otherwise: NodeId
    """The node to continue with if no case is true."""


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """Adds points if the condition is true. The lead's page shows the label as the reason."""

    label: Label
    """The reason to show on the lead's page. Must be unique within the node."""
    add: Points
    """How many points to add. A negative number subtracts points."""
    when: When
    """The condition to evaluate."""


class Score(Node, frozen=True, forbid_unknown_fields=True, tag="score", kw_only=True):
    """Applies every rule whose condition is true, each once per conversation."""

    rules: Annotated[tuple[Rule, ...], Meta(min_length=1, max_length=50)]
    """The rules. All of them are evaluated."""
    next: NodeId
    """The node to continue with."""


class Answer(Node, frozen=True, forbid_unknown_fields=True, tag="answer", kw_only=True):
    """Answers the visitor's questions from the FAQ of the bot, up to `max_turns` of them, then continues with `next`.

    A question that the FAQ does not answer continues with `on_fallback`, or else a person is asked to join.
    """

    text: Text
    """The message that invites the first question."""
    again_text: Text | None = None
    """The message to send after each answer except the last."""
    max_turns: Annotated[int, Meta(ge=1, le=20)] = 5
    """How many questions to answer."""
    done: Annotated[tuple[Label, ...], Meta(max_length=10)] = ()
    """More phrases by which the visitor says that there are no further questions."""
    on_fallback: NodeId | None = None
    """The node to continue with if the FAQ has no answer. If omitted, a person is asked to join."""
    next: NodeId
    """The node to continue with after the last answer."""


class Handoff(Node, frozen=True, forbid_unknown_fields=True, tag="handoff", kw_only=True):
    """Asks a person to join. When the conversation is handed back, the flow continues with `next`, or at the start."""

    text: Text
    """The message to send to the visitor."""
    reason: Label = "the flow asked for a person"
    """The reason to show in the inbox."""
    next: NodeId | None = None
    """The node to continue with if the conversation is handed back. Defaults to the start."""


class End(Node, frozen=True, forbid_unknown_fields=True, tag="end", kw_only=True):
    """Ends the conversation."""

    text: Text | None = None
    """The last message to send."""
    image: Image | None = None
    """An image to show below the text."""
    links: Annotated[tuple[Link, ...], Meta(max_length=3)] = ()
    """Buttons to show below the text, each of which opens a page."""
    reason: Label = "completed"
    """The reason to show on the conversation's page and to send in its event."""


AnyNode = Say | Ask | Branch | Score | Answer | Handoff | End
KINDS: Final[dict[str, Any]] = {str(kind.__struct_config__.tag): kind for kind in AnyNode.__args__}
INPUTS: Final = (Ask, Answer)
"""The kinds of nodes that wait for the visitor."""


class Flow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A complete flow: its nodes, the node to start with, and messages that no node sends."""

    format: Literal[1]
    """The version of this format."""
    start: NodeId
    """The node to start with."""
    locale: Annotated[str, Meta(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z")] = "en"
    """The language of the widget's own text, such as `de` or `pt-BR`."""
    timezone: Annotated[str, Meta(max_length=64)] = "UTC"
    """The time zone of `hours` and of `today`, such as `Europe/Berlin`."""
    hours: Annotated[tuple[Hours, ...], Meta(max_length=50)] = ()
    """The opening hours. Without any, it is always open."""
    closed_on: Annotated[tuple[Date, ...], Meta(max_length=200)] = ()
    """Dates such as `2026-12-25` on which it is closed all day."""
    title: Label = "Chat"
    """The heading of the widget."""
    nudge_text: Text | None = None
    """The message to send, once, to a visitor who does not answer. If omitted, none is sent."""
    nudge_minutes: Annotated[int, Meta(ge=1, le=1440)] = 5
    """Minutes without an answer before `nudge_text` is sent."""
    inactivity_minutes: Annotated[int, Meta(ge=1, le=1440)] = 30
    """Minutes without an answer, including `nudge_minutes`, before the conversation ends."""
    handoff_text: Text = "I have asked a colleague to join. They will answer here."
    """The message to send for a handoff without a `handoff` node."""
    away_text: Text = "Nobody is at the desk just now. Leave your e-mail address here, and we will write to you."
    """The message to send after a handoff if nobody has the inbox open and the visitor's e-mail address is unknown."""
    away_known_text: Text = "Nobody is at the desk just now. We will write to you."
    """The message to send instead if the visitor's e-mail address is known."""
    back_text: Text = "We are back on {{next_open}}."
    """The sentence to add to these outside the opening hours."""
    away_thanks_text: Text = "Thank you. We will write to you there."
    """The message to send when the visitor then leaves an e-mail address."""
    failure_text: Text = "Sorry, something went wrong on my side. I have asked a colleague to help."
    """The message to send if the bot fails."""
    nodes: Annotated[tuple[AnyNode, ...], Meta(min_length=1, max_length=MAX_NODES)]
    """The nodes, in any order."""

    @property
    def asks_consent(self) -> bool:
        """Whether an answer can be a consent."""
        return any(isinstance(one, Ask) and any(o.consent is not None for o in one.options) for one in self.nodes)

    @property
    def schedule(self) -> Schedule:
        """When it is open."""
        return Schedule(self.timezone, self.hours, self.closed_on)

    def node(self, node_id: str) -> AnyNode:
        """Return the node with this ID. Raise KeyError if there is none: not in a flow that was checked."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)
