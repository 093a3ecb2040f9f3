"""Running flows: golden conversations, and what no conversation may ever do."""

from datetime import UTC, datetime
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadwire.domain.bots.flow import engine, library
from leadwire.domain.bots.flow.engine import Consented, Ended, HandedOff, Reply, Saved, Scored
from leadwire.domain.bots.flow.expressions import fill, holds
from leadwire.domain.bots.flow.nodes import Answer, Ask, Branch, Case, Condition, End, Flow, Op, Option, When
from leadwire.domain.bots.flow.parse import parse
from leadwire.infrastructure import clock
from tests.domain.bots.flows import PRIVACY, SMALL, shipped, small


def talk(flow, *said):
    """Everything that is said, the visitor's lines marked, and the rest of the effects."""
    state, effects = engine.begin(flow)
    seen = list(effects)
    for line in said:
        state, effects = engine.step(flow, state, line)
        seen += [f"> {line}", *effects]
    told = [one.text if isinstance(one, Reply) else one for one in seen if isinstance(one, Reply | str)]
    return state, told, [one for one in seen if not isinstance(one, Reply | str)]


def test_a_visitor_is_qualified_and_handed_over():
    state, told, rest = talk(small(), "Ada@Example.COM", "large")
    assert told == ["Your e-mail?", "> Ada@Example.COM", "How big?", "> large", "One moment."]
    assert rest == [
        Saved("email", "Ada@example.com"),
        Saved("custom_fields.size", "l"),
        Scored("size", "size: Large", 30),
        Scored("points", "business", 20),
        HandedOff("the flow asked for a person"),
    ]
    assert (state.at, state.score) == (None, 50)
    assert state.variables == {
        "email": "Ada@example.com", "email_domain": "example.com", "email_is_business": True, "size": "l",
    }  # fmt: skip


def test_a_visitor_who_does_not_fit_is_thanked():
    state, told, rest = talk(small(), "ada@gmail.com", "1")
    assert told[-1] == "Bye ada@gmail.com."
    assert (rest[-1], state.at) == (Ended("completed"), None)


def test_answers_that_do_not_fit_are_asked_again_and_then_a_person_comes():
    state, told, rest = talk(small(), "no idea", "really none")
    assert told[:3] == ["Your e-mail?", "> no idea", "Again?"]
    assert rest == [HandedOff("the visitor could not answer")]
    assert state.at == "email"  # handed back, the bot asks again


def test_on_fail_leads_on():
    flow = parse(
        SMALL.replace("max_retries = 1", 'max_retries = 0\non_fail = "size"').replace("{{email}}", "{{email|x}}")
    )
    _, told, _ = talk(flow, "none", "Small")
    assert told == ["Your e-mail?", "> none", "How big?", "> Small", "Bye x."]


@pytest.mark.parametrize(
    ("kind", "said", "kept"),
    [
        ("number", "1,200", 1200),
        ("number", "12.5", 12.5),
        ("number", "-3", -3),
        ("number", "about ten", None),
        ("number", "1e9", None),
        ("number", "nan", None),
        ("number", "٣", None),
        ("number", "9" * 400, None),
        ("number", "999" + ",999" * 4, 999999999999999),
        ("number", "9,223" + ",372" * 5, None),  # a float cannot tell it from its neighbors
        ("number", "9" + ",999" * 200, None),
        ("url", "example.com/a?b=c", "https://example.com/a?b=c"),
        ("url", "http://example.com", "http://example.com"),
        ("url", "javascript:alert(1)", None),
        ("url", "ftp://example.com", None),
        ("url", "http://[::1", None),
        ("url", "no page", None),
        ("phone", "+1 (415) 555-2671", "+14155552671"),
        ("phone", "call me", None),
        ("email", " ada@EXAMPLE.com ", "ada@example.com"),
        ("email", "ada@", None),
        ("text", " a\u0000b\n c ", "a b c"),
        ("text", " \n\t ", None),
        ("text", "x" * 1001, None),
    ],
)
def test_what_counts_as_an_answer(kind, said, kept):
    flow = parse(
        f'format = 1\nstart = "q"\n[[nodes]]\ntype = "ask"\nid = "q"\ntext = "?"\ninput = "{kind}"\nnext = "e"\n'
        '[[nodes]]\ntype = "end"\nid = "e"\n'
    )
    _, effects = engine.step(flow, engine.begin(flow)[0], said)
    assert [one.value for one in effects if isinstance(one, Saved)] == ([] if kept is None else [kept])


