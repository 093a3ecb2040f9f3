"""What a person may do: a viewer looks, an agent works with leads and conversations, an admin does all. Pure."""

from typing import Final, Literal, get_args

Role = Literal["viewer", "agent", "admin"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""Each may do what those before it may."""


def reaches(role: str, needed: str) -> bool:
    """Whether `role` is at least `needed`. An unknown role reaches nothing, an unknown need is met by nobody."""
    ranks: dict[str, int] = {name: rank for rank, name in enumerate(ROLES)}
    return role in ranks and needed in ranks and ranks[role] >= ranks[needed]
