"""What one version of a flow says differently from another, in the words of the builder. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import islice, zip_longest
from typing import Any, Final

import msgspec
from msgspec import Struct

from leadwire.domain.bots.builder import editing, fields, text_diff
from leadwire.domain.bots.builder.editing import Draft
from leadwire.domain.bots.builder.fields import Field, Step
from leadwire.domain.bots.flow.parse import checked
from leadwire.interfaces.web import step_labels

_MOST: Final = 100  # steps
_LONGEST: Final = 300  # characters of what is told of a field

Difference = tuple[str, str, str]
"""What a field is called, what it said, and what it says."""


class Change(Struct, frozen=True):
    """What became of a step."""

    step: str
    deed: str
    """Such as added, removed or changed."""
    fields: list[Difference]


Compared = tuple[list[Change], text_diff.TextDiff]


def of_texts(old: str, new: str) -> Compared:
    """How a flow became another, in words and line by line."""
    drafts = (draft if editing.is_bounded(draft) else {} for draft, _ in map(checked, (old, new)))
    return compare(*drafts), text_diff.compare(old, new)


def compare(old: Draft, new: Draft) -> list[Change]:
    """How `old` became `new`: first what holds for the whole flow."""
    if not old:
        return [Change("The first version", f"has {len(editing.steps(new))} steps", [])]
    before, after = ({step["id"]: step for step in editing.steps(draft)} for draft in (old, new))
    names = {name: step_labels.named(step) for name, step in {**before, **after}.items()}
    changes = [Change("The whole flow", "changed", list(_differences(fields.of("flow"), old, new, "flow", names)))]
    for name in {**after, **before}:
        was, now = before.get(name), after.get(name)
        if was and now and was.get("type") == now.get("type"):
            kind = str(now.get("type"))
            changes.append(Change(names[name], "changed", list(_differences(fields.of(kind), was, now, kind, names))))
        else:
            changes += [Change(step_labels.named(was), "removed", [])] if was else []
            changes += [Change(step_labels.named(now), "added", [])] if now else []
    return [change for change in changes if change.fields or change.deed != "changed"][:_MOST]


def _differences(
    members: Sequence[Field], old: Step, new: Step, inside: str, names: Mapping[str, str], prefix: str = ""
) -> Iterator[Difference]:
    for field in members:
        was, now = old.get(field.name), new.get(field.name)
        if was == now:
            continue
        label = prefix + step_labels.label(field, inside)
        if field.kind == "group":
            yield from _differences(field.fields, _table(was), _table(now), field.name, names, prefix)
        elif field.kind == "rows":
            yield from _rows(field, fields.rows(was), fields.rows(now), names, prefix)
        else:
            yield label, _said(field, was, names), _said(field, now, names)


def _rows(
    field: Field, old: Sequence[Step], new: Sequence[Step], names: Mapping[str, str], prefix: str
) -> Iterator[Difference]:
    keys, others = ([msgspec.json.encode(row, order="deterministic") for row in rows] for rows in (old, new))
    for deed, a, b, c, d in SequenceMatcher(None, keys, others, autojunk=False).get_opcodes():
        none: Step = {}
        pairs = zip_longest(old[a:b], new[c:d], fillvalue=none) if deed != "equal" else ()
        for number, (was, now) in enumerate(pairs, c + 1):
            label = f"{prefix}{step_labels.one(field).capitalize()} {number}"
            if was and now:
                yield from islice(_differences(field.fields, was, now, field.name, names, f"{label}, "), 20)
            else:
                yield label, step_labels.row(was), step_labels.row(now)


def _said(field: Field, value: Any, names: Mapping[str, str]) -> str:
    text = fields.shown(value)
    labels = names if field.kind == "step" else step_labels.choices(field) if field.kind == "choice" else {}
    return labels.get(text, text)[:_LONGEST]


def _table(value: Any) -> Step:
    return value if isinstance(value, dict) else {}
