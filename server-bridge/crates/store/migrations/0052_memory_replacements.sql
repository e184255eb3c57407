-- The memories that a proposal makes untrue: they are superseded when its user accepts it.
CREATE TABLE memory_replacements (
    item_id     INTEGER NOT NULL REFERENCES memory_items (id) ON DELETE CASCADE,
    replaces_id INTEGER NOT NULL REFERENCES memory_items (id) ON DELETE CASCADE,
    PRIMARY KEY (item_id, replaces_id)
);
CREATE INDEX memory_replacements_replaces ON memory_replacements (replaces_id);