def choosing(*options):
    """A flow that asks for one of some answers, each with its value."""
    answers = [Option(label=label, value=value) for label, value in options]
    ask = Ask(id="q", text="?", input="choice", options=tuple(answers), next="e")
    return Flow(format=1, start="q", nodes=(ask, End(id="e")))


@pytest.mark.parametrize(
    "label", ["Oui\u00a0!", "はい\u3000どうぞ", "Yes,  please", " Yes ", "\u2067שלום\u2069", "Straße", "STRASSE"]
)
def test_every_answer_is_chosen_by_its_own_label(label):
    _, effects = engine.step(choosing(("No", None), (label, "yes")), engine.State(at="q"), label)
    assert effects[0] == Saved(None, "yes")


def test_an_answer_is_chosen_by_its_label_before_the_value_of_another():
    flow = choosing(("Large", "xl"), ("XL", "large"))
    for label, value in (("Large", "xl"), ("XL", "large")):
        assert engine.step(flow, engine.State(at="q"), label)[1][0] == Saved(None, value)
    given = Option(label="Yes", value="no", consent=True), Option(label="No", value="yes", consent=False)
    ask = msgspec.structs.replace(flow.nodes[0], options=given)
    _, effects = engine.step(msgspec.structs.replace(flow, nodes=(ask, flow.nodes[1])), engine.State(at="q"), "Yes")
    assert [(one.answer, one.given) for one in effects if isinstance(one, Consented)] == [("Yes", True)]


def test_a_number_has_its_bounds():
    flow = shipped("demo-booking")
    state = engine.State(at="attendees")
    for said, fits in (("0", False), ("1", True), ("100", True), ("101", False)):
        assert any(isinstance(one, Saved) for one in engine.step(flow, state, said)[1]) is fits


OPERATORS = [
    # operator, what the condition names, values of the variable for which it holds, and for which not
    ("eq", "Sales", ["Sales", "sALES"], ["sale", "", 7, None]),
    ("eq", "Oui\u00a0!", ["oui !", "Oui\u00a0!"], ["oui!", None]),
    ("eq", 7, [7, 7.0], [8, "7", None]),
    ("eq", True, [True], [False, 1, "true", None]),
    ("ne", "Sales", ["sale", 7, None], ["Sales", "sALES"]),
    ("ne", 1, [2, "1", True, None], [1, 1.0]),
    ("contains", "Edu", ["ada@edu.example", "EDUCATION", "edu"], ["", "ed", 7, True, None]),
    ("ends_with", ".Edu", ["cs.example.edu", ".EDU"], ["edu", "edu.example.com", "", 7, True, None]),
    ("ends_with", "0", ["50", "0"], ["05", 50, 0, None]),
    ("gt", 50, [51, 50.5], [50, 49, "51", True, None]),
    ("gt", 0, [1], [True, 0]),
    ("gte", 50, [50, 50.0, 51], [49.9, "50", None]),
    ("lt", 50, [49, 49.5, -1], [50, 51, "49", False, None]),
    ("lte", 50, [50, 49], [50.1, "50", False, None]),
    ("in", ("Sales", 7, True), ["sales", 7, True], ["sale", 1, "7", False, None]),
    ("is_set", None, ["", "x", 0, False], [None]),
    ("not_set", None, [None], ["", "x", 0, False]),
]


@pytest.mark.parametrize(("op", "wanted", "true", "false"), OPERATORS)
def test_every_operator_holds_for_what_it_says_and_for_nothing_else(op, wanted, true, false):
    case = Case(When(all=(Condition("x", op, wanted),)), "yes")
    nodes = (Branch(id="b", cases=(case,), otherwise="no"), End(id="yes", reason="yes"), End(id="no", reason="no"))
    flow = Flow(format=1, start="b", nodes=nodes)
    for reason, values in (("yes", true), ("no", false)):
        for value in values:
            state = engine.State(variables={} if value is None else {"x": value})
            assert (value, engine.enter(flow, state, "b")[1]) == (value, [Ended(reason)])


def test_no_operator_is_forgotten():
    assert {op for op, _, true, false in OPERATORS if true and false} == set(get_args(Op))
    with pytest.raises(AssertionError):
        holds(When(all=(Condition("x", "like"),)), {"x": 1})


