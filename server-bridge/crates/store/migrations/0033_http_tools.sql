-- A user's own HTTP tools. The values of their secrets are sealed, as one JSON document that also says to which host each is bound.
CREATE TABLE http_tools (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id        INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    document_json  TEXT NOT NULL,
    secrets_sealed TEXT,
    updated_at_ms  INTEGER NOT NULL,
    UNIQUE (user_id, name)
);
