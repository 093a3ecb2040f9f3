"""Documents are erased with what they are about.

Whoever writes or erases documents of a workspace holds its lock to the end of the transaction. So a writer has either
ended, and its document is seen and deleted, or it begins after the erasure and reads what is left.
"""

from typing import Final

from leadwire.domain.search.table import SearchDocument, SearchDue
from leadwire.infrastructure.db.declared import delete_some
from leadwire.infrastructure.db.statements import sql

LOCK: Final = "hashtextextended('search ' || :workspace::text, 0)"
"""The number of a workspace's lock."""
_WAIT: Final = sql(f"SELECT pg_advisory_xact_lock({LOCK})")
_FORGET: Final = sql("""
WITH forgotten AS (DELETE FROM search_document WHERE workspace_id = :workspace AND id = ANY(:ids::text[]))
INSERT INTO search_due (workspace_id, subject) SELECT :workspace, unnest(:ids)""")
_DELETE_SOME: Final = (delete_some(SearchDue), delete_some(SearchDocument))


async def forget(workspace: str, ids: list[str]) -> None:
    """Delete the documents of conversations whose words are erased in the open transaction; what is left of them is
    found again later.
    """
    await _WAIT.rows(workspace=workspace)
    await _FORGET.rows(workspace=workspace, ids=ids)


async def delete_batch(workspace: str, most: int) -> int:
    """Delete at most so many documents, and notes of changes, of a workspace that is deleted. Return how many."""
    await _WAIT.rows(workspace=workspace)
    return sum([len(await some.rows(workspace=workspace, most=most)) for some in _DELETE_SOME])
