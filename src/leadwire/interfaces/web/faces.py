"""Names and colors by which people and visitors are told apart at sight. Each follows from an id, and stays."""

import zlib
from typing import Final

from markupsafe import Markup

_COLORS: Final = ("Coral", "Amber", "Olive", "Green", "Teal", "Blue", "Violet", "Pink")  # as in layout.css


def nickname(ident: str) -> str:
    """What a visitor is called who has not said a name: the color of their face, and a number."""
    number, color = divmod(zlib.crc32(ident.encode()), len(_COLORS))
    return f"{_COLORS[color]} {number % 1000}"


def face(ident: str, name: str) -> Markup:
    """The initials of a name, in the color of an id. Whoever cannot see them has the name beside them."""
    first, *others = name.partition("@")[0].split() or ["?"]
    initials = first[0] + others[-1][0] if others else first[:2]
    color = _COLORS[zlib.crc32(ident.encode()) % len(_COLORS)].lower()
    return Markup('<i class="avatar {}" aria-hidden="true">{}</i>').format(color, initials.upper())
