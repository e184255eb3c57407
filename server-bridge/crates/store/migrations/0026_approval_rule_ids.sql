-- A user sees and takes back what they allowed for good: each rule has an id, the scope in words that they agreed to, and a date.
-- Rules of before have neither words nor a date.
CREATE TABLE approval_rules_with_ids (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id       TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    tool          TEXT NOT NULL,
    subject       TEXT NOT NULL,
    scope         TEXT NOT NULL DEFAULT '',
    created_at_ms INTEGER NOT NULL DEFAULT 0,
    UNIQUE (chat_id, tool, subject)
);
INSERT INTO approval_rules_with_ids (chat_id, tool, subject) SELECT chat_id, tool, subject FROM approval_rules;
DROP TABLE approval_rules;
ALTER TABLE approval_rules_with_ids RENAME TO approval_rules;
