-- A user's own hooks, as one document.
CREATE TABLE hook_documents (
    user_id       INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    text          TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL
);
-- What a user approved of a workspace: the hash of what runs, by kind.
CREATE TABLE trusts (
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind          TEXT NOT NULL,
    hash          TEXT NOT NULL,
    shown         TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (user_id, kind, hash)
);
