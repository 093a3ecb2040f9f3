"""Who answers free questions: a port, and the adapter that needs no network, the bot's FAQ by full text."""

from typing import Final, Protocol

from msgspec import Struct

from leadwire import db


class Question(Struct, frozen=True):
    """What a visitor wants to know."""

    workspace: str
    bot_id: str
    text: str
    asked: int  # free questions in this conversation before this one


class Answerer(Protocol):
    """Knows answers. Called outside of transactions; whatever it raises counts as not knowing."""

    async def answer(self, question: Question) -> str | None:
        """The answer in words for the visitor, or None when it is not known."""


# An entry must know at least half of the question's words (stop words do not count) to be its answer.
_BEST: Final = """
WITH asked AS (
    SELECT tsvector_to_array(to_tsvector('english', $3)) AS words, tsvector_to_array(to_tsvector('simple', $3)) AS plain
), found AS (
    SELECT id, question, answer, search,
        (SELECT count(*) FROM unnest(words) word WHERE search @@ quote_literal(word)::tsquery) AS met,
        cardinality(words) AS sought
    FROM faq_entry, asked
    WHERE workspace_id = $1 AND bot_id = $2
      AND search @@ (SELECT string_agg(quote_literal(word), ' | ')::tsquery FROM unnest(words || plain) word)
)
SELECT question, answer FROM found WHERE met * 2 >= sought AND met > 0
ORDER BY met DESC,
    ts_rank(search, (SELECT string_agg(quote_literal(word), ' | ')::tsquery FROM asked, unnest(words || plain) word))
    DESC, id
LIMIT $4"""


class Faq:
    """What the bot has been taught."""

    async def answer(self, question: Question) -> str | None:
        """The best entry's answer."""
        found = await matching(question, 1)
        return found[0][1] if found else None


async def matching(question: Question, most: int) -> list[tuple[str, str]]:
    """The entries that fit a question best: their questions and answers."""
    found = await db.rows(_BEST, question.workspace, question.bot_id, question.text.replace("\0", " "), most)
    return [(row["question"], row["answer"]) for row in found]
