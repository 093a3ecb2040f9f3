"""What the builder says is wrong: in words of a person, at a field of the panel, for every field of every step."""

import json
import re
from collections.abc import Iterator

import pytest

from leadwire.domain.bots.builder import blocks, editing, fields
from leadwire.domain.bots.flow.nodes import KINDS
from leadwire.domain.bots.flow.parse import checked
from leadwire.interfaces.web import rendering, step_faults, step_labels
from tests.domain.bots.flows import PRIVACY

CONDITION = {"var": "score", "op": "gte", "value": 5}
IMAGE = {"url": "https://www.example.com/a.png", "alt": "A picture"}
LINKS = [{"label": "Read", "url": "https://www.acme.example/a"}]
FULL = {
    "say": {"text": "Hi", "image": IMAGE, "links": LINKS, "next": "end"},
    "ask": {
        "text": "How?", "image": IMAGE, "links": LINKS, "input": "choice", "save_to": "custom_fields.how",
        "options": [{"label": "One", "value": "1", "score": 5, "next": "end"}, {"label": "Two", "consent": True}],
        "placeholder": "Choose", "retry_text": "Again?", "max_retries": 1, "on_fail": "end", "next": "end",
    },
    "branch": {"cases": [{"when": {"all": [CONDITION], "any": [CONDITION]}, "next": "end"}], "otherwise": "end"},
    "score": {"rules": [{"label": "Many", "add": 10, "when": {"all": [CONDITION]}}], "next": "end"},
    "answer": {
        "text": "Ask", "again_text": "More?", "max_turns": 3, "done": ["no"], "on_fallback": "end", "next": "end",
    },
    "handoff": {"text": "Wait", "reason": "they asked", "next": "end"},
    "end": {"text": "Bye", "image": IMAGE, "links": LINKS, "reason": "done"},
}  # fmt: skip
WRONG = [
    3, 2.5, -1e9, True, "", "x" * 3000, "Ä b\u0007", "nowhere", "{{nothing}}", [], {}, [3], [{}], ["x" * 3000],
    [{"label": "One"}, {"label": "one"}], None,
]  # fmt: skip
# Brackets with places, quoted members, names of types and of the format: what only a parser says.
PARSER = re.compile(
    r"\[\d|`|'(?:next|text|label|var|op|when|cases|options|url|alt|add|rules)'|\bnode\b|\bObject\b|\bExpected\b|\bInvalid\b"
    r"|\benum\b|\bstr\b|\bint\b|\barray\b|field '|_text|on_fail|save_to|otherwise\b.*leads|\bcases\b|\boptions\b"
)


def places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path to everything inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield (*path, key)
        yield from places(part, (*path, key))


def changed(step: dict, path: tuple[str | int, ...], value: object) -> dict:
    """The step with another value at a path; without one if the value is `...`."""
    copy = json.loads(json.dumps(step))
    inside = copy
    for part in path[:-1]:
        inside = inside[part]
    if value is ...:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return copy


def told(step: dict) -> list[step_faults.Fault]:
    """What the builder says of a flow with this step, of the step itself."""
    nodes = [
        {"type": "ask", "id": "first", "text": "First?", "next": step["id"]}, step, {"type": "end", "id": "end"},
    ]  # fmt: skip
    draft, flaws = checked(json.dumps({"format": 1, "start": "first", "nodes": nodes}))
    steps = {one["id"]: one for one in editing.steps(draft)}
    return [one for one in step_faults.faults(flaws, draft, steps) if one.step in (step["id"], "")]


def controls(step: dict) -> set[str]:
    """The names of the fields, and the paths of the lists, that the panel of a step has."""
    macros = rendering.environment().get_template("bots/step_fields.html").module
    look = {
        "words": step_labels, "fields": fields, "steps": {"end": "End"}, "full": False,
        "variables": {"score": "Points"}, "saved": step_labels.SAVED, "blocks": (), "choices": step_labels.choices,
        "answers": None, "offered": {},
    }  # fmt: skip
    panel = str(macros.every(fields.of(step["type"]), step, "", step["type"], look))
    return set(re.findall(r'(?:\bname|data-path)="([^"]+)"', panel))


@pytest.mark.parametrize("kind", KINDS)
def test_each_field_of_each_step_says_in_plain_words_what_is_wrong_there(kind):
    step = {"type": kind, "id": "this", **FULL[kind]}
    assert told(step) == []
    said = set()
    for path in places(FULL[kind]):
        for value in (..., *WRONG):
            broken = changed(step, path, value)
            for fault in told(broken):
                assert not PARSER.search(fault.said), (path, value, fault)
                assert not PARSER.search(fault.place), (path, value, fault)
                said.add(fault.said)
                if "not understood" in fault.said or fault.path == "id":
                    continue  # no form makes it: it is corrected as text
                around = [fault.path.rsplit("/", up)[0] for up in range(fault.path.count("/") + 1)]
                assert controls(broken).intersection(around), (path, value, fault)
    assert len(said) > 2


@pytest.mark.parametrize("name", [block.name for block in blocks.offered()])
def test_each_field_of_each_block_that_is_left_empty_is_told_at_the_field(name):
    for step in blocks.with_privacy({"nodes": blocks.nodes(name, (), "end")}, PRIVACY)["nodes"]:
        for field in fields.of(step["type"]):
            if field.name not in step:
                continue
            faults = told(changed(step, (field.name,), ...))
            assert all(not PARSER.search(f"{one.place} {one.said}") for one in faults), faults
            if field.required:
                [fault] = [one for one in faults if one.path == field.name]
                assert fault.lacks


def test_each_kind_of_step_has_a_name_and_says_what_it_does_and_is_tried_here():
    assert KINDS.keys() == step_labels.STEPS.keys() == FULL.keys()
    assert all(step["name"] and step["does"] for step in step_labels.STEPS.values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_was_just_added_only_lacks_something(kind):
    draft, added = editing.add({"format": 1, "start": "first", "nodes": [
        {"type": "ask", "id": "first", "text": "First?"}]}, kind, "first", "next")  # fmt: skip
    step = editing.step(draft, added)
    faults = [one for one in told(step | {"id": "this"}) if one.step]
    assert all(one.lacks for one in faults), faults
