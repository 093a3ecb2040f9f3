"""The seeded schedule of what is done when: faults, and what customers do."""

import random
from collections.abc import Sequence
from typing import NamedTuple


class Planned(NamedTuple):
    """What is to be done `at` seconds after the start. `draw` (0 to 1) selects its target, `force` its severity."""

    at: float
    kind: str
    draw: float
    force: float


class Hit(NamedTuple):
    """The target of a fault, and when it was hit. A fault waits for an earlier one of the same target.

    `stopped`: the endpoints of other customers that got nothing meanwhile.
    """

    target: str
    at: float
    stopped: tuple[str, ...] = ()


def schedule(kinds: Sequence[str], seconds: float, every: float, seed: int) -> list[Planned]:
    """Return about one of the `kinds` per `every` seconds; each kind is used once before any is used twice. Pure."""
    draw = random.Random(seed)
    plan: list[Planned] = []
    round_of: list[str] = []
    at = draw.uniform(0.3, 0.9) * every
    while at < seconds * 0.95:
        round_of = round_of or draw.sample(kinds, len(kinds))
        plan.append(Planned(at, round_of.pop(), draw.random(), draw.random()))
        at += draw.uniform(0.6, 1.4) * every
    return plan
