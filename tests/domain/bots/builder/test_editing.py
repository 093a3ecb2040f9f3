"""Edits of a draft: what they change, what they leave alone in its text, and what they refuse."""

import tomllib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadwire.domain.bots.builder import blocks, editing, fields
from leadwire.domain.bots.builder.rewriting import rewritten, written
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.flow.nodes import MAX_NODES
from leadwire.domain.bots.flow.parse import checked, parse, read
from leadwire.infrastructure.errors import Invalid, NotFound
from tests.domain.bots.flows import PRIVACY

COMMENTED = '''# Who is this for?
format = 1
start = "hello" # the first

# Greets.
[[nodes]]
type = "ask" # waits
id = "hello"
text = """
Hi!
[[nodes]] is no node here."""
input = "choice"
options = [
    { label = "Yes", next = "route" }, # they agree
    { label = "No" },
]
next = "bye"

# Decides.
[[nodes]]
type = "branch"
id = "route"
cases = [{ when = { all = [{ var = "hello", op = "eq", value = "Yes" }] }, next = "bye" }]
otherwise = "bye"

# Ends.
[[nodes]]
type = "end"
id = "bye" # last
text = "Bye, {{hello|you}}."
'''


def edited(text, change):
    """The text after an edit, and its data."""
    old = read(text)
    new = change(old)
    found = rewritten(text, old, new)
    assert read(found) == new
    return found, new


def form_of(found, values, prefix=""):
    """What a page sends of a step's fields if nothing is touched."""
    given = {}
    for field in found:
        value = values.get(field.name)
        if field.kind == "rows":
            for place, row in enumerate(value or []):
                given |= form_of(field.fields, row, f"{prefix}{field.name}/{place}/")
        elif field.kind == "group":
            given |= form_of(field.fields, value or {}, f"{prefix}{field.name}/")
        else:
            given[prefix + field.name] = fields.shown(value if value is not None else field.default)
    return given


def changed(step, **given):
    """An edit by a page's form in which some fields were touched."""

    def change(draft):
        old = editing.step(draft, step)
        return editing.change(draft, step, form_of(fields.of(old["type"]), old) | given)[0]

    return change


@pytest.mark.parametrize("name", library.NAMES)
def test_a_form_in_which_nothing_was_touched_changes_nothing(name):
    draft = read(library.text(name, PRIVACY))
    for step in editing.steps(draft):
        assert changed(step["id"])(draft) is draft
    assert editing.settings(draft, form_of(fields.of("flow"), draft)) == draft


def test_what_does_not_change_stays_as_it_was_written():
    parse(COMMENTED)
    found, _ = edited(COMMENTED, changed("bye", text="See you."))
    assert found == COMMENTED.replace("Bye, {{hello|you}}.", "See you.")
    found, _ = edited(COMMENTED, changed("hello", **{"options/1/label": "Never"}))
    assert found == COMMENTED.replace('"No"', '"Never"')
    assert rewritten(COMMENTED, read(COMMENTED), read(COMMENTED)) == COMMENTED


def test_a_number_that_becomes_a_yes_is_another_value():
    """In Python, `1 == True`."""
    text = COMMENTED.replace('var = "hello", op = "eq", value = "Yes"', 'var = "is_open", op = "eq", value = 1')
    found, _ = edited(text, changed("route", **{"cases/0/when/all/0/value": "true"}))
    assert found == text.replace("value = 1", "value = true")


def test_a_deleted_step_takes_its_comments_along_and_ways_go_on():
    found, draft = edited(COMMENTED, lambda draft: editing.delete(draft, "route"))
    assert "# Decides." not in found
    assert "# Ends.\n[[nodes]]" in found
    assert editing.step(draft, "hello")["options"][0]["next"] == "bye"
    assert checked(found)[1] == []
    _, draft = edited(COMMENTED, lambda draft: editing.delete(draft, "hello"))
    assert draft["start"] == "bye"


def test_a_step_between_two_others():
    found, draft = edited(COMMENTED, changed("hello", **{"options/0/next": "new:say"}))
    assert editing.step(draft, "hello")["options"][0]["next"] == "message"
    assert editing.step(draft, "message") == {"type": "say", "id": "message", "next": "route"}
    assert "# they agree" in found
    [flaw] = checked(found)[1]
    assert (flaw.node, flaw.code) == ("message", "missing_field")


