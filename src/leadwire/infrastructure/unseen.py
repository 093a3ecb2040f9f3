"""What no text of one line has, in whatever script."""

import re
from typing import Final

UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, ends of lines, what turns the direction of the text around it, and halves of characters.

`str.isprintable` is none of this: it is false for the blanks and joiners of other scripts, as between Japanese names.
"""


def is_name(text: str, longest: int) -> bool:
    """Whether a text can be the name of something: 1 to `longest` characters, all of them seen or blanks."""
    return 1 <= len(text) <= longest and not UNSEEN.search(text)
