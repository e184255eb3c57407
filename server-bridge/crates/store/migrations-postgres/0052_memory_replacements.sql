-- As SQLite's step of this number.
CREATE TABLE memory_replacements (
    item_id     BIGINT NOT NULL REFERENCES memory_items (id) ON DELETE CASCADE,
    replaces_id BIGINT NOT NULL REFERENCES memory_items (id) ON DELETE CASCADE,
    PRIMARY KEY (item_id, replaces_id)
);
CREATE INDEX memory_replacements_replaces ON memory_replacements (replaces_id);
