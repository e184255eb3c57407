-- A user's own MCP servers. The values of variables and headers are secrets: they are sealed, as one JSON document.
CREATE TABLE mcp_servers (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id        INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    entry_json     TEXT NOT NULL,
    secrets_sealed TEXT,
    updated_at_ms  INTEGER NOT NULL,
    UNIQUE (user_id, name)
);
-- The tools that a server listed on a place: the accepted ones, and those that changed since. The hash is that of the server's
-- definition: another definition has listed nothing yet.
CREATE TABLE mcp_catalogues (
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    place         TEXT NOT NULL,
    server        TEXT NOT NULL,
    hash          TEXT NOT NULL,
    listing_json  TEXT NOT NULL,
    listed_at_ms  INTEGER NOT NULL,
    PRIMARY KEY (user_id, place, server, hash)
);
