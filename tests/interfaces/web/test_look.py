"""The style sheets of the web area keep to the scales of `ops/screens/README.md`."""

import re
from pathlib import Path

from leadwire.interfaces import web

SHEETS = {path.name: path.read_text() for path in (Path(web.__file__).parent / "static").glob("*.css")}
SCALES = {
    r"font-size: ?([\d.]+px)": {f"{size}px" for size in (11, 12, 13, 14, 16, 20, 22)},
    r"font-weight: ?(\d+)": {"400", "500", "600"},
    r"border-radius: ?([\d.]+px)": {"2px", "4px", "8px", "999px"},
    r"(?<![-\w])(?:gap|row-gap|column-gap): ?([\d.]+px)": {f"{gap}px" for gap in (1, 2, 4, 6, 8, 10, 12, 16, 24)},
}


def test_sizes_weights_corners_and_gaps_are_on_their_scales():
    found = {
        (name, scale, value)
        for scale in SCALES
        for name, text in SHEETS.items()
        for value in re.findall(scale, text)
        if value not in SCALES[scale]
    }
    assert found == set()
    assert all(re.search(scale, "".join(SHEETS.values())) for scale in SCALES)


def test_a_color_has_one_place():
    root = re.search(r":root \{.*?\n\}", SHEETS["base.css"], re.DOTALL)
    assert root
    everything = "".join(SHEETS.values()).replace(root[0], "")
    assert re.findall(r"#(?:[0-9a-f]{3,4}){1,2}\b(?=[^{}]*[;}])|rgba?\(", everything) == []
    used = set(re.findall(r"var\((--[\w-]+)\)", everything))
    assert {name for name in re.findall(r"(--[\w-]+): ", root[0]) if name not in used} == set()
