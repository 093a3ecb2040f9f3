"""The matrix as text."""

from ops.tenants.matrix import KINDS, Hole, Matrix

_GUARDS = ("session", "key", "receiver", "visitor", "open")


def table(matrix: Matrix) -> str:
    """Counts by kind of try and guard, then every hole, and what could not be tried."""
    head = f"{'tried':12}" + "".join(f"{guard:>10}" for guard in _GUARDS) + f"{'holes':>8}"
    lines = [f"{matrix.size} routes, of which anybody may ask for {matrix.open}", "", head]
    for kind in KINDS:
        counts = "".join(f"{matrix.counts[kind, guard] or '-':>10}" for guard in _GUARDS)
        lines.append(f"{kind:12}{counts}{sum(hole.tried == kind for hole in matrix.holes):>8}")
    lines += ["", *_listed("HOLE", matrix.holes), *_listed("NOT TRIED", matrix.untried)]
    if not matrix.holes and not matrix.untried:
        lines.append("no hole")
    return "\n".join(lines)


def _listed(word: str, holes: list[Hole]) -> list[str]:
    return [f"{word}  {hole.route}  {hole.tried}: {hole.why}" for hole in holes]
