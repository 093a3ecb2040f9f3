"""Differences between texts: right for small ones, capped and linear for any."""

import difflib
import random

import pytest

from leadwire.domain.bots.builder import text_diff


def rebuilt(lines, leave_out):
    return [text for sign, text in lines if sign != leave_out]


@pytest.mark.parametrize("seed", range(50))
def test_both_texts_are_in_it(seed):
    chosen = random.Random(seed)
    old = [chosen.choice("abcdefgh") + chosen.choice(["", "1", "2"]) for _ in range(chosen.randrange(40))]
    new = [line for line in old if chosen.random() < 0.8]
    for _ in range(chosen.randrange(5)):
        new.insert(chosen.randrange(len(new) + 1), chosen.choice("abcxyz"))
    lines = text_diff._compared(old, new)
    assert rebuilt(lines, "+") == old
    assert rebuilt(lines, "-") == new


def test_a_changed_line_is_shown_with_two_around_it():
    old = [f"line {n}" for n in range(20)]
    new = [*old[:10], "another", *old[11:]]
    found = text_diff.compare("\n".join(old), "\n".join(new))
    assert found.lines == [
        ("@", "⋯"), (" ", "line 8"), (" ", "line 9"), ("-", "line 10"), ("+", "another"), (" ", "line 11"),
        (" ", "line 12"), ("@", "⋯"),
    ]  # fmt: skip
    assert found.more == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "x\n" * 100_000),
        ("\n" * 100_000, "x\n" + "\n" * 100_000 + "y"),
        ("a\nb\n" * 50_000, "b\na\n" * 50_001),
        ("\n".join(map(str, range(30_000))), "\n".join(map(str, range(30_000, 0, -1)))),
        ("", "\n".join("y" * 10_000 for _ in range(25))),
    ],
)
def test_whatever_they_are_it_is_capped(old, new, monkeypatch):
    def never(*_):
        raise AssertionError("difflib is not linear")

    monkeypatch.setattr(difflib, "SequenceMatcher", never)
    found = text_diff.compare(old, new)
    assert len(found.lines) <= text_diff.LINES
    assert max(len(text) for _, text in found.lines) <= 200
    assert found.more == 0 or len(found.lines) == text_diff.LINES
