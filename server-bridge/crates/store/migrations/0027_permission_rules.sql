-- A user's permission rules: which tool calls are denied, asked about or allowed. A rule that decides a call is counted.
CREATE TABLE permission_rules (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    effect        TEXT NOT NULL,
    rule          TEXT NOT NULL,
    justification TEXT NOT NULL DEFAULT '',
    created_at_ms INTEGER NOT NULL,
    hits          INTEGER NOT NULL DEFAULT 0,
    last_hit_at_ms INTEGER,
    UNIQUE (user_id, effect, rule)
);
