"""Documents of hostile texts: PostgreSQL takes each."""

import unicodedata
from itertools import islice, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadwire.domain.search import documents
from leadwire.infrastructure import db

LETTERS = "abcdefghijklmnopqrstuvwxyz"
# The characters that are longest when they are plain, one of four bytes, and what SQL quotes.
ALL = (chr(number) for number in range(0x20, 0x30000) if not 0xD800 <= number < 0xE000)
HOSTILE = sorted(ALL, key=lambda one: len(unicodedata.normalize("NFKD", one).encode()))[-40:]
CHARACTERS = st.sampled_from([*HOSTILE, "\u327c", "\ufdfa", "\U00020000", "a", "ß", "İ", "'", "\\", ":", "*", " ", "_"])


def distinct(filler: str, most: int) -> str:
    """Words that all differ, each with a filler, up to so many characters."""
    size = len(filler) + 4
    return " ".join("".join(letters) + filler for letters in islice(product(LETTERS, repeat=3), most // size))


async def lexemes(text: str, *marks: str) -> int:
    return await db.value("SELECT length($1::tsvector)", documents.vector(text, marks))


async def test_words_that_are_longer_when_they_are_plain_fit(database):
    assert 5_000 < await lexemes(distinct("\u327c" * 11, documents.LONGEST)) < documents.LONGEST // 15


@pytest.mark.parametrize("filler", ["\ufdfa", "\ufdfa" * 3, "\U00020000" * 20, "\u327c" * 11 + "\ufdfa"])
async def test_no_filler_makes_too_much_of_a_text(database, filler):
    assert await lexemes(distinct(filler, documents.LONGEST))


@given(
    st.text(CHARACTERS, min_size=1, max_size=30),
    st.integers(1, documents.LONGEST),
    st.text(CHARACTERS, min_size=1, max_size=200),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_text_fits(database, filler, most, mark):
    await lexemes(filler * (most // len(filler)) + distinct(filler, most), mark, f"tag:{documents.plain(mark)}")
    await db.rows("SELECT $1::tsquery", documents.all_of([mark, documents.plain(mark)]))


async def test_a_mark_is_found_however_long_it_is(database):
    mark = f"tag:{documents.plain(chr(0xFDFA) * 200)}"
    found = "SELECT $1::tsvector @@ $2::tsquery"
    assert await db.value(found, documents.vector("", [mark]), documents.all_of([mark]))
