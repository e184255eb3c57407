-- Questions to people: asked with a message, answered once, from any surface.
CREATE TABLE asks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    asked_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    answer_json TEXT,
    surface TEXT,
    answered_at_ms INTEGER,
    withdrawn_at_ms INTEGER
);
CREATE INDEX asks_message ON asks (message_id);
