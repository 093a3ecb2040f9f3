"""QR codes, as a part of the page: no file, no address that the secret would be in."""

import segno
from markupsafe import Markup


def picture(text: str) -> Markup:
    """The code of `text` as SVG, dark on light in both themes. It is shapes only; `text` is not in it as such."""
    return Markup(segno.make(text, error="m").svg_inline(scale=4, light="#fff"))  # noqa: S704
