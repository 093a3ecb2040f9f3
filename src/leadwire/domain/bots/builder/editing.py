"""One edit of a draft, on its plain data: steps added, changed, copied, deleted, and where they lead. Pure.

A draft may be incomplete meanwhile; `parse` says what it lacks. Every function returns a new flow, in which what did
not change is the same objects. An edit that the flow has no place for raises `Invalid`, one of a step that is gone
`NotFound`.
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from leadwire.domain.bots.builder import blocks, fields, variables
from leadwire.domain.bots.builder.fields import Field, Step
from leadwire.domain.bots.flow.nodes import KINDS, MAX_NODES
from leadwire.infrastructure.errors import Invalid, NotFound
from leadwire.infrastructure.preconditions import digest  # in Python, `1 == True`

Draft = dict[str, Any]
"""A flow as plain data."""

NEW: Final = "new:"
"""Where a step may lead: its id, or this with the type of a step or the name of a block to be made there."""

_MOST_ROWS: Final = 100
_STEMS: Final = {"say": "message", "ask": "question", "branch": "decision", "answer": "knowledge", "handoff": "person"}
_ID: Final = re.compile(r"[a-z][a-z0-9_-]{0,47}")


def steps(draft: Draft) -> list[Step]:
    """The nodes that can be worked on: those with an id of their own."""
    nodes = draft.get("nodes")
    by_id: dict[str, Step] = {}
    for node in nodes if isinstance(nodes, list) else []:
        if isinstance(node, dict) and isinstance(name := node.get("id"), str) and name:
            by_id.setdefault(name, node)
    return list(by_id.values())


def is_bounded(draft: Draft) -> bool:
    """Whether no list in it is longer than that of the nodes may be. A page that shows it is bounded, then."""
    left: list[Any] = [draft]
    while left:
        value = left.pop()
        if isinstance(value, list) and len(value) > MAX_NODES:
            return False
        left += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return True


def step(draft: Draft, step_id: str) -> Step:
    """Return one of the steps."""
    for node in steps(draft):
        if node["id"] == step_id:
            return node
    raise NotFound("This step is no longer in the flow. Undo can bring it back.")


def part(draft: Draft, step_id: str) -> Any:
    """What one form edits: a step, or with an empty id what the flow has besides its steps. Raise NotFound."""
    return step(draft, step_id) if step_id else {name: value for name, value in draft.items() if name != "nodes"}


def add(draft: Draft, kind: str, after: str = "", way: str = "") -> tuple[Draft, str]:
    """Add an empty step of a type, or the steps of a block. Return the draft and the id of the first of them.

    With `after`, that step leads to it by `way`, and it leads on to where that did.
    """
    before = step(draft, after) if after else None
    fresh = _fresh(draft, kind, _onward(before, way) if before else "")
    changed = _inserted(draft, fresh, before)
    return wire(changed, after, way, fresh[0]["id"]) if after else changed, fresh[0]["id"]


def _fresh(draft: Draft, kind: str, onward: str) -> list[Step]:
    if kind not in KINDS:
        return blocks.nodes(kind, [other["id"] for other in steps(draft)], onward)
    node: Step = {"type": kind, "id": _free(draft, _STEMS.get(kind, kind))}
    node |= {field.name: [_row(field)] for field in fields.of(kind) if field.kind == "rows" and field.required}
    way = next((field.name for field in fields.of(kind) if field.kind == "step" and field.required), "")
    return [node | ({way: onward} if way and onward else {})]


def wire(draft: Draft, step_id: str, way: str, target: str) -> Draft:
    """Let a step lead to another, or with an empty target nowhere."""
    if target:
        step(draft, target)
    changed = deepcopy(step(draft, step_id))
    _onward(changed, way)
    fields.lead(changed, way, target)
    return _replaced(draft, step_id, changed)


def change(draft: Draft, step_id: str, values: Mapping[str, str]) -> tuple[Draft, str]:
    """Fill in a step's fields. Return the draft and the step's id, which `named` in `values` may change.

    Variables that go by another name then are renamed wherever they are used.
    """
    old = step(draft, step_id)
    new = fields.filled(fields.of(str(old.get("type"))), old, variables.with_own_field(values))
    variables.match_input(old, new)
    variables.type_values(steps(draft), new)
    wanted = values.get("named", step_id).strip() or step_id
    new["id"] = wanted if wanted == step_id or _ID.fullmatch(wanted) else variables.slug(wanted)
    if new["id"] != step_id and any(other["id"] == new["id"] for other in steps(draft)):
        raise Invalid(f"Another step has the name {new['id']} already.")
    fresh = [(path, target) for path, target in fields.ways(new).items() if target and target.startswith(NEW)]
    for path, _ in fresh:
        fields.lead(new, path, fields.ways(old).get(path))
    changed = _replaced(draft, step_id, new)
    if new["id"] != step_id:
        changed = _renamed(changed, step_id, new["id"])
    if variables.is_question(new) and variables.name(old) != variables.name(new):
        changed = variables.renamed(changed, variables.name(old), variables.name(new))
    for path, target in fresh:
        changed, _ = add(changed, target.removeprefix(NEW), new["id"], path)
    return changed, new["id"]


def unrepeated(draft: Draft, step_id: str, values: Mapping[str, str]) -> dict[str, str]:
    """What a form says of a step, without the new steps that this step leads to already.

    A form that saves itself may be sent again before its answer has come.
    """
    filled, types = dict(values), {node["id"]: node.get("type") for node in steps(draft)}
    for path, target in fields.ways(step(draft, step_id)).items():
        if target in types and values.get(path, "").startswith(NEW):
            kind = values[path].removeprefix(NEW)
            if types[target] == (kind if kind in KINDS else blocks.nodes(kind, ())[0]["type"]):
                filled[path] = str(target)
    return filled


def add_row(draft: Draft, step_id: str, path: str) -> Draft:
    """Add an empty row to a list of a step, such as `options` or `cases/0/when/all`; without a step, of the flow."""
    changed = deepcopy(step(draft, step_id) if step_id else draft)
    if (rows_of := fields.list_at(fields.of(str(changed.get("type")) if step_id else "flow"), path)) is None:
        raise NotFound("There is no such list in this step.")
    try:
        inside, name = fields.at(changed, path, make=True)
    except KeyError:
        inside, name = None, ""
    rows = inside.setdefault(name, []) if isinstance(inside, dict) else None
    if not isinstance(rows, list) or len(rows) >= _MOST_ROWS:
        raise Invalid("There is no place for another one.")
    rows.append(_row(rows_of))
    if path == "options":
        changed["input"] = "choice"
    return _replaced(draft, step_id, changed) if step_id else changed


def _row(of_list: Field) -> Step:
    """An empty row of a list; with a condition, where its rows have some."""
    return {"when": {"all": [{}]}} if any(field.name == "when" for field in of_list.fields) else {}


def move_row(draft: Draft, step_id: str, path: str, by: int | None) -> Draft:
    """Move a row of a list, such as `options/2`, some places down, up if negative; with None, remove it."""
    changed = deepcopy(step(draft, step_id) if step_id else draft)
    try:
        holder, name = fields.at(changed, path.rpartition("/")[0])
        rows, index = holder[name], int(path.rpartition("/")[2])
        row = rows.pop(index)
        if by is not None:
            rows.insert(max(0, index + by), row)
    except (KeyError, IndexError, ValueError, TypeError, AttributeError):
        raise NotFound("This is no longer there.") from None
    if not rows:
        del holder[name]
    return _replaced(draft, step_id, changed) if step_id else changed


def duplicate(draft: Draft, step_id: str) -> tuple[Draft, str]:
    """Add a copy of a step behind it, to which nothing leads yet."""
    old = step(draft, step_id)
    copy = deepcopy(old) | {"id": _free(draft, re.sub(r"-\d+$", "", step_id))}
    return _inserted(draft, [copy], old), copy["id"]


def delete(draft: Draft, step_id: str) -> Draft:
    """Delete a step. What led to it leads to where it led, or nowhere."""
    old = step(draft, step_id)
    ways = {path: target for path, target in fields.ways(old).items() if target != step_id}
    onward = next(filter(None, (ways.get("next"), ways.get("otherwise"), *ways.values())), None)
    left = [node for node in _nodes(draft) if node is not old]
    changed = _renamed({**draft, "nodes": left}, step_id, onward)
    others = steps(changed)
    return changed if "start" in changed or not others else {**changed, "start": others[0]["id"]}


def settings(draft: Draft, values: Mapping[str, str]) -> Draft:
    """Fill in the fields of the flow itself."""
    return fields.filled(fields.of("flow"), draft, values)


def _nodes(draft: Draft) -> list[Any]:
    nodes = draft.get("nodes", [])
    if not isinstance(nodes, list):
        raise Invalid("The nodes of this flow are no list. Correct it as text.")
    return nodes


def _inserted(draft: Draft, fresh: list[Step], before: Step | None) -> Draft:
    """With more steps, behind another or at the end."""
    nodes = _nodes(draft)
    index = next((index for index, node in enumerate(nodes, 1) if node is before), len(nodes))
    if len(nodes) + len(fresh) > MAX_NODES:
        raise Invalid(f"A flow has at most {MAX_NODES} steps.")
    return {**draft, "nodes": [*nodes[:index], *fresh, *nodes[index:]]}


def _replaced(draft: Draft, step_id: str, new: Step) -> Draft:
    old = step(draft, step_id)
    nodes = [new if node is old else node for node in _nodes(draft)]
    return draft if digest(old) == digest(new) else {**draft, "nodes": nodes}


def _free(draft: Draft, stem: str) -> str:
    return blocks.free(stem, {node["id"] for node in steps(draft)})


def _onward(node: Step, way: str) -> str:
    """The step that a way leads to, if any."""
    ways = fields.ways(node)
    if way not in ways:
        raise NotFound("This step has no such way on any more.")
    return ways[way] or ""


def _renamed(draft: Draft, old: str, new: str | None) -> Draft:
    """Let everything that led to the step `old` lead to `new`, or nowhere."""

    def renamed(node: Step) -> Step:
        ways = [path for path, target in fields.ways(node).items() if target == old]
        changed = deepcopy(node) if ways else node
        for path in ways:
            fields.lead(changed, path, new)
        return changed

    flow = {**draft, "nodes": [renamed(node) if isinstance(node, dict) else node for node in _nodes(draft)]}
    if flow.get("start") == old:
        flow.pop("start")
        flow |= {"start": new} if new else {}
    return flow
