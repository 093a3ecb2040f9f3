"""Every change of a bot's FAQ."""

from typing import Final

from leadwire.domain.accounts import quotas
from leadwire.domain.bots import reads
from leadwire.domain.bots.schema import FaqEntry
from leadwire.domain.bots.table import FaqEntry as Table
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import param, sql, statement
from leadwire.infrastructure.errors import Invalid, NotFound

# An entry with its search document: the question's words weigh more than the answer's.
_ADD: Final = sql("""
INSERT INTO faq_entry (id, workspace_id, bot_id, question, answer, created_at, search)
SELECT :id, :workspace, :bot, :question, :answer, :now,
    setweight(to_tsvector('english', :question), 'A') || setweight(to_tsvector('simple', :question), 'B') ||
    setweight(to_tsvector('english', :answer), 'D')""")
_OF_WORKSPACE: Final = Table.workspace_id == param("workspace")
_COUNT: Final = statement(Table.count().where(_OF_WORKSPACE, Table.bot_id == param("bot")))
_REMOVE: Final = statement(Table.delete().where(_OF_WORKSPACE, Table.id == param("id")).returning(Table.id))


async def add(workspace: str, bot_id: str, question: str, answer: str) -> FaqEntry:
    """Teach a bot the answer to a question. Raise NotFound, Invalid, QuotaExceeded."""
    question, answer = question.strip(), answer.strip()
    if not (0 < len(question) <= 500 and 0 < len(answer) <= 2000) or "\0" in question + answer:
        raise Invalid("A question has 1 to 500 characters, an answer 1 to 2000.")
    await reads.detail(workspace, bot_id)
    entry = FaqEntry(ids.new("faq"), question, answer)
    async with db.transaction():
        await _ADD.rows(id=entry.id, workspace=workspace, bot=bot_id, question=question, answer=answer, now=clock.now())
        await quotas.check(workspace, "faq_entries", _COUNT, bot=bot_id)
    return entry


async def remove(workspace: str, entry_id: str) -> None:
    """Remove an entry. Raise NotFound."""
    await _REMOVE.one(NotFound("There is no such entry."), workspace=workspace, id=entry_id)
