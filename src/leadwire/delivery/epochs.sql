-- begun: the epochs that followed one of another server, the latest first
SELECT started_at, last_event FROM (SELECT *, lag(server) OVER (ORDER BY first_position) AS before FROM epoch) epoch
WHERE before IS NOT NULL ORDER BY first_position DESC LIMIT 10

-- spans: the first position of each epoch, that of the next one, and the newest event before that
-- One before all is not noted.
SELECT first_position, lead(first_position) OVER up, lead(last_event, 1, 'evt_z') OVER up AS newest
FROM (SELECT first_position, last_event FROM epoch UNION ALL VALUES (0, NULL)) epoch
WINDOW up AS (ORDER BY first_position) ORDER BY first_position
