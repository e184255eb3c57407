-- A permission rule may hold in one chat only. SQLite changes no UNIQUE of a table, so the table is made again.
CREATE TABLE permission_rules_of_chats (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    effect        TEXT NOT NULL,
    rule          TEXT NOT NULL,
    justification TEXT NOT NULL DEFAULT '',
    created_at_ms INTEGER NOT NULL,
    hits          INTEGER NOT NULL DEFAULT 0,
    last_hit_at_ms INTEGER,
    chat_id       TEXT REFERENCES chats (id) ON DELETE CASCADE
);
INSERT INTO permission_rules_of_chats (id, user_id, effect, rule, justification, created_at_ms, hits, last_hit_at_ms)
SELECT id, user_id, effect, rule, justification, created_at_ms, hits, last_hit_at_ms FROM permission_rules;
DROP TABLE permission_rules;
ALTER TABLE permission_rules_of_chats RENAME TO permission_rules;
CREATE UNIQUE INDEX permission_rules_once ON permission_rules (user_id, effect, rule) WHERE chat_id IS NULL;
CREATE UNIQUE INDEX permission_rules_once_in_chat ON permission_rules (chat_id, effect, rule) WHERE chat_id IS NOT NULL;
