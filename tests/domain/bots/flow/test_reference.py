"""The reference of the flow format says what the code does: every kind, field, limit and word, and its example runs."""

import re
from pathlib import Path
from typing import get_args

import pytest

from leadwire.domain.bots.flow import engine, expressions, inputs, nodes
from leadwire.domain.bots.flow.engine import HandedOff, Reply, Saved, Scored
from leadwire.domain.bots.flow.nodes import AnyNode, Input, Op
from leadwire.domain.bots.flow.parse import LARGEST, parse
from leadwire.domain.conversations.schema import MAX_TEXT
from leadwire.domain.leads.schema import LENGTHS, MAX_CUSTOM_FIELDS
from leadwire.interfaces.web import step_labels
from tests.domain.bots import flow_words

TEXT = (Path(nodes.__file__).parent / "README.md").read_text()
SECTIONS = {
    heading.strip("`"): text
    for heading, text in re.findall(r"^##+ ([^\n]+)\n(.*?)(?=^##|\Z)", TEXT, re.DOTALL | re.MULTILINE)
}
PROSE = " ".join(TEXT.split())


def rows(section):
    """The lines of a section's table below its head."""
    return [line for line in SECTIONS[section].splitlines() if line.startswith("| `")]


@pytest.mark.parametrize("part", flow_words.parts(), ids=lambda part: part.name)
def test_every_part_has_its_table_with_every_field_as_the_struct_has_it(part):
    said = [row.rpartition(" | ")[0] for row in rows(part.name)]
    assert said == [f"| `{one.name}` | {one.type} | {one.default}" for one in part.fields]
    assert part.about.split(". ")[0] in " ".join(SECTIONS[part.name].split())


def test_the_parts_are_all_there_are():
    told = {part.name for part in flow_words.parts()}
    structs = {kind for kind in vars(nodes).values() if isinstance(kind, type) and issubclass(kind, nodes.Struct)}
    models = structs - {nodes.Struct, nodes.Node}
    assert {model.__struct_config__.tag for model in get_args(AnyNode)} <= told
    assert told == {flow_words.named(model) for model in models}


def test_every_field_is_told():
    told = [row for part in flow_words.parts() for row in rows(part.name)]
    assert [row for row in told if not row.endswith(". |")] == []


@pytest.mark.parametrize(
    ("section", "all_there_are"),
    [
        ("Operators", get_args(Op)),
        ("Inputs", get_args(Input)),
        (
            "Derived variables",
            sorted(
                expressions.DERIVED, key=["score", "email_domain", "email_is_business", "is_open", "next_open"].index
            ),
        ),
    ],
)
def test_every_operator_input_and_derived_variable_is_told(section, all_there_are):
    table = step_labels.reference()[section]
    assert list(table) == list(all_there_are)
    assert rows(section) == [f"| `{name}` | {about} |" for name, about in table.items() if about]


def test_the_help_of_the_editor_has_every_table():
    parts = {part.name: [one.name for one in part.fields] for part in flow_words.parts()}
    tables = {name: list(table) for name, table in step_labels.reference().items()}
    assert {name: fields for name, fields in tables.items() if name in parts} == parts


@pytest.mark.parametrize(
    "limit",
    [
        f"{nodes.MAX_NODES} nodes",
        f"{LARGEST:,} characters",
        f"{engine.MOST_NODES} nodes in one turn",
        f"{MAX_CUSTOM_FIELDS} custom fields",
        f"{MAX_TEXT} characters",
        f"shortened to {expressions._LONGEST} characters",
        f"{inputs._LONGEST} characters",
        "saved to " + ", ".join(f"`{field}` {most}" for field, most in LENGTHS.items()),
        *(
            f"`{get_args(name)[1].pattern.removeprefix('^').removesuffix(chr(92) + 'Z')}`"
            for name in (nodes.NodeId, nodes.Variable)
        ),
        ", ".join(f"`{word}`" for word in sorted(inputs._DONE)),
    ],
)
def test_every_limit_is_told(limit):
    assert limit in PROSE


def test_every_field_of_the_lead_is_told():
    fields = get_args(nodes.SaveTo)[1].pattern.removeprefix("^(").partition(r"|custom_fields")[0].split("|")
    assert ", ".join(f"`{field}`" for field in fields) + " or `custom_fields.<name>`" in PROSE


def test_the_example_is_a_good_flow_and_does_what_is_said_of_it():
    [example] = re.findall(r"^```toml\n(format = .+?)^```", TEXT, re.DOTALL | re.MULTILINE)
    read = parse(example)
    state, told = engine.begin(read)
    for line in ("Ada", "no idea", "ada@cs.example.edu", "11-50"):
        state, effects = engine.step(read, state, line)
        told += effects
    assert [one.text for one in told if isinstance(one, Reply)] == [
        "Hi! Who are you?",
        "Your name, please.",
        "Thanks, Ada. Where may we write to?",
        "Something like you@company.com, please.",
        "How many of you are there?",
        "One moment, Ada.",
    ]
    assert [one.field for one in told if isinstance(one, Saved)] == ["name", "email", "custom_fields.team"]
    assert [(one.label, one.points) for one in told if isinstance(one, Scored)] == [
        ("team: 11-50", 30),
        ("no free mail", 10),
        ("a university", 10),
    ]
    assert state.score == 50
    assert told[-1] == HandedOff("fits well")
    assert {type(node) for node in read.nodes} == set(get_args(AnyNode))


def test_the_documentation_links_to_it():
    guide = Path(__file__).parents[4] / "src" / "leadwire" / "docs" / "bots.md"
    assert "(../domain/bots/flow/README.md)" in guide.read_text()
