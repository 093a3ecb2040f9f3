"""Reports of a period: on a screen, and each as a file."""

from typing import Final

from leadwire.domain.bots import reports as figures
from leadwire.domain.listing import spreadsheets
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.web.routes import PageContext, PageResponse, Values, screen
from leadwire.interfaces.web.screens.overview import period

_MOST: Final = 20  # rows of websites and campaigns on the screen; a file has 1000
_FILE: Final = 1000


@screen("/reports", "reports.html")
async def reports(context: PageContext) -> Values:
    """Everything of a period. Days are UTC."""
    query, names, since = await period(context)
    tables = await figures.tables(context.workspace, query.bot_id, names, since, query.days, _MOST)
    return {"query": query, "bots": names, "reports": tables}


@screen("/reports/{key}/csv")
async def report_file(context: PageContext, key: str) -> PageResponse:
    """One of them as a file."""
    query, names, since = await period(context)
    tables = await figures.tables(context.workspace, query.bot_id, names, since, query.days, _FILE)
    if (table := next((table for table in tables if table.key == key), None)) is None:
        raise NotFound("There is no such report.")
    head = tuple(column.name for column in table.columns)
    return context.download(f"{key}.csv", "text/csv", spreadsheets.table([head, *map(tuple, table.rows)]))
