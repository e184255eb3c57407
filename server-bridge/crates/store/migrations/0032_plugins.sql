-- The plugins that users installed: copies, by the hash of their files. The server reads them from here; nothing of them runs on it.
CREATE TABLE plugins (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id         INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name            TEXT NOT NULL,
    hash            TEXT NOT NULL,
    version         TEXT NOT NULL,
    source          TEXT NOT NULL,
    is_enabled      BOOLEAN NOT NULL,
    installed_at_ms INTEGER NOT NULL,
    UNIQUE (user_id, name)
);
CREATE TABLE plugin_files (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    plugin_id     INTEGER NOT NULL REFERENCES plugins (id) ON DELETE CASCADE,
    path          TEXT NOT NULL,
    is_executable BOOLEAN NOT NULL,
    content       BLOB NOT NULL,
    UNIQUE (plugin_id, path)
);
