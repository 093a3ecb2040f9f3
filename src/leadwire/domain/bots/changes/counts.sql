-- add: add to the counts of the days
-- Names beyond the most of a kind are folded into one.
INSERT INTO bot_count AS known (bot_id, day, kind, name, total)
SELECT bot_id, day, kind, CASE WHEN kind IN ('entered', 'passed') OR name IN ('', 'Other') OR EXISTS (
        SELECT 1 FROM bot_count b WHERE (b.bot_id, b.day, b.kind, b.name) = (m.bot_id, m.day, m.kind, m.name))
    OR (SELECT count(*) FROM bot_count b WHERE (b.bot_id, b.day, b.kind) = (m.bot_id, m.day, m.kind)) + place
        <= :most THEN name ELSE 'Other' END AS named, sum(total)
FROM (SELECT *, row_number() OVER (PARTITION BY bot_id, day, kind ORDER BY total DESC) AS place
    FROM unnest(:bots::text[], :days::date[], :kinds::text[], :names::text[], :counts::int[])
    AS made(bot_id, day, kind, name, total)) m
WHERE EXISTS (SELECT 1 FROM bot WHERE bot.id = m.bot_id)
GROUP BY bot_id, day, kind, named ORDER BY bot_id, day, kind, named
ON CONFLICT (bot_id, day, kind, name) DO UPDATE SET total = known.total + EXCLUDED.total
