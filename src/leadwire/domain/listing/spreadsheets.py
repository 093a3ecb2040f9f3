"""CSV that a spreadsheet opens, and runs nothing of."""

import csv
import io
import re
from collections.abc import AsyncIterator
from typing import Final

BOM: Final = "\N{BYTE ORDER MARK}"  # spreadsheets take the file for UTF-8 by this alone
# What begins with one of these is run as a formula (OWASP, CSV injection), the full-width ones in some locales. A
# spreadsheet whose locale separates cells by something else than a comma begins a new cell inside of ours. It takes all
# blanks that follow, whatever comes then: a cell of many empty lines is read once, not once for each.
_BEGINNING: Final = re.compile(r"((?:[;|\t\r\n]|^)[\s\"]*+)([=+\-@＝＋－＠])?")  # noqa: RUF001
_SEPARATOR: Final = re.compile(r"\A(?![;|\t\r\n])|(?<=[;|\t\r\n])")


async def table(rows: list[tuple[object, ...]]) -> AsyncIterator[bytes]:
    """Any rows as a CSV file in UTF-8, the first one with the names of the columns."""
    yield written(rows, start=BOM)


def written(rows: list[tuple[object, ...]], start: str = "") -> bytes:
    """Return rows as CSV. Texts that a spreadsheet would run begin with `'`."""
    text = io.StringIO(start)
    text.seek(0, io.SEEK_END)
    csv.writer(text).writerows([_harmless(cell) for cell in row] for row in rows)
    return text.getvalue().encode()


def _harmless(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    harmless = _BEGINNING.sub(lambda match: _SEPARATOR.sub("'", match[1]) + match[2] if match[2] else match[0], cell)
    return f"'{harmless}" if harmless.startswith(("\t", "\r", "\n")) else harmless
