"""What a bot is: a flow of nodes, as data. No expression language, no code in it.

A node either speaks (`say`), waits for the visitor (`ask`, `answer`), decides (`branch`, `score`) or finishes
(`handoff`, `end`). `bots.parse` reads flows from TOML or JSON, `bots.check` finds what is wrong with one,
`bots.engine` runs it. Pure.
"""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

MAX_NODES: Final = 300

NodeId = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]{0,47}\Z")]
Variable = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,63}\Z")]
Text = Annotated[str, Meta(min_length=1, max_length=2000, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*\Z")]
Label = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*\Z")]
SaveTo = Annotated[str, Meta(pattern=r"^(email|name|phone|company|custom_fields\.[a-z][a-z0-9_]{0,63})\Z")]
Points = Annotated[int, Meta(ge=-100, le=100)]
Scalar = Annotated[str, Meta(max_length=500)] | int | float | bool
Input = Literal["text", "email", "phone", "number", "url", "choice"]
Order = Literal["gt", "gte", "lt", "lte"]
Op = Literal["eq", "ne", "contains", "ends_with", Order, "in", "is_set", "not_set"]


class Condition(Struct, frozen=True, forbid_unknown_fields=True):
    """One comparison of a variable; `value` is left out for `is_set` and `not_set`, a list for `in`."""

    var: Variable
    """Which variable: one that a node of the flow sets, or a derived one."""
    op: Op
    """The operator."""
    value: Scalar | Annotated[tuple[Scalar, ...], Meta(max_length=100)] | None = None
    """What the variable is compared with."""


class When(Struct, frozen=True, forbid_unknown_fields=True):
    """True when every condition of `all` is, and one of `any` if there are some."""

    all: Annotated[tuple[Condition, ...], Meta(max_length=20)] = ()
    """Each of them has to hold."""
    any: Annotated[tuple[Condition, ...], Meta(max_length=20)] = ()
    """If there are some, one of them has to hold."""


class Node(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", kw_only=True):
    """What every node has."""

    id: NodeId
    """What other nodes and conditions call it; no two nodes share one."""


class Say(Node, frozen=True, forbid_unknown_fields=True, tag="say", kw_only=True):
    """Say something and go on."""

    text: Text
    """What is said."""
    next: NodeId
    """The node after it."""


class Option(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One answer of a choice. `value` is what is kept, by default the label; `next` overrides the node's."""

    label: Label
    """What the visitor sees and picks."""
    value: Label | None = None
    """What is kept and compared; by default the label."""
    score: Points = 0
    """Points for picking it, once per conversation."""
    next: NodeId | None = None
    """The node after it; by default that of the `ask`."""

    @property
    def value_or_label(self) -> str:
        """What is stored when it is chosen."""
        return self.label if self.value is None else self.value


class Ask(Node, frozen=True, forbid_unknown_fields=True, tag="ask", kw_only=True):
    """Ask, wait, check the answer, keep it.

    The answer's variable is the last part of `save_to`, else the node's id.
    """

    text: Text
    """The question."""
    input: Input = "text"
    """Which answers fit."""
    save_to: SaveTo | None = None
    """The field of the lead that the answer fills; without it only the flow knows."""
    options: Annotated[tuple[Option, ...], Meta(max_length=20)] = ()
    """What there is to choose from: for `choice`, and only there."""
    placeholder: Label | None = None
    """An example, shown in the empty field."""
    min: float | None = None
    """The least that fits, for `number` only."""
    max: float | None = None
    """The most that fits, for `number` only."""
    retry_text: Text | None = None
    """What is said to an answer that does not fit; by default the question again."""
    max_retries: Annotated[int, Meta(ge=0, le=10)] = 2
    """How often the question is asked again."""
    on_fail: NodeId | None = None
    """The node after the last answer that does not fit; without it a person is asked for."""
    next: NodeId
    """The node after an answer that fits."""

    @property
    def variable(self) -> str:
        """The name its answer goes by."""
        return self.save_to.rpartition(".")[2] if self.save_to else self.id.replace("-", "_")


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """Where to go when it holds."""

    when: When
    """The condition."""
    next: NodeId
    """The node if it holds."""


class Branch(Node, frozen=True, forbid_unknown_fields=True, tag="branch", kw_only=True):
    """Go where the first case that holds says."""

    cases: Annotated[tuple[Case, ...], Meta(min_length=1, max_length=20)]
    """Tried from the first to the last."""
    otherwise: NodeId
    """The node if none holds."""


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """Points for a visitor about whom `when` holds; the label explains them on the lead's page."""

    label: Label
    """Why, for the lead's page; no two rules of a node share one."""
    add: Points
    """How many points; negative ones take away."""
    when: When
    """The condition."""


class Score(Node, frozen=True, forbid_unknown_fields=True, tag="score", kw_only=True):
    """Apply every rule that holds, each once per conversation."""

    rules: Annotated[tuple[Rule, ...], Meta(min_length=1, max_length=50)]
    """All of them are looked at."""
    next: NodeId
    """The node after it."""


class Answer(Node, frozen=True, forbid_unknown_fields=True, tag="answer", kw_only=True):
    """Answer free questions from what the bot has been taught, at most `max_turns`, then go on at `next`.

    A question nobody taught it goes on at `on_fallback`; without one a person is asked for. `done` are words with
    which the visitor says that there is no further question.
    """

    text: Text
    """What invites the first question."""
    again_text: Text | None = None
    """What is said after each answer but the last."""
    max_turns: Annotated[int, Meta(ge=1, le=20)] = 5
    """How many questions are answered."""
    done: Annotated[tuple[Label, ...], Meta(max_length=10)] = ()
    """More words that mean: no further question."""
    on_fallback: NodeId | None = None
    """The node after a question nobody taught; without it a person is asked for."""
    next: NodeId
    """The node after the last answer."""


class Handoff(Node, frozen=True, forbid_unknown_fields=True, tag="handoff", kw_only=True):
    """Ask for a person. Handed back to the bot, the flow goes on at `next`, else at the start."""

    text: Text
    """What is said to the visitor."""
    reason: Label = "the flow asked for a person"
    """Why, for the people in the inbox."""
    next: NodeId | None = None
    """The node when it is handed back; without it the start."""


class End(Node, frozen=True, forbid_unknown_fields=True, tag="end", kw_only=True):
    """Say goodbye and close the conversation."""

    text: Text | None = None
    """What is said last."""
    reason: Label = "completed"
    """Why, for the conversation's page and its event."""


AnyNode = Say | Ask | Branch | Score | Answer | Handoff | End
INPUTS: Final = (Ask, Answer)
"""The nodes that wait for the visitor."""


class Flow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole flow: where it starts, its nodes, and what is said besides theirs."""

    format: Literal[1]
    """The version of this format."""
    start: NodeId
    """The first node."""
    locale: Annotated[str, Meta(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z")] = "en"
    """The language of the widget's own words, such as `de` or `pt-BR`."""
    title: Label = "Chat"
    """The widget's heading."""
    nudge_text: Text | None = None
    """Said once to a visitor who has gone silent; without it nothing is."""
    nudge_minutes: Annotated[int, Meta(ge=1, le=1440)] = 5
    """Minutes of silence before that."""
    inactivity_minutes: Annotated[int, Meta(ge=1, le=1440)] = 30
    """Minutes of silence, the nudge's included, before the conversation is ended."""
    handoff_text: Text = "I have asked a colleague to join. They will answer here."
    """Said when a person is asked for and no `handoff` node says it."""
    away_text: Text = "Nobody is at the desk just now. Leave your e-mail address here, and we will write to you."
    """Said after a handoff when nobody has the inbox open and no e-mail address is known."""
    away_known_text: Text = "Nobody is at the desk just now. We will write to you."
    """Said instead to a visitor whose e-mail address is known."""
    away_thanks_text: Text = "Thank you. We will write to you there."
    """Said when the visitor leaves an e-mail address then."""
    failure_text: Text = "Sorry, something went wrong on my side. I have asked a colleague to help."
    """Said when the bot itself fails."""
    nodes: Annotated[tuple[AnyNode, ...], Meta(min_length=1, max_length=MAX_NODES)]
    """The nodes, in any order."""

    def node(self, node_id: str) -> AnyNode:
        """The node of that id. Raises KeyError, which a checked flow never does."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)