@pytest.mark.parametrize("block", blocks.offered(), ids=lambda block: block.name)
def test_a_block_is_inserted_between_two_steps(block):
    found, draft = edited(COMMENTED, changed("hello", next=f"new:{block.name}"))
    assert [flaw.path[-1] for flaw in checked(found)[1]] == (["url"] if block.name == "consent" else [])
    assert len(draft["nodes"]) > 3
    assert editing.step(draft, editing.step(draft, "hello")["next"])["id"] not in ("route", "bye")


def test_a_new_name_goes_wherever_the_old_one_was():
    _, draft = edited(COMMENTED, changed("hello", named="Say hello!"))
    assert draft["start"] == "say-hello"
    [case] = editing.step(draft, "route")["cases"]
    assert case["when"]["all"][0]["var"] == "say_hello"
    assert editing.step(draft, "bye")["text"] == "Bye, {{say_hello|you}}."
    _, draft = edited(COMMENTED, changed("hello", save_to_own="Team size"))
    assert editing.step(draft, "hello")["save_to"] == "custom_fields.team_size"
    assert editing.step(draft, "bye")["text"] == "Bye, {{team_size|you}}."
    with pytest.raises(Invalid, match="Another step has the name bye already"):
        editing.change(read(COMMENTED), "hello", {"named": "bye"})


def test_a_field_that_is_named_in_another_script_is_refused_and_shares_no_field():
    draft, second = editing.add(read(COMMENTED), "ask")
    for name in ("予算", "役職", "Бюджет", "القطاع", "予算 A", "!?"):
        with pytest.raises(Invalid, match="letters from A to Z"):
            changed(second, save_to_own=name)(draft)
    for name, field in (("Größe", "grosse"), ("Prénom", "prenom"), ("2nd choice!", "x_2nd_choice")):
        assert editing.step(changed(second, save_to_own=name)(draft), second)["save_to"] == f"custom_fields.{field}"


def test_a_new_name_goes_into_the_texts_of_the_whole_flow():
    text = COMMENTED.replace("[[nodes]]", 'handoff_text = "A colleague comes, {{hello|you}}."\n\n[[nodes]]', 1)
    parse(text)
    found, draft = edited(text, changed("hello", named="greeting"))
    assert draft["handoff_text"] == "A colleague comes, {{greeting|you}}."
    parse(found)


def test_a_copy_has_a_name_of_its_own():
    found, draft = edited(COMMENTED, lambda draft: editing.duplicate(draft, "bye")[0])
    assert [one["id"] for one in editing.steps(draft)] == ["hello", "route", "bye", "bye-2"]
    assert [flaw.code for flaw in checked(found)[1]] == ["unreachable"]


def test_a_form_that_is_sent_again_makes_no_second_step():
    given = {"next": "new:say", "options/0/label": "Yes", "options/0/next": "new:email"}
    draft, _ = editing.change(read(COMMENTED), "hello", given)
    again, _ = editing.change(draft, "hello", editing.unrepeated(draft, "hello", given))
    assert again is draft
    other = given | {"next": "new:end"}
    again, _ = editing.change(draft, "hello", editing.unrepeated(draft, "hello", other))
    assert len(again["nodes"]) == len(draft["nodes"]) + 1


def test_rows_come_and_go():
    _, draft = edited(COMMENTED, lambda draft: editing.add_row(draft, "route", "cases"))
    assert editing.step(draft, "route")["cases"][1] == {"when": {"all": [{}]}}
    draft = editing.add_row(draft, "route", "cases/1/when/any")
    assert editing.step(draft, "route")["cases"][1] == {"when": {"all": [{}], "any": [{}]}}
    draft = editing.move_row(draft, "route", "cases/0", None)
    draft = editing.move_row(draft, "route", "cases/0/when/any/0", None)
    assert editing.step(draft, "route")["cases"] == [{"when": {"all": [{}]}}]
    for path in ("cases/7", "cases/x", "text/0", "", "cases/0/when/any/0/var/0"):
        with pytest.raises(NotFound):
            editing.move_row(draft, "route", path, None)
    for path in ("otherwise", "otherwise/x", "cases/0", "cases/0/when", "", "/".join(["cases/0"] * 5000)):
        with pytest.raises(NotFound):
            editing.add_row(draft, "route", path)
    with pytest.raises(Invalid, match="no place"):
        editing.add_row(draft, "route", "cases/7/when/all")


