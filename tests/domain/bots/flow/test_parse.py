"""Reading flows: all errors are reported at once, each with its node and line."""

import json
import tomllib
from typing import Annotated, Literal, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from leadwire.domain.bots.flow import shape
from leadwire.domain.bots.flow.nodes import KINDS, NodeId, Order, Rule, SaveTo, Text
from leadwire.domain.bots.flow.parse import LARGEST, BadFlow, parse, read
from tests.domain.bots.flows import SMALL, small

OPERATORS = "There are: contains, ends_with, eq, gt, gte, in, is_set, lt, lte, ne, not_set."
AS_JSON = json.dumps(tomllib.loads(SMALL), indent=2)


def faults(text):
    with pytest.raises(BadFlow) as refused:
        parse(text)
    return [(flaw.code, flaw.node, flaw.line) for flaw in refused.value.flaws]


def line_of(text, part, nth=1):
    lines = [number for number, line in enumerate(text.split("\n"), 1) if part in line]
    return lines[nth - 1]


def test_toml_and_json_are_the_same_flow():
    assert parse(AS_JSON) == small()
    assert parse(SMALL.replace("\n", "\r\n")) == small()


@pytest.mark.parametrize(
    ("old", "new", "code", "node"),
    [
        ('next = "size"', 'next = "sise"', "unknown_node", "email"),
        ('otherwise = "bye"', 'otherwise = "by"', "unknown_node", "route"),
        ('id = "bye"', 'id = "human"', "duplicate_id", "human"),
        ('save_to = "email"', 'save_to = "mail"', "wrong_value", "email"),
        ('save_to = "email"', 'save_to = "phone"', "save_to", "email"),
        ('save_to = "custom_fields.size"', 'save_to = "custom_fields.a b"', "wrong_value", "size"),
        ("max_retries = 1", "max_retries = 11", "wrong_value", "email"),
        ("max_retries = 1", "max_tries = 1", "unknown_field", "email"),
        ('var = "score"', 'var = "scor"', "condition", "route"),
        ('op = "gte", value = 50', 'op = "is_set", value = 50', "condition", "route"),
        ('op = "gte", value = 50', 'op = "ends_with", value = 50', "condition", "route"),
        ('op = "gte", value = 50', 'op = "ends_with", value = ""', "condition", "route"),
        ('op = "gte", value = 50', 'op = "ends_with", value = [".edu"]', "condition", "route"),
        ('op = "gte", value = 50', 'op = "ends_with"', "condition", "route"),
        ('op = "gte", value = 50', 'op = "contains", value = ""', "condition", "route"),
        ('op = "gte", value = 50', 'op = "contains", value = 50', "condition", "route"),
        ('op = "gte", value = 50', 'op = "contains", value = true', "condition", "route"),
        ('op = "gte", value = 50', 'op = "in", value = []', "condition", "route"),
        ('op = "gte", value = 50', 'op = "in", value = 50', "condition", "route"),
        *(
            ('op = "gte", value = 50', f'op = "{op}", value = {value}', "condition", "route")
            for op in get_args(Order)
            for value in ('"50"', "true", "[50]")
        ),
        ('text = "Bye {{email}}."', 'text = "Bye {{mail}}."', "unknown_variable", "bye"),
        ('text = "One moment."', 'text = ""', "wrong_value", "human"),
        ('type = "handoff"', 'type = "hand"', "type", "human"),
    ],
)
def test_a_fault_is_named_with_its_node_and_line_in_both_forms(old, new, code, node):
    broken = SMALL.replace(old, new, 1)
    assert broken != SMALL
    ((found, where, line),) = [fault for fault in faults(broken) if fault[0] == code][:1]
    assert (found, where) == (code, node)
    assert line == SMALL[: SMALL.index(old)].count("\n") + 1
    as_json = json.dumps(tomllib.loads(broken), indent=2)
    ((_, also_where, json_line),) = [fault for fault in faults(as_json) if fault[0] == code][:1]
    assert also_where == node
    assert json_line is not None
    assert json_line > 1


