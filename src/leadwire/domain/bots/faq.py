"""Who answers free questions: the interface, and the implementation without network, the bot's FAQ by full text."""

from typing import Final, Protocol

from msgspec import Struct

from leadwire.infrastructure.db.statements import sql


class Question(Struct, frozen=True):
    """What a visitor wants to know."""

    workspace: str
    bot_id: str
    text: str
    asked: int  # free questions in this conversation before this one


class Answerer(Protocol):
    """Answers questions. Called outside of transactions; an error counts as no answer."""

    async def answer(self, question: Question) -> str | None:
        """The answer in words for the visitor, or None when it is not known."""


_MOST_WORDS: Final = 32  # of a question, its first: what a look-up costs is bounded by it, whatever a visitor sends

# The entries that fit a question best: those with at least half of its words (stop words do not count). The bot's
# entries are read by its id, not by the words, which may be in very many entries of other bots. Each entry's vector is
# unpacked once, not once per word, and ranked only if it has enough of them.
_BEST: Final = sql("""
WITH word AS MATERIALIZED (
    SELECT config = 'english'::regconfig AS stem, quote_literal(lexeme)::tsquery AS query
    FROM (VALUES ('english'::regconfig), ('simple')) configs (config), LATERAL (
        SELECT lexeme FROM unnest(to_tsvector(config, :text)) ORDER BY positions[1], lexeme LIMIT :words
    ) first
), asked AS MATERIALIZED (
    SELECT array_agg(query) FILTER (WHERE stem) AS words,
        string_agg(query::text, ' | ') FILTER (WHERE stem)::tsquery AS any_word,
        string_agg(query::text, ' | ')::tsquery AS any_form
    FROM word
)
SELECT question, answer FROM asked, LATERAL (
    SELECT id, question, answer, search, strip(search) AS known FROM faq_entry
    WHERE workspace_id = :workspace AND bot_id = :bot OFFSET 0
) entry, LATERAL (SELECT count(*) AS met FROM unnest(words) query WHERE known @@ query) counted
WHERE known @@ any_word AND met * 2 >= cardinality(words)
ORDER BY met DESC, ts_rank(search, any_form) DESC, id
LIMIT :most""")


class Faq:
    """What the bot has been taught."""

    async def answer(self, question: Question) -> str | None:
        """The best entry's answer."""
        found = await matching(question, 1)
        return found[0][1] if found else None


async def matching(question: Question, most: int) -> list[tuple[str, str]]:
    """The entries that fit a question best: their questions and answers."""
    place = {"workspace": question.workspace, "bot": question.bot_id}
    found = await _BEST.rows(**place, text=question.text.replace("\0", " "), most=most, words=_MOST_WORDS)
    return [(row["question"], row["answer"]) for row in found]
