-- What starts by itself: jobs, each by the clock (a schedule) or by a webhook (a trigger).
CREATE TABLE jobs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('schedule', 'trigger')),
    document_json TEXT NOT NULL,
    -- The one chat of all its runs, once it had one.
    chat_id       TEXT REFERENCES chats (id) ON DELETE SET NULL,
    -- Why it is paused; NULL if it is not.
    paused        TEXT,
    -- The next slot of a schedule.
    next_ms       INTEGER,
    -- The hash of the token in a trigger's address, and the sealed secret that signs its deliveries.
    token_sha256  TEXT UNIQUE,
    secret_sealed TEXT,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    UNIQUE (user_id, name)
);
CREATE INDEX jobs_next ON jobs (next_ms) WHERE next_ms IS NOT NULL;

-- A row for each slot of a schedule, and for each delivery to a trigger: the row is written before anything happens, so that a slot runs once.
CREATE TABLE job_runs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id        INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    slot          TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('due', 'posted', 'skipped', 'failed', 'refused')),
    -- Why it was skipped, failed or was refused.
    note          TEXT NOT NULL DEFAULT '',
    -- The message that it posts.
    text          TEXT NOT NULL DEFAULT '',
    -- The delivery as it came.
    payload       TEXT,
    times         INTEGER NOT NULL DEFAULT 1,
    chat_id       TEXT REFERENCES chats (id) ON DELETE SET NULL,
    message_id    INTEGER REFERENCES messages (id) ON DELETE SET NULL,
    answer_id     INTEGER REFERENCES messages (id) ON DELETE SET NULL,
    due_ms        INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    ended_at_ms   INTEGER,
    UNIQUE (job_id, slot)
);
CREATE INDEX job_runs_due ON job_runs (id) WHERE state = 'due';
CREATE INDEX job_runs_chat ON job_runs (chat_id);
CREATE INDEX job_runs_message ON job_runs (message_id);
CREATE INDEX job_runs_answer ON job_runs (answer_id);
CREATE INDEX jobs_chat ON jobs (chat_id);
