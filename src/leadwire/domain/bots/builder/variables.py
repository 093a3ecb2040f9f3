"""What steps save and what conditions compare it with: names, and values of the type that fits. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import structs

from leadwire.domain.bots.builder import fields
from leadwire.domain.bots.builder.fields import Step
from leadwire.domain.bots.flow.expressions import ORDERS
from leadwire.domain.bots.flow.nodes import KINDS, QUESTIONS
from leadwire.domain.search import documents
from leadwire.infrastructure.errors import Invalid

_NO_LETTER: Final = re.compile(r"[^a-z0-9]+")
_OTHER_LETTER: Final = re.compile(r"[^\W_a-z0-9]")
_SAME_INPUT: Final = ("email", "phone")
_NUMBERS: Final = ("score",)
_FILLED: Final = ("handoff_text",)  # of the flow's own texts, what can have the variables of questions
_TRUTHS: Final = ("email_is_business", "is_open")


def is_question(step: Step) -> bool:
    """Whether the step stores an answer, in the variable `name`."""
    return str(step.get("type")) in QUESTIONS and "id" in step


def name(step: Step) -> str:
    """The variable that a question sets, as `flow.Ask` names it."""
    return str(step.get("save_to") or step["id"].replace("-", "_")).rpartition(".")[2]


def slug(text: str, mark: str = "-") -> str:
    word = _NO_LETTER.sub(mark, text.lower()).strip(mark)
    word = word if word[:1].isalpha() else f"x{mark}{word}".rstrip(mark)
    return word[:48].rstrip(mark)


def with_own_field(values: Mapping[str, str]) -> Mapping[str, str]:
    """With a custom field that is named in words. Raise Invalid where its name would lose letters: other names would
    lose the same, and one field would have the answers of several questions.
    """
    own = documents.plain(values.get("save_to_own", "").strip())
    if own and (_OTHER_LETTER.search(own) or not _NO_LETTER.sub("", own)):
        raise Invalid("Name the field with letters from A to Z and digits, such as team size.")
    return {**values, "save_to": f"custom_fields.{slug(own, '_')}"} if own else values


def match_input(old: Step, new: Step) -> None:
    """An e-mail address is asked for as one and saved as one, whichever of the two was chosen; a choice has answers."""
    if new.get("save_to") != old.get("save_to") and new.get("save_to") in _SAME_INPUT:
        new["input"] = new["save_to"]
    elif new.get("input") != old.get("input"):
        if new.get("input") in _SAME_INPUT:
            new["save_to"] = new["input"]
        elif new.get("save_to") in _SAME_INPUT:
            del new["save_to"]
    if new.get("input") == "choice" != old.get("input") and not new.get("options"):
        new["options"] = [{"label": "Yes"}, {"label": "No"}]
    elif old.get("input") == "choice" != new.get("input"):
        new.pop("options", None)


def _conditions(value: Any) -> Iterator[Step]:
    """Every condition inside a step."""
    if isinstance(value, list):
        for part in value:
            yield from _conditions(part)
    elif isinstance(value, dict):
        if "var" in value or "op" in value:
            yield value
        for part in value.values():
            yield from _conditions(part)


def type_values(steps: Sequence[Step], new: Step) -> None:
    """Give what conditions compare with the type that their variable and operator ask for."""
    numbers = {name(step) for step in steps if is_question(step) and _input(step) == "number"} | set(_NUMBERS)
    texts = {name(step) for step in steps if is_question(step)} - numbers
    for condition in _conditions([value for value in new.values() if isinstance(value, list | dict)]):
        op, value = condition.get("op"), condition.get("value")
        if op == "in" and isinstance(value, str):
            value = [line.strip() for line in value.split("\n") if line.strip()]
        elif op != "in" and isinstance(value, list):
            value = value[0] if value else ""
        if isinstance(value, list):
            condition["value"] = [_typed(part, condition, numbers, texts) for part in value]
        elif "value" in condition:
            condition["value"] = _typed(value, condition, numbers, texts)


def _input(step: Step) -> Any:
    """What a question accepts; where it does not say, what its kind does."""
    usual = {field.name: field.default for field in structs.fields(KINDS[step["type"]])}
    return step.get("input", usual["input"])


def _typed(value: Any, condition: Step, numbers: set[str], texts: set[str]) -> Any:
    var, orders = str(condition.get("var")), str(condition.get("op")) in ORDERS  # either may be a list in a draft
    if isinstance(value, int | float) and var in texts and not orders:
        return fields.shown(value)  # the question has asked for a number before
    if not isinstance(value, str):
        return value
    if var in _TRUTHS and value.lower() in ("true", "false", "yes", "no"):
        return value.lower() in ("true", "yes")
    return fields.number(value) if var in numbers or orders else value


def renamed(draft: Step, old: str, new: str) -> Step:
    """The flow, with conditions and texts that use the variable `new` for `old`, unless a question still sets that."""
    nodes = draft["nodes"]
    if any(isinstance(node, dict) and is_question(node) and name(node) == old for node in nodes):
        return draft
    slot = re.compile(r"\{\{\s*" + re.escape(old) + r"\s*(?=[|}])")

    def rename(value: Any) -> Any:
        if isinstance(value, str):
            return slot.sub("{{" + new, value) if "{{" in value else value
        if isinstance(value, list):
            return [rename(part) for part in value]
        if isinstance(value, dict):
            return {key: new if key == "var" and part == old else rename(part) for key, part in value.items()}
        return value

    whole = {key: rename(value) if key in _FILLED else value for key, value in draft.items()}
    return {**whole, "nodes": [node if (other := rename(node)) == node else other for node in nodes]}