@pytest.mark.parametrize(("least", "most"), [("3", "2"), ("0.5", "-0.5"), ("nan", "nan")])
def test_a_number_that_cannot_be_told_is_refused(least, most):
    broken = SMALL.replace('input = "email"\nsave_to = "email"', f'input = "number"\nmax = {most}\nmin = {least}')
    found = [fault for fault in faults(broken) if fault[0] == "range"]
    assert found == [("range", "email", line_of(broken, f"min = {least}"))]
    parse(SMALL.replace('input = "email"\nsave_to = "email"', 'input = "number"\nmax = 2\nmin = 2'))


COMPARED = """
format = 1
start = "seats"
nodes = [
    { type = "ask", id = "seats", text = "?", input = "number", next = "size" },
    { type = "ask", id = "size", text = "?", input = "choice", next = "name", options = [
        { label = "51-200" }, { label = "More", value = "201+" },
    ] },
    { type = "ask", id = "name", text = "?", next = "route" },
    { type = "branch", id = "route", otherwise = "bye", cases = [{ next = "bye", when = { all = [CONDITION] } }] },
    { type = "end", id = "bye" },
]
"""


@pytest.mark.parametrize(
    ("var", "op", "value", "told"),
    [
        ("seats", "eq", '"12"', "Compare with a number, not with a text."),
        ("seats", "in", '[12, "13"]', "Compare with a number, not with a text."),
        ("seats", "contains", '"1"', "This is a number, and contains no text."),
        ("seats", "eq", "12", ""),
        ("seats", "ne", '"12"', ""),
        ("name", "gte", "10", "This is a text, and never greater or less than a number."),
        ("name", "eq", "10", "Compare with a text, not with a number."),
        ("name", "eq", '"Ada"', ""),
        ("is_open", "eq", '"true"', "Compare with true or false, not with a text."),
        ("is_open", "eq", "false", ""),
        ("score", "eq", "true", "Compare with a number, not with true or false."),
        ("size", "in", '["51-200", "201+"]', ""),
        ("size", "in", '["50-200", "201+"]', "'50-200' is none of the answers."),
        ("size", "eq", '"More"', "'More' is none of the answers."),
    ],
)
def test_a_condition_that_is_never_true_is_refused(var, op, value, told):
    flow = COMPARED.replace("CONDITION", f'{{ var = "{var}", op = "{op}", value = {value} }}')
    if not told:
        assert parse(flow)
        return
    with pytest.raises(BadFlow) as refused:
        parse(flow)
    [flaw] = refused.value.flaws
    assert (flaw.message, "/".join(map(str, flaw.path[2:]))) == (told, "cases/0/when/all/0/value")


def test_no_number_is_in_order_with_nan():
    broken = SMALL.replace('op = "gte", value = 50', 'op = "gte", value = nan')
    assert faults(broken) == [("condition", "route", line_of(broken, "nan"))]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            'op = "gte"',
            'op = "gt_e"',
            f"cases[0].when.all[0].op: Invalid enum value 'gt_e'. {OPERATORS}",
        ),
        (
            'op = "eq", value',
            "op = 7, value",
            f"rules[0].when.all[0].op: Expected `str`, got `int`. {OPERATORS}",
        ),
        (
            'input = "choice"',
            'input = "chioce"',
            "input: Invalid enum value 'chioce'. There are: choice, date, email, number, phone, text, url.",
        ),
        ("format = 1", "format = 2", "format: Invalid enum value 2. There are: 1."),
        ("score = 30", "score = 300", "options[1].score: Expected `int` <= 100."),
    ],
)
def test_a_value_that_is_no_choice_is_told_with_the_choices(old, new, told):
    broken = SMALL.replace(old, new, 1)
    assert broken != SMALL
    with pytest.raises(BadFlow) as refused:
        parse(broken)
    assert [flaw.message for flaw in refused.value.flaws] == [told]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            'var = "score", op',
            'vra = "score", op',
            {
                "cases/0/when/all/0/vra": "No such field: 'vra'. There are: var, op, value.",
                "cases/0/when/all/0/var": "'cases[0].when.all[0].var' is missing.",
            },
        ),
        (
            'when = { all = [{ var = "score"',
            'when = { al = [{ var = "score"',
            {"cases/0/when/al": "No such field: 'al'. There are: all, any."},
        ),
        (
            'options = [{ label = "Small" }, { label = "Large"',
            'options = [{}, { label = ""',
            {
                "options/0/label": "'options[0].label' is missing.",
                "options/1/label": "options[1].label: Expected `str` of length >= 1.",
            },
        ),
    ],
)
def test_every_fault_inside_a_list_is_told_at_its_own_path(old, new, told):
    broken = SMALL.replace(old, new, 1)
    assert broken != SMALL
    with pytest.raises(BadFlow) as refused:
        parse(broken)
    assert {"/".join(map(str, flaw.path[2:])): flaw.message for flaw in refused.value.flaws} == told


