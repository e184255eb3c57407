-- As SQLite's step of this number.
UPDATE messages SET author_id = NULL WHERE role IN ('user', 'exec') AND id IN (
    SELECT message_id FROM sends WHERE send_id LIKE 'call/%' OR send_id LIKE 'run/%'
    UNION SELECT t.said_id FROM turns t JOIN group_calls g ON g.message_id = t.message_id WHERE t.said_id IS NOT NULL
    UNION SELECT message_id FROM job_runs WHERE message_id IS NOT NULL);
