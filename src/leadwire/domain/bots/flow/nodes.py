"""A flow is a list of nodes: one sends a message (`say`), waits for the visitor (`ask`, `answer`), decides (`branch`,
`score`) or finishes. Pure.

What each field means is said in `README.md` beside this file: the reference for authors, and the builder's hints.
"""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from leadwire.domain.leads.schema import TEXTS

MAX_NODES: Final = 300
_LINE: Final = r"^[^\x00-\x1f\x7f]*\Z"

NodeId = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]{0,47}\Z")]
Text = Annotated[str, Meta(min_length=1, max_length=2000, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*\Z")]
Label = Annotated[str, Meta(min_length=1, max_length=200, pattern=_LINE)]
SaveTo = Annotated[str, Meta(pattern=rf"^({'|'.join(TEXTS)}|custom_fields\.[a-z][a-z0-9_]{{0,63}})\Z")]
Points = Annotated[int, Meta(ge=-100, le=100)]
Date = Annotated[str, Meta(max_length=20)]
Address = Annotated[str, Meta(min_length=1, max_length=500)]
Variable = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,63}\Z")]
Scalar = Annotated[str, Meta(max_length=500)] | int | float | bool
Order = Literal["gt", "gte", "lt", "lte"]
Op = Literal["eq", "ne", "contains", "ends_with", Order, "in", "is_set", "not_set"]
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
Clock = Annotated[str, Meta(max_length=5)]
Input = Literal["text", "email", "phone", "number", "url", "date", "choice"]


class Condition(Struct, frozen=True, forbid_unknown_fields=True):
    """Compares a variable with a value. Omit `value` for `is_set` and `not_set`; it is a list for `in`."""

    var: Variable
    op: Op
    value: Scalar | Annotated[tuple[Scalar, ...], Meta(max_length=100)] | None = None


class When(Struct, frozen=True, forbid_unknown_fields=True):
    """True if all conditions in `all` are true, and at least one in `any` if that list is not empty."""

    all: Annotated[tuple[Condition, ...], Meta(max_length=20)] = ()
    any: Annotated[tuple[Condition, ...], Meta(max_length=20)] = ()


class Image(Struct, frozen=True, forbid_unknown_fields=True):
    """An image that the widget shows below a message. The visitor's browser loads it."""

    url: Address
    alt: Label


class Link(Struct, frozen=True, forbid_unknown_fields=True):
    """A button below a message that opens a page in a new tab."""

    label: Annotated[str, Meta(min_length=1, max_length=60, pattern=_LINE)]
    url: Address


Links = Annotated[tuple[Link, ...], Meta(max_length=3)]


class Hours(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A span of opening hours, in the time zone of the flow."""

    days: Annotated[tuple[Weekday, ...], Meta(min_length=1, max_length=7)]
    opens: Clock
    closes: Clock


class Node(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", kw_only=True):
    """The fields that every node has."""

    id: NodeId


class Say(Node, frozen=True, forbid_unknown_fields=True, tag="say", kw_only=True):
    """Sends a message and continues."""

    text: Text
    image: Image | None = None
    links: Links = ()
    next: NodeId


class Option(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An answer that the visitor can choose. `next` overrides the `next` of the node."""

    label: Label
    value: Label | None = None
    score: Points = 0
    consent: bool | None = None
    url: Address | None = None
    next: NodeId | None = None

    @property
    def value_or_label(self) -> str:
        """The value to store when the visitor chooses it."""
        return self.label if self.value is None else self.value


class Ask(Node, frozen=True, forbid_unknown_fields=True, tag="ask", kw_only=True):
    """Asks a question, waits for the answer, validates it and stores it.

    The answer's variable is the last part of `save_to`, or else the ID of the node. Another kind of question is a
    subclass with a tag of its own.
    """

    text: Text
    image: Image | None = None
    links: Links = ()
    input: Input = "text"
    save_to: SaveTo | None = None
    options: Annotated[tuple[Option, ...], Meta(max_length=20)] = ()
    placeholder: Label | None = None
    min: float | None = None
    max: float | None = None
    earliest: Date | None = None
    latest: Date | None = None
    retry_text: Text | None = None
    max_retries: Annotated[int, Meta(ge=0, le=10)] = 2
    on_fail: NodeId | None = None
    next: NodeId

    @property
    def variable(self) -> str:
        """The name of the variable that holds its answer."""
        return self.save_to.rpartition(".")[2] if self.save_to else self.id.replace("-", "_")

    @property
    def asks_consent(self) -> bool:
        """Whether an answer can be a consent."""
        return any(option.consent is not None for option in self.options)


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """A condition and the node to continue with if it is true."""

    when: When
    next: NodeId


class Branch(Node, frozen=True, forbid_unknown_fields=True, tag="branch", kw_only=True):
    """Continues with the node of the first case whose condition is true."""

    cases: Annotated[tuple[Case, ...], Meta(min_length=1, max_length=20)]
    otherwise: NodeId


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """Adds points if the condition is true. The lead's page shows the label as the reason."""

    label: Label
    add: Points
    when: When


class Score(Node, frozen=True, forbid_unknown_fields=True, tag="score", kw_only=True):
    """Applies every rule whose condition is true, each once per conversation."""

    rules: Annotated[tuple[Rule, ...], Meta(min_length=1, max_length=50)]
    next: NodeId


class Answer(Node, frozen=True, forbid_unknown_fields=True, tag="answer", kw_only=True):
    """Answers the visitor's questions from the FAQ of the bot, up to `max_turns` of them, then continues with `next`.

    A question that the FAQ does not answer continues with `on_fallback`, or else a person is asked to join.
    """

    text: Text
    again_text: Text | None = None
    max_turns: Annotated[int, Meta(ge=1, le=20)] = 5
    done: Annotated[tuple[Label, ...], Meta(max_length=10)] = ()
    on_fallback: NodeId | None = None
    next: NodeId


class Handoff(Node, frozen=True, forbid_unknown_fields=True, tag="handoff", kw_only=True):
    """Asks a person to join. When the conversation is handed back, the flow continues with `next`, or at the start."""

    text: Text
    reason: Label = "the flow asked for a person"
    next: NodeId | None = None


class End(Node, frozen=True, forbid_unknown_fields=True, tag="end", kw_only=True):
    """Ends the conversation."""

    text: Text | None = None
    image: Image | None = None
    links: Links = ()
    reason: Label = "completed"


AnyNode = Say | Ask | Branch | Score | Answer | Handoff | End
KINDS: Final[dict[str, Any]] = {str(kind.__struct_config__.tag): kind for kind in AnyNode.__args__}
QUESTIONS: Final = frozenset(name for name, kind in KINDS.items() if issubclass(kind, Ask))
"""The names of the kinds that store an answer."""
INPUTS: Final = (Ask, Answer)
"""The kinds of nodes that wait for the visitor."""


class Flow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A complete flow: its nodes, the node to start with, and messages that no node sends."""

    format: Literal[1]
    start: NodeId
    locale: Annotated[str, Meta(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z")] = "en"
    timezone: Annotated[str, Meta(max_length=64)] = "UTC"
    hours: Annotated[tuple[Hours, ...], Meta(max_length=50)] = ()
    closed_on: Annotated[tuple[Date, ...], Meta(max_length=200)] = ()
    title: Label = "Chat"
    nudge_text: Text | None = None
    nudge_minutes: Annotated[int, Meta(ge=1, le=1440)] = 5
    inactivity_minutes: Annotated[int, Meta(ge=1, le=1440)] = 30
    handoff_text: Text = "I have asked a colleague to join. They will answer here."
    away_text: Text = "Nobody is at the desk just now. Leave your e-mail address here, and we will write to you."
    away_known_text: Text = "Nobody is at the desk just now. We will write to you."
    back_text: Text = "We are back on {{next_open}}."
    away_thanks_text: Text = "Thank you. We will write to you there."
    failure_text: Text = "Sorry, something went wrong on my side. I have asked a colleague to help."
    nodes: Annotated[tuple[AnyNode, ...], Meta(min_length=1, max_length=MAX_NODES)]

    @property
    def asks_consent(self) -> bool:
        """Whether an answer can be a consent."""
        return any(isinstance(node, Ask) and node.asks_consent for node in self.nodes)

    def node(self, node_id: str) -> AnyNode:
        """Return the node with this ID. Raise KeyError if there is none: not in a flow that was checked."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)
