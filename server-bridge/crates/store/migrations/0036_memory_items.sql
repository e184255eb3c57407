-- What agents remember: core blocks, which stand in every prompt, and items of three kinds, each of a scope, with where it came from and when it holds.
-- A proposal waits for its user; one that would change an item names it. Notes of earlier versions become items of the kind semantic.
CREATE TABLE memory_items (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind          TEXT NOT NULL CHECK (kind IN ('core', 'semantic', 'episodic', 'procedural')),
    scope         TEXT NOT NULL CHECK (scope IN ('user', 'project', 'agent')),
    scope_name    TEXT NOT NULL,
    name          TEXT NOT NULL,
    text          TEXT NOT NULL,
    source        TEXT NOT NULL CHECK (source IN ('person', 'asked', 'model', 'chat', 'note')),
    source_chat   TEXT REFERENCES chats (id) ON DELETE SET NULL,
    source_message BIGINT REFERENCES messages (id) ON DELETE SET NULL,
    is_proposed   BOOLEAN NOT NULL,
    replaces_id   BIGINT REFERENCES memory_items (id) ON DELETE CASCADE,
    valid_from_ms BIGINT NOT NULL,
    valid_to_ms   BIGINT,
    superseded_by BIGINT REFERENCES memory_items (id) ON DELETE SET NULL,
    revision      BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL
);
CREATE INDEX memory_items_user ON memory_items (user_id);
CREATE INDEX memory_items_chat ON memory_items (source_chat);
CREATE INDEX memory_items_message ON memory_items (source_message);
CREATE INDEX memory_items_replaces ON memory_items (replaces_id);
CREATE INDEX memory_items_superseded ON memory_items (superseded_by);
CREATE UNIQUE INDEX memory_items_core ON memory_items (user_id, scope_name, name) WHERE kind = 'core' AND NOT is_proposed;

-- Earlier texts of an item, and who replaced them.
CREATE TABLE memory_revisions (
    item_id     INTEGER NOT NULL REFERENCES memory_items (id) ON DELETE CASCADE,
    revision    INTEGER NOT NULL,
    name        TEXT NOT NULL,
    text        TEXT NOT NULL,
    replaced_by TEXT NOT NULL,
    replaced_at_ms BIGINT NOT NULL,
    PRIMARY KEY (item_id, revision)
);

INSERT INTO memory_items (user_id, kind, scope, scope_name, name, text, source, is_proposed, valid_from_ms, revision, created_at_ms, updated_at_ms)
SELECT user_id, 'semantic', 'user', '', name, text, 'note', FALSE, updated_at_ms, 1, updated_at_ms, updated_at_ms FROM memories ORDER BY user_id, name;
DROP TABLE memories;
