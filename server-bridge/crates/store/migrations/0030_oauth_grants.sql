-- What the providers of MCP servers granted to users: tokens and the client they were issued to, sealed as one JSON document. The
-- hash is that of the server's definition: a token goes to no other address.
CREATE TABLE oauth_grants (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    server        TEXT NOT NULL,
    hash          TEXT NOT NULL,
    grant_sealed  TEXT,
    updated_at_ms INTEGER NOT NULL,
    UNIQUE (user_id, server)
);