def test_a_step_that_is_no_node_hides_no_fault_of_the_others():
    broken = SMALL.replace('text = "One moment."', "").replace("Bye {{email}}.", "Bye {{mail}}, {{size}}.")
    assert [(code, node) for code, node, _ in faults(broken)] == [
        ("missing_field", "human"),
        ("unknown_variable", "bye"),
    ]
    unsaved = SMALL.replace('text = "Your e-mail?"', "").replace("Bye {{email}}.", "Bye {{mail}}, {{email}}.")
    assert [(code, node) for code, node, _ in faults(unsaved)] == [
        ("missing_field", "email"),
        ("unknown_variable", "bye"),
    ]


def test_a_fault_inside_a_step_hides_none_of_the_step():
    broken = SMALL.replace('text = "How big?"', 'text = "{{no}}"').replace('{ label = "Small" }', "{}")
    broken = broken.replace('next = "points"', 'next = "point"')
    assert [(code, node) for code, node, _ in faults(broken)] == [
        ("missing_field", "size"),
        ("unknown_node", "size"),
        ("unknown_variable", "size"),
    ]


def test_every_fault_is_told_at_once():
    broken = SMALL.replace('input = "email"', 'input = "mail"').replace('text = "One moment."', "")
    assert [(code, node) for code, node, _ in faults(broken)] == [("wrong_value", "email"), ("missing_field", "human")]


def test_the_line_is_exact_in_toml():
    broken = SMALL.replace('retry_text = "Again?"', 'retry_text = """\nAgain\n"""\nretrytext = "x"')
    assert faults(broken) == [("unknown_field", "email", line_of(broken, "retrytext"))]


@pytest.mark.parametrize(
    "before",
    ['# """ quotes', "# it's ''' here", 'title = "# no comment"', "title = '# \"\"'"],
)
def test_quotes_in_comments_and_in_short_strings_begin_no_long_one(before):
    long = SMALL.replace('text = "Your e-mail?"', 'text = """\nid = "no id"\n"""')
    broken = before + long.replace("max_retries", "retries")
    assert ("unknown_field", "email", line_of(broken, "retries = 1")) in faults(broken)


