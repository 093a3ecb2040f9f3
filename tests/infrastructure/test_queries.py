"""Functions that are a statement each: what their annotations make of rows, and what fails at import."""

import types
from datetime import UTC, datetime

import pytest

from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import NotFound

SQL = """-- numbers
SELECT one, one + 1 FROM generate_series(1, :most) AS one ORDER BY 1

-- pairs
SELECT one, one + 1 FROM generate_series(1, :most) AS one ORDER BY 1

-- by_number
SELECT one, one + 1 FROM generate_series(1, :most) AS one ORDER BY 1

-- first
SELECT one FROM generate_series(1, :most) AS one ORDER BY 1

-- has
SELECT one > 1 FROM generate_series(2, :most) AS one ORDER BY 1

-- needed
SELECT one FROM generate_series(1, :most) AS one ORDER BY 1

-- moments
SELECT id, timestamptz '2026-01-02T03:04:05Z' FROM unnest(ARRAY['a', 'b']) AS made (id) WHERE id = :id

-- texts
SELECT id, timestamptz '2026-01-02T03:04:05Z' FROM unnest(ARRAY['a', 'b']) AS made (id) WHERE id = :id

-- known_at
SELECT :now::timestamptz WHERE :id <> ''

-- wrong
SELECT :other
"""
MODULE = """
from datetime import datetime
from msgspec import Struct
from leadwire.infrastructure.db.queries import query

class Moment(Struct):
    id: str
    at: datetime | None

class Text(Struct):
    id: str
    at: str

@query()
async def numbers(most: int = 2) -> list[int]: ...
@query()
async def pairs(most: int) -> list[tuple[int, int]]: ...
@query()
async def by_number(most: int) -> dict[int, int]: ...
@query()
async def first(most: int) -> int | None: ...
@query()
async def has(most: int) -> bool: ...
@query("Nothing.")
async def needed(most: int) -> int: ...
@query(LookupError)
async def moments(id: str) -> Moment: ...
@query("There is no {id}.")
async def known_at(id: str) -> datetime: ...
@query()
async def _texts(id: str) -> list[Text]: ...
"""


@pytest.fixture
def made(tmp_path):
    (tmp_path / "reads.sql").write_text(SQL)

    def module(text):
        one = types.ModuleType("reads")
        one.__file__ = str(tmp_path / "reads.py")
        exec(compile(text, one.__file__, "exec"), vars(one))
        return one

    return module


async def test_what_is_annotated_is_made_of_the_rows(database, made):
    reads = made(MODULE)
    assert await reads.numbers() == await reads.numbers(2) == await reads.numbers(most=2) == [1, 2]
    assert await reads.pairs(2) == [(1, 2), (2, 3)]
    assert await reads.by_number(2) == {1: 2, 2: 3}
    assert [await reads.first(most) for most in (0, 2)] == [None, 1]
    assert [await reads.has(most) for most in (1, 2)] == [False, True]
    assert (await reads.moments("a")).at.year == 2026
    assert [row.at for row in await reads._texts("b")] == ["2026-01-02T03:04:05.000Z"]


async def test_now_is_what_the_clock_says(database, made):
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    with clock.at(moment):
        assert await made(MODULE).known_at("a") == moment


async def test_what_is_missing_is_told(database, made):
    reads = made(MODULE)
    with pytest.raises(NotFound, match="Nothing"):
        await reads.needed(0)
    with pytest.raises(NotFound, match=r"^There is no \.$"):
        await reads.known_at("")
    for absent in ("c", "a\0"):
        with pytest.raises(LookupError):
            await reads.moments(absent)
        assert await reads._texts(absent) == []
    with pytest.raises(TypeError):
        await reads.first(1, 2)


@pytest.mark.parametrize(("name", "error"), [("wrong", TypeError), ("absent", KeyError)])
def test_a_function_without_its_statement_fails_at_import(made, name, error):
    text = "from leadwire.infrastructure.db.queries import query\n@query()\n"
    with pytest.raises(error):
        made(f"{text}async def {name}(most: int) -> int | None: ...")
