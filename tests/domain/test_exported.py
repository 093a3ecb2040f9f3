"""CSV: no cell is run as a formula, and no cell takes long."""

import time

import pytest

from leadwire.domain.listing.spreadsheets import written


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("=1", "'=1"), ("  =1", "'  =1"), ("a;=1", "a;'=1"), (";=1", ";'=1"), ("a;;+1|@x", "a;;'+1|'@x"),
        ("a\n\n \t-1", "a\n'\n' \t'-1"), ("\tx", "'\tx"), ("\n=1", "'\n'=1"), ("a-b = c", "a-b = c"), ("a; b", "a; b"),
    ],
)  # fmt: skip
def test_where_a_formula_could_begin_stands_an_apostrophe(cell, shown):
    assert written([(cell,)]).decode() == written([("x",)]).decode().replace("x", _quoted(shown))


def _quoted(text):
    return f'"{text}"' if set(text) & set("\n\r,") else text


def test_a_cell_of_many_empty_lines_takes_no_time():
    """A visitor writes what is exported. Where each empty line looks at all that follow, this takes minutes."""
    began = time.process_time()
    written([("a" + "\n" * 200_000 + "b",)])
    assert time.process_time() - began < 30
