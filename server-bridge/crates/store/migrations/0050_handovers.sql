-- Files on their way from the agent of one step to the agent of the next one: a row is written before they are read, and ends once.
CREATE TABLE group_handovers (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id        INTEGER NOT NULL REFERENCES group_runs (id) ON DELETE CASCADE,
    -- The call that gets the files: one attempt at a step.
    call_id       INTEGER NOT NULL UNIQUE REFERENCES group_calls (id) ON DELETE CASCADE,
    -- The step that made the files, counted from 0.
    from_step     INTEGER NOT NULL,
    from_runner   TEXT NOT NULL,
    to_runner     TEXT NOT NULL,
    -- Part of the name that the files have until they are complete.
    token         TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed', 'stopped')),
    directory     TEXT NOT NULL DEFAULT '',
    files         INTEGER NOT NULL DEFAULT 0,
    size_bytes    INTEGER NOT NULL DEFAULT 0,
    -- The SHA-256 of the listing, in hexadecimal digits.
    sha256        TEXT,
    error         TEXT NOT NULL DEFAULT '',
    created_at_ms INTEGER NOT NULL,
    ended_at_ms   INTEGER
);
CREATE INDEX group_handovers_run ON group_handovers (run_id);
