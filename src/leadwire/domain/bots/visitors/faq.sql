-- best: the entries that fit a question best: those with at least half of its words (stop words do not count)
-- The bot's entries are read by its id, not by the words, which may be in very many entries of other bots. Each
-- entry's vector is unpacked once, not once per word, and ranked only if it has enough of them.
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
LIMIT :most
