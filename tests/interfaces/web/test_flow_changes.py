"""What a version changed, in words."""

import tomllib

from leadwire.domain.bots.flow import library
from leadwire.interfaces.web.flow_changes import Change, compare

FLOW = tomllib.loads(library.text("lead-qualification"))
GOAL = "Question: What brings you here?"


def changed(**given):
    """The flow with another question about the goal."""
    nodes = [{**one, **given} if one["id"] == "goal" else one for one in FLOW["nodes"]]
    return {**FLOW, "nodes": nodes}


def test_the_same_flow_differs_in_nothing():
    assert compare(FLOW, {**FLOW, "nodes": FLOW["nodes"][::-1]}) == []


def test_a_text_and_where_it_leads():
    (step,) = compare(FLOW, changed(text="Why?", next="email"))
    assert (step.step, step.deed) == ("Question: Why?", "changed")
    assert ("Question", "What brings you here?", "Why?") in step.fields
    assert [(name, now[:9]) for name, _, now in step.fields if name == "Then"] == [("Then", "Question:")]


def test_answers_are_added_removed_and_reworded():
    first, second, *rest = next(one["options"] for one in FLOW["nodes"] if one["id"] == "goal")
    assert compare(FLOW, changed(options=[first, second, *rest, {"label": "Other"}])) == [
        Change(GOAL, "changed", [("Answer 5", "", "Other")])
    ]
    assert compare(FLOW, changed(options=[second, *rest])) == [
        Change(GOAL, "changed", [("Answer 1", "I want to see prices", "")])
    ]
    assert compare(FLOW, changed(options=[{**first, "score": 11}, second, *rest])) == [
        Change(GOAL, "changed", [("Answer 1, Points", "10", "11")])
    ]


def test_steps_come_and_go_and_the_flow_has_words_of_its_own():
    bye = {"type": "end", "id": "bye", "text": "Goodbye"}
    found = compare(FLOW, {**FLOW, "title": "Hello", "nodes": [*FLOW["nodes"][1:], bye]})
    assert found[0] == Change("The whole flow", "changed", [("Heading of the chat", "Talk to us", "Hello")])
    assert {(one.step, one.deed) for one in found[1:]} == {
        ("End: Goodbye", "added"),
        ("Message: Hi! I can find out in a minute whether we are a …", "removed"),
    }


def test_conditions_are_told_as_sentences():
    def ways(least):
        when = {"all": [{"var": "score", "op": "gte", "value": least}]}
        return {"start": "a", "nodes": [{"type": "branch", "id": "a", "cases": [{"when": when, "next": "b"}]}]}

    (step,) = compare(ways(50), ways(60))
    assert step.fields == [("Way 1, Condition 1, Value", "50", "60")]
    assert compare(ways(50), {"start": "a", "nodes": [{"type": "branch", "id": "a"}]})[0].fields == [
        ("Way 1", "score is at least 50", "")
    ]


def test_whatever_a_draft_holds_can_be_compared():
    wrong = {"start": 3, "nodes": [{"id": "goal", "type": "ask", "options": [1, {"label": 2}], "text": ["x"]}]}
    assert compare(FLOW, wrong)
    assert compare(wrong, FLOW)
    assert compare({}, wrong) == [Change("The first version", "has 1 steps", [])]
