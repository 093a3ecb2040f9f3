"""Forms that save themselves may be sent again before their answer has come: a new step is made once. Pure."""

from collections.abc import Mapping

from leadwire.domain.bots.builder import blocks, fields
from leadwire.domain.bots.builder.editing import NEW, Draft, step, steps
from leadwire.domain.bots.flow.nodes import KINDS


def unrepeated(draft: Draft, step_id: str, given: Mapping[str, str]) -> dict[str, str]:
    """What a form says of a step, without the new steps that this step leads to already."""
    found, types = dict(given), {one["id"]: one.get("type") for one in steps(draft)}
    for path, target, _ in fields.exits(step(draft, step_id)):
        if target in types and given.get(path, "").startswith(NEW):
            kind = given[path].removeprefix(NEW)
            if types[target] == (kind if kind in KINDS else blocks.nodes(kind, ())[0]["type"]):
                found[path] = str(target)
    return found