def test_values_have_the_type_that_their_variable_asks_for():
    name = "cases/0/when/all/0/"
    for var, op, value, expected in [
        ("score", "gte", "60", 60), ("score", "eq", "1.5", 1.5), ("hello", "eq", "60", "60"),
        ("hello", "in", "Yes, please\nNo", ["Yes, please", "No"]), ("hello", "gt", "x", "x"),
        ("email_is_business", "eq", "yes", True),
    ]:  # fmt: skip
        draft = changed("route", **{f"{name}var": var, f"{name}op": op, f"{name}value": value})(read(COMMENTED))
        assert editing.step(draft, "route")["cases"][0]["when"]["all"] == [{"var": var, "op": op, "value": expected}]
    text = COMMENTED.replace('value = "Yes"', "value = 12")
    draft = changed("route", **{f"{name}op": "eq"})(read(text))
    assert editing.step(draft, "route")["cases"][0]["when"]["all"][0]["value"] == "12"
    draft = changed("route", **{f"{name}op": "is_set"})(read(COMMENTED))
    assert "value" not in editing.step(draft, "route")["cases"][0]["when"]["all"][0]


def test_an_address_is_asked_for_as_what_it_is_saved_as():
    draft, name = editing.add(read(COMMENTED), "ask")
    draft = changed(name, text="Where to?", input="email")(draft)
    assert editing.step(draft, name)["save_to"] == "email"
    draft = changed(name, save_to="phone")(draft)
    assert editing.step(draft, name)["input"] == "phone"
    draft = changed(name, input="choice")(draft)
    options = [{"label": "Yes"}, {"label": "No"}]
    found = {"type": "ask", "id": name, "text": "Where to?", "input": "choice", "options": options}
    assert editing.step(draft, name) == found


def test_json_stays_json():
    text = msgspec.json.encode(read(COMMENTED)).decode()
    found, _ = edited(text, changed("bye", text="See you."))
    assert found.startswith("{")


ODD = [
    'start = "a"\nnodes = [{ type = "say", id = "a", text = "[[nodes]]" }, { type = "end", id = "b" }] # all\n',
    "nodes = 3\n",
    'nodes = ["a", 1]\n',
    "",
    '[[nodes]]\n[[nodes]]\nid = "a"\n',
    'x = """\n[[nodes]]\n"""\n[[nodes]]\nid = "a"\n[other]\na = 1\n',
    '[[nodes]]\nid = "a"\n[[nodes.options]]\nlabel = "x"\n[[nodes]]\nid="b"',
]


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_are_edited_or_refused(text):
    for change in (
        lambda draft: editing.change(draft, "a", {"text": "New"})[0],
        lambda draft: editing.add(draft, "say")[0],
        lambda draft: editing.delete(draft, "a"),
        lambda draft: editing.settings(draft, {"title": "Chat with us"}),
    ):
        try:
            edited(text, change)
        except (Invalid, NotFound):
            continue


def test_a_flow_has_so_many_steps_and_no_more():
    draft = {"format": 1, "start": "m", "nodes": [{"type": "say", "id": f"m{n}"} for n in range(MAX_NODES)]}
    for refused in (lambda: editing.add(draft, "say"), lambda: editing.duplicate(draft, "m7")):
        with pytest.raises(Invalid, match="at most 300 steps"):
            refused()
    with pytest.raises(NotFound):
        editing.add(draft, "teleport")


@given(st.text(max_size=300), st.sampled_from(["hello", "route", "bye"]), st.sampled_from(["text", "options/0/label"]))
def test_whatever_is_typed_comes_back(typed, step, name):
    found, draft = edited(COMMENTED, lambda draft: editing.change(draft, step, {name: typed})[0])
    assert tomllib.loads(found) == draft
    assert tomllib.loads(written(draft)) == draft


@pytest.mark.parametrize("name", library.NAMES)
def test_every_way_of_the_shipped_flows_can_lead_elsewhere(name):
    text = library.text(name)
    draft = read(text)
    for step in editing.steps(draft):
        for way, target, _ in fields.exits(step):
            found, other = edited(text, lambda one, at=step["id"], way=way: editing.wire(one, at, way, draft["start"]))
            ways = {name: end for name, end, _ in fields.exits(editing.step(other, step["id"]))}
            assert ways[way] == draft["start"]
            _, again = edited(
                found, lambda one, at=step["id"], way=way, to=target: editing.wire(one, at, way, to or "")
            )
            assert again == draft