@pytest.mark.timeout(60)  # while a text is looked through, the process does nothing else
def test_quotes_without_an_end_take_no_longer_than_others():
    text = SMALL + "# " + '\\"""' * ((LARGEST - len(SMALL) - 10) // 4) + "\n"
    assert parse(text) == small()


def test_the_line_is_exact_in_json():
    broken = AS_JSON.replace('"One moment."', "7")
    assert faults(broken) == [("wrong_value", "human", line_of(broken, '"text": 7'))]


@pytest.mark.parametrize(
    ("text", "line"),
    [("format = 1\nstart = ", 2), ("format = 1\nformat = 1", 2), ('{"format": 1,\n"start": }', 2), ("{", 1)],
)
def test_what_is_no_toml_or_json_says_where(text, line):
    assert faults(text) == [("syntax", None, line)]


def test_an_unreachable_node_is_named():
    alone = SMALL + '\n[[nodes]]\ntype = "end"\nid = "alone"\n'
    assert faults(alone) == [("unreachable", "alone", line_of(alone, '"alone"'))]


def test_a_circle_that_never_asks_is_refused_and_one_that_asks_is_not():
    circle = SMALL.replace(
        'type = "end"\nid = "bye"\ntext = "Bye {{email}}."', 'type = "say"\nid = "bye"\ntext = "B"\nnext = "points"'
    )
    assert {node for code, node, _ in faults(circle) if code == "cycle"} == {"points", "route", "bye"}
    parse(SMALL.replace('type = "end"\nid = "bye"', 'type = "say"\nnext = "email"\nid = "bye"'))


def test_a_flow_that_ends_before_the_visitor_spoke_is_refused():
    mute = 'format = 1\nstart = "a"\n[[nodes]]\ntype = "say"\nid = "a"\ntext = "A"\nnext = "b"\n'
    mute += '[[nodes]]\ntype = "end"\nid = "b"\n'
    assert [(code, node) for code, node, _ in faults(mute)] == [("mute", "b")]


@pytest.mark.parametrize("text", ["", "[]", "{}", "format = 1", "nodes = 3\nformat=1\nstart='a'", "x" * 300_000])
def test_nonsense_is_refused(text):
    assert faults(text)


def test_a_field_and_a_custom_field_of_its_name_are_one_variable_and_refused():
    flow = SMALL.replace('"custom_fields.size"', '"custom_fields.email"')
    assert [code for code, _, _ in faults(flow)] == ["save_to"]


def test_too_many_nodes_are_refused():
    node = '[[nodes]]\ntype = "say"\nid = "n{0}"\ntext = "x"\nnext = "n{1}"\n'
    many = 'format = 1\nstart = "n0"\n' + "".join(node.format(n, n + 1) for n in range(301))
    assert faults(many)[0][0] == "nodes"


@given(st.text(alphabet='abc{}[]":,=\n.1 \\é', max_size=200))
def test_no_text_breaks_the_reader(text):
    try:
        parse(text)
    except BadFlow as refused:
        assert refused.flaws


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["type", "id", "text", "next", "nodes", "cases", "when", "options"]), inner
            )
        ),
    )
)
def test_no_json_breaks_the_reader(value):  # fmt: skip
    for document in ({"nodes": value}, {"format": 1, "start": "a", "nodes": [value]}):
        with pytest.raises(BadFlow):
            parse(json.dumps(document))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (".".join("a" * 9) + " = 1", 1),
        ("\n[" + " . ".join("a" * 9) + "]", 2),
        ('x = 1 # "\n"a".' + ".".join("b" * 8) + " = 1", 2),
        ("x = '''\n'''\ny = " + "[" * 65 + "]" * 65, 3),
        ("x = " + "{a=" * 65 + "1" + "}" * 65, 1),
        ('{"a":\n' + "[" * 64 + "]" * 64 + "}", 2),
        ("a." * 20_000 + "a = 1", 1),
    ],
)
def test_what_is_nested_too_deeply_is_refused_before_it_is_parsed(text, line, monkeypatch):
    monkeypatch.setattr(tomllib, "loads", None)
    assert faults(text) == [("too_deep", None, line)]


@pytest.mark.parametrize(
    "text",
    [
        ".".join("a" * 8) + " = 1",
        "x = " + "[" * 64 + "]" * 64,
        'x = "' + "." * 20 + "[" * 100 + '"',
        "x = '" + "[" * 100 + "'  # '''" + "[" * 100,
        'x = """\n"" \\" ' + "[" * 100 + '"""',
        "x = '''\n'' " + "." * 20 + "'''''\n",
        "x = [1.5, 2.5]\n" * 1 + "y = 1\n" + "".join(f"[[nodes]]\nid = {n}\n" for n in range(70)),
        '{"a": "' + "[" * 100 + '\\"[[#", "b": 1}',
    ],
)
def test_a_text_or_a_comment_is_not_nested(text):
    assert read(text)


class Everything(msgspec.Struct, tag="everything", tag_field="type"):
    """What a new kind of node could need."""

    id: NodeId
    seconds: Annotated[int, Meta(ge=1, le=10)]
    share: Annotated[float, Meta(ge=0.5)]
    way: Literal["left", "right"]
    loud: bool
    text: Text
    rows: Annotated[tuple[Rule, ...], Meta(min_length=2)]
    either: SaveTo | None = None


@pytest.mark.parametrize("kind", [*KINDS, "everything"])
def test_a_node_with_nothing_but_its_type_has_faults_and_no_more(monkeypatch, kind):
    """Its members were completed from a table of names, and a number by a text: the bot's page ended in an error."""
    monkeypatch.setitem(shape.KINDS, "everything", Everything)
    completed = shape._completed({"type": kind}, 3, set())
    assert msgspec.to_builtins(msgspec.convert({"type": kind, **completed}, KINDS[kind]))["id"] == "node-3"
    assert [flaw.code for flaw in shape.faults({"nodes": [{"type": kind}]})].count("missing_field") > 0