def test_a_rule_counts_once_however_often_the_flow_passes():
    flow = parse(SMALL.replace('type = "end"\nid = "bye"', 'type = "say"\nnext = "email"\nid = "bye"'))
    state, _, rest = talk(flow, "ada@example.com", "Small", "bea@example.org", "Small")
    assert [one for one in rest if isinstance(one, Scored)] == [Scored("points", "business", 20)]
    assert state.score == 20


def test_what_a_visitor_typed_is_never_a_template():
    assert fill("Hi {{name}}!", {"name": "{{email}}", "email": "secret@example.com"}) == "Hi {{email}}!"
    assert fill("{{ name | there }} {{gone}}{", {}) == "there {"
    assert fill("{{name}}", {"name": "x" * 5000}) == "x" * 200
    assert fill("{{yes}} {{n}} {{f}}", {"yes": True, "n": 3, "f": 2.50}) == "yes 3 2.5"
    assert fill("{{f}}", {"f": 1234567.5}) == "1234567.5"


def test_free_questions_are_answered_for_a_while():
    flow = shipped("support-triage")
    state, _ = engine.step(flow, engine.begin(flow)[0], "A question")
    assert engine.questions(flow, state, "What?")
    for _ in range(4):
        state, effects = engine.step(flow, state, "What?", "That.")
        assert effects[0] == Reply("That.", personal=True)
        assert state.at == "faq"
    assert isinstance(engine.step(flow, state, "What?", "That.")[1][-1], Ended)
    assert engine.step(flow, state, "What?", None)[0].at == "email"
    assert engine.step(flow, state, "No!", None)[1][-1] == Ended("answered")


@pytest.mark.parametrize("said", ["Das war's!", "das war's", "Das  war's.", "Alles klar", "thanks!", "No, thanks."])
def test_a_phrase_says_that_there_are_no_further_questions(said):
    faq = Answer(id="faq", text="?", done=("Das war's!", "Alles\u00a0klar."), next="e")
    flow = Flow(format=1, start="faq", nodes=(faq, End(id="e")))
    assert engine.step(flow, engine.State(at="faq"), said)[1] == [Ended("completed")]


def test_an_answer_is_not_filled_in():
    flow = shipped("support-triage")
    state = engine.State(at="faq", variables={"email": "ada@example.com"})
    assert engine.step(flow, state, "?", "Use {{email}}.")[1][0].text == "Use {{email}}."


@pytest.mark.parametrize("name", library.NAMES)
def test_the_shipped_flows_come_to_an_end(name):
    assert parse(library.text(name, PRIVACY)) == shipped(name)


GOLDEN = {
    "lead-qualification": (
        ("I am ready to start", "51-200", "grace@navy.example", "Grace", "Navy"),
        HandedOff("qualified"), 90,
    ),
    "demo-booking": (
        ("hooks", "Ada", "ada@engines.example", "engines.example", "4", "27.11.2026", "Morning", "+14155552671", "Yes"),
        Ended("demo booked"), 85,
    ),
    "support-triage": (
        ("Something is broken", "Nothing works", "It says 500", "ada@engines.example", "Ada"),
        HandedOff("support"), 40,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", library.NAMES)
def test_a_visitor_who_answers_gets_through_a_shipped_flow(name):
    said, last, score = GOLDEN[name]
    with clock.at(datetime(2026, 11, 23, tzinfo=UTC)):
        state, _, rest = talk(shipped(name), *said)
    assert rest[-1] == last
    assert state.score == score


ANSWERS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["ada@example.com", "+14155552671", "1", "2", "Large", "example.com", "no", "{{email}}", "17"]),
)


@settings(max_examples=200)
@given(st.sampled_from(library.NAMES), st.lists(st.tuples(ANSWERS, st.none() | st.text(max_size=20)), max_size=25))
def test_whatever_visitors_say_the_flow_answers_waits_or_ends(name, lines):
    flow = shipped(name)
    state, _ = engine.begin(flow)
    points = []
    for text, answer in lines:
        before = state
        state, effects = engine.step(flow, state, text, answer)
        assert effects, "the bot went silent"
        assert len([one for one in effects if isinstance(one, Reply)]) <= engine.MOST_NODES + 1
        over = [one for one in effects if isinstance(one, Ended | HandedOff)]
        assert len(over) <= 1
        assert over or engine.prompt(flow, state) is not None
        points += [one for one in effects if isinstance(one, Scored)]
        assert before.variables.keys() <= state.variables.keys()
        if over:
            break
    assert len(points) == len({(one.node, one.label) for one in points})
    assert state.score == sum(one.points for one in points)
