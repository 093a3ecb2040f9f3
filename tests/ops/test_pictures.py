"""The pictures in the README show today's screens."""

import re

import pytest
from ops.screens import readme
from ops.screens.screens import SCREENS


@pytest.mark.parametrize("picture", readme.PICTURES)
def test_a_picture_is_not_older_than_most_of_what_it_shows(picture: str) -> None:
    """Not made of the same lines: a small change needs no new picture, many of them do."""
    assert readme.share(picture) > 0.75, "take new ones: uv run --group test python -m ops.screens --readme"


def test_the_readme_shows_each_and_no_other() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(ops/screens/pictures/(\w+)\.png\)", (readme.ROOT / "README.md").read_text())
    assert sorted(shown) == sorted(readme.PICTURES) == sorted(path.stem for path in readme.FOLDER.glob("*.png"))
    assert {screen for screen, _ in readme.PICTURES.values()} <= set(SCREENS)
