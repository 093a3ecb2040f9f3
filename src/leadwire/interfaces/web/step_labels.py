"""What the builder calls the kinds of steps and their fields, and what of them it shows at once."""

import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from leadwire.domain.bots.builder import fields, variables
from leadwire.domain.bots.builder.fields import Field, Step
from leadwire.domain.bots.flow import hours, nodes
from leadwire.domain.bots.flow.expressions import DERIVED
from leadwire.domain.bots.look import LANGUAGES
from leadwire.interfaces.web import lead_form

_FILE: Final = Path(__file__).with_suffix(".toml")
_README: Final = Path(nodes.__file__).with_name("README.md")
_SECTION: Final = re.compile(r"^##+ ([^\n]+)\n+(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)
_WORDS: Final[Mapping[str, Any]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
STEPS: Final[Mapping[str, Mapping[str, str]]] = _WORDS["steps"]
INPUTS: Final[Mapping[str, str]] = _WORDS["inputs"]
OPERATORS: Final[Mapping[str, str]] = _WORDS["operators"]
ORDERED: Final[Sequence[str]] = _WORDS["ordered"]
SAVED: Final = {"": "Nowhere, only in this flow"} | {name: label for name, label, _ in lead_form.TEXT_FIELDS}


def word(value: str) -> str:
    """A name of the format in words, where there are none of ours: `max_turns` is Max turns."""
    return value.replace("_", " ").capitalize()


def kind(step: Step) -> str:
    """What a step is called by its type."""
    return of_kind(step, "name") or word(str(step.get("type", "Step")))


def of_kind(step: Step, what: str) -> str:
    """What our file says of a step by its type: `does`, say; an empty text where it says nothing."""
    return STEPS.get(str(step.get("type")), {}).get(what, "")


def label(field: Field, inside: str) -> str:
    """What a field is called; `inside` is the type of the step, or the list that it is in."""
    labels: Mapping[str, str] = _WORDS["labels"]
    return labels.get(f"{inside}.{field.name}") or labels.get(field.name) or word(field.name)


@functools.cache
def listed(inside: str, name: str) -> dict[str, str]:
    """What may stand in a field of the flow that has a list, and how it is called. Other texts may stand there, too."""
    places = sorted(zone for zone in hours.zones() if "/" in zone and not zone.startswith(("Etc/", "posix/", "right/")))
    lists = {"locale": LANGUAGES, "timezone": {zone: zone.replace("_", " ") for zone in ("UTC", *places)}}
    return lists.get(name, {}) if inside == "flow" else {}


def answers(steps: Sequence[Step]) -> dict[str, dict[str, str]]:
    """What each question with answers can be compared with, by its variable: the value, and how it is called."""
    questions = {variables.name(step): fields.rows(step["options"]) for step in steps if "options" in step}
    return {
        name: {str(row.get("value", row["label"])): str(row["label"]) for row in rows if row.get("label")}
        for name, rows in questions.items()
    }


def choices(field: Field) -> dict[str, str]:
    """What a list of fixed choices offers, in the order of our words."""
    names = {**INPUTS, **OPERATORS, **_WORDS["days"]}
    labels = {name: told for name, told in names.items() if name in field.choices}
    return labels | {name: word(name) for name in field.choices if name not in labels}


def one(field: Field) -> str:
    """What one row of a list is called."""
    return str(_WORDS["rows"].get(field.name, "row"))


def parts(members: Sequence[Field], values: Step, inside: str) -> tuple[list[Field], list[Field]]:
    """The fields to show at once, and those under More. What is for other kinds of answers is shown where it is set."""
    answer = values.get("input", "text")
    hidden = {name for name, kinds in _WORDS["only"].items() if answer not in kinds} - values.keys()
    hidden |= {name.partition(".")[2] for name in _WORDS["elsewhere"] if name.startswith(f"{inside}.")}
    named = {field.name for field in members if field.name in _WORDS["at_once"] or field.required}
    at_once = {name for name in named if f"{inside}.{name}" not in _WORDS["seldom"]} - hidden
    main = [field for field in members if field.name in at_once]
    return main, [field for field in members if field.name not in at_once | hidden]


@functools.cache
def reference() -> dict[str, dict[str, str]]:
    """What the tables in the format's reference say, by the heading and the first column."""
    tables = {}
    for heading, section in _SECTION.findall(_README.read_text(encoding="utf-8")):
        lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
        tables[heading.strip("`")] = {line[0].strip("`"): line[-1] for line in lines[2:]}
    return tables


def hint(kind: str, name: str) -> str:
    """What the reference of the format says of a field."""
    return reference().get(kind, {}).get(name, "")


def text(step: Step) -> str:
    """What a step is about, in a few words."""
    value = step.get("text") or step.get("reason")
    if isinstance(value, str):
        return value
    return of_kind(step, "about")


def named(step: Step) -> str:
    """A step in a list to choose from."""
    about = " ".join(text(step).split())
    return f"{kind(step)}: {about[:48]}{'…' if len(about) > 48 else ''}" if about else f"{kind(step)} ({step['id']})"


def known(steps: Sequence[Step]) -> dict[str, str]:
    """Every variable that texts and conditions can use, with what it holds."""
    questions = {
        variables.name(step): " ".join(text(step).split())[:48] for step in steps if variables.is_question(step)
    }
    return {name: f"{name}: {about}" if about else name for name, about in questions.items()} | {
        name: _WORDS["derived"].get(name, word(name)) for name in sorted(DERIVED)
    }


def way(step: Step, path: str) -> str:
    """What a way on from a step is called: the answer, the condition, or a word of ours."""
    if "/" not in path:
        return _WORDS["exits"].get(path) or word(path)
    inside, _ = fields.at(step, path)
    return row(inside) or f"Way {path.split('/')[1]}"


def row(inside: Step) -> str:
    """What one row of a list is about: its label, or its conditions."""
    if isinstance(title := inside.get("label"), str):
        return title
    when = inside.get("when", {"all": [inside]} if "op" in inside else None)
    listed = [*fields.rows(when.get("all")), *fields.rows(when.get("any"))] if isinstance(when, dict) else []
    said = [
        f"{test.get('var', '')} {OPERATORS.get(str(test.get('op')), '…')} {fields.shown(test.get('value'))}"
        for test in listed
    ]
    return ", ".join(" ".join(part.split()) for part in said)
