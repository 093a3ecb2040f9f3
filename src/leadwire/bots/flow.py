"""What a bot is: a flow of nodes, as data. No expression language, no code in it.

A node either speaks (`say`), waits for the visitor (`ask`, `answer`), decides (`branch`, `score`) or finishes
(`handoff`, `end`). `bots.parse` reads flows from TOML or JSON, `bots.check` finds what is wrong with one,
`bots.engine` runs it. Pure.
"""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

MAX_NODES: Final = 300
MAX_TEXT: Final = 4000  # characters of one message, the visitor's too

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
    """One comparison of a variable; `value` is left out for `is_set` and `not_set`, a list for `in`.

    Texts are compared without regard to case. `ends_with` takes a text: `.edu` of an `email_domain`, say.
    """

    var: Variable
    op: Op
    value: Scalar | Annotated[tuple[Scalar, ...], Meta(max_length=100)] | None = None


class When(Struct, frozen=True, forbid_unknown_fields=True):
    """True when every condition of `all` is, and one of `any` if there are some."""

    all: Annotated[tuple[Condition, ...], Meta(max_length=20)] = ()
    any: Annotated[tuple[Condition, ...], Meta(max_length=20)] = ()


class Node(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", kw_only=True):
    """What every node has."""

    id: NodeId


class Say(Node, frozen=True, forbid_unknown_fields=True, tag="say", kw_only=True):
    """Say something and go on."""

    text: Text
    next: NodeId


class Option(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One answer of a choice. `value` is what is kept, by default the label; `next` overrides the node's."""

    label: Label
    value: Label | None = None
    score: Points = 0
    next: NodeId | None = None

    @property
    def kept(self) -> str:
        """What is stored when it is chosen."""
        return self.label if self.value is None else self.value


class Ask(Node, frozen=True, forbid_unknown_fields=True, tag="ask", kw_only=True):
    """Ask, wait, check the answer, keep it.

    The answer's variable is the last part of `save_to`, else the node's id. After `max_retries` answers that do not
    fit, the flow goes on at `on_fail`; without one a person is asked for.
    """

    text: Text
    input: Input = "text"
    save_to: SaveTo | None = None
    options: Annotated[tuple[Option, ...], Meta(max_length=20)] = ()
    placeholder: Label | None = None
    min: float | None = None
    max: float | None = None
    retry_text: Text | None = None
    max_retries: Annotated[int, Meta(ge=0, le=10)] = 2
    on_fail: NodeId | None = None
    next: NodeId

    @property
    def variable(self) -> str:
        """The name its answer goes by."""
        return self.save_to.rpartition(".")[2] if self.save_to else self.id.replace("-", "_")


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """Where to go when it holds."""

    when: When
    next: NodeId


class Branch(Node, frozen=True, forbid_unknown_fields=True, tag="branch", kw_only=True):
    """Go where the first case that holds says."""

    cases: Annotated[tuple[Case, ...], Meta(min_length=1, max_length=20)]
    otherwise: NodeId


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """Points for a visitor about whom `when` holds; the label explains them on the lead's page."""

    label: Label
    add: Points
    when: When


class Score(Node, frozen=True, forbid_unknown_fields=True, tag="score", kw_only=True):
    """Apply every rule that holds, each once per conversation."""

    rules: Annotated[tuple[Rule, ...], Meta(min_length=1, max_length=50)]
    next: NodeId


class Answer(Node, frozen=True, forbid_unknown_fields=True, tag="answer", kw_only=True):
    """Answer free questions from what the bot has been taught, at most `max_turns`, then go on at `next`.

    A question nobody taught it goes on at `on_fallback`; without one a person is asked for. `done` are words with
    which the visitor says that there is no further question.
    """

    text: Text
    again_text: Text | None = None
    max_turns: Annotated[int, Meta(ge=1, le=20)] = 5
    done: Annotated[tuple[Label, ...], Meta(max_length=10)] = ()
    on_fallback: NodeId | None = None
    next: NodeId


class Handoff(Node, frozen=True, forbid_unknown_fields=True, tag="handoff", kw_only=True):
    """Ask for a person. Handed back to the bot, the flow goes on at `next`, else at the start."""

    text: Text
    reason: Label = "the flow asked for a person"
    next: NodeId | None = None


class End(Node, frozen=True, forbid_unknown_fields=True, tag="end", kw_only=True):
    """Say goodbye and close the conversation."""

    text: Text | None = None
    reason: Label = "completed"


AnyNode = Say | Ask | Branch | Score | Answer | Handoff | End
INPUTS: Final = (Ask, Answer)
"""The nodes that wait for the visitor."""


class Flow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole flow. `nudge_text` is said once after `nudge_minutes` of silence; the `away` texts follow a handoff when
    nobody has the inbox open: the first where no e-mail address is known, the last when one was given then.
    """

    format: Literal[1]
    start: NodeId
    locale: Annotated[str, Meta(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z")] = "en"
    title: Label = "Chat"
    nudge_text: Text | None = None
    nudge_minutes: Annotated[int, Meta(ge=1, le=1440)] = 5
    inactivity_minutes: Annotated[int, Meta(ge=1, le=1440)] = 30
    handoff_text: Text = "I have asked a colleague to join. They will answer here."
    away_text: Text = "Nobody is at the desk just now. Leave your e-mail address here, and we will write to you."
    away_known_text: Text = "Nobody is at the desk just now. We will write to you."
    away_thanks_text: Text = "Thank you. We will write to you there."
    failure_text: Text = "Sorry, something went wrong on my side. I have asked a colleague to help."
    nodes: Annotated[tuple[AnyNode, ...], Meta(min_length=1, max_length=MAX_NODES)]

    def node(self, node_id: str) -> AnyNode:
        """The node of that id. Raises KeyError, which a checked flow never does."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)


def targets(node: AnyNode) -> Iterator[tuple[str, str]]:
    """Where a node can lead: (the field that says so, the id it names)."""
    if isinstance(node, Branch):
        yield from ((f"cases/{place}/next", case.next) for place, case in enumerate(node.cases))
        yield "otherwise", node.otherwise
        return
    if isinstance(node, Ask):
        yield from ((f"options/{place}/next", one.next) for place, one in enumerate(node.options) if one.next)
    for field in ("on_fail", "on_fallback", "next"):
        if (target := getattr(node, field, None)) is not None:
            yield field, target
