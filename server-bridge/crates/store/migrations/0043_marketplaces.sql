-- Marketplaces: lists of plugins that a user added, each as it was last read. A shared plugin is on the server's shelf: every user may install a copy.
CREATE TABLE marketplaces (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    source        TEXT NOT NULL,
    document      TEXT NOT NULL,
    -- The hashes of the plugins that are in the marketplace itself, by name, as far as they are known.
    hashes_json   TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    UNIQUE (user_id, name)
);
ALTER TABLE plugins ADD COLUMN is_shared BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX plugins_shared ON plugins (is_shared) WHERE is_shared;
