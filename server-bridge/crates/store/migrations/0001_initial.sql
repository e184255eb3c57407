-- Every time is Unix milliseconds. Every secret is the lower-case hex of its SHA-256, or an argon2id PHC string.
-- Queries are portable; this file is SQLite's. On PostgreSQL `INTEGER PRIMARY KEY AUTOINCREMENT` becomes an identity
-- column. AUTOINCREMENT stays: an id that is never given twice cannot hand a removed user's leftovers to a new one.

CREATE TABLE users (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT    NOT NULL UNIQUE,
    password_hash TEXT    NOT NULL,
    admin         BOOLEAN NOT NULL,
    created_at_ms BIGINT  NOT NULL
);

CREATE TABLE sessions (
    token_sha256  TEXT   NOT NULL PRIMARY KEY,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at_ms);

-- A revoked runner stays a while, so that its token is answered with "revoked" and its epochs are never issued again.
CREATE TABLE runners (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT   NOT NULL,
    created_at_ms BIGINT NOT NULL,
    last_seen_ms  BIGINT,
    facts_json    TEXT,
    epoch         BIGINT NOT NULL,
    revoked_at_ms BIGINT
);
CREATE UNIQUE INDEX runners_live_name ON runners (user_id, name) WHERE revoked_at_ms IS NULL;
CREATE INDEX runners_user_name ON runners (user_id, name);

-- `kind` is 'permanent'; 'enrolment' (one use, marked by `used_at_ms`) has its place here and is not issued yet.
CREATE TABLE runner_tokens (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    token_sha256  TEXT   NOT NULL UNIQUE,
    runner_id     BIGINT NOT NULL REFERENCES runners (id) ON DELETE CASCADE,
    kind          TEXT   NOT NULL CHECK (kind IN ('permanent', 'enrolment')),
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT,
    used_at_ms    BIGINT
);
CREATE INDEX runner_tokens_runner ON runner_tokens (runner_id);

CREATE TABLE settings (
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name    TEXT   NOT NULL,
    value   TEXT   NOT NULL,
    PRIMARY KEY (user_id, name)
);

CREATE TABLE chats (
    id            TEXT   NOT NULL PRIMARY KEY,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    title         TEXT   NOT NULL,
    runner        TEXT,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL
);
CREATE INDEX chats_user_updated ON chats (user_id, updated_at_ms);

CREATE TABLE messages (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id       TEXT   NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    role          TEXT   NOT NULL CHECK (role IN ('user', 'exec', 'notice', 'assistant')),
    text          TEXT   NOT NULL,
    exec_json     TEXT,
    created_at_ms BIGINT NOT NULL
);
CREATE INDEX messages_chat ON messages (chat_id, id);

-- The id is chosen by whoever asked, so it is unique per user: nobody can occupy, or probe for, another's id.
CREATE TABLE execs (
    user_id        BIGINT  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    exec_id        TEXT    NOT NULL,
    chat_id        TEXT    REFERENCES chats (id) ON DELETE SET NULL,
    message_id     BIGINT  REFERENCES messages (id) ON DELETE SET NULL,
    request_hash   TEXT    NOT NULL,
    runner         TEXT,
    command        TEXT    NOT NULL,
    status         TEXT    NOT NULL
        CHECK (status IN ('running', 'exited', 'signaled', 'timed_out', 'cancelled', 'failed', 'lost')),
    exit_code      INTEGER,
    signal         INTEGER,
    sandbox_denied BOOLEAN NOT NULL,
    truncated      BOOLEAN NOT NULL,
    stdout_bytes   BIGINT  NOT NULL,
    stderr_bytes   BIGINT  NOT NULL,
    output_path    TEXT,
    error          TEXT,
    started_at_ms  BIGINT  NOT NULL,
    finished_at_ms BIGINT,
    PRIMARY KEY (user_id, exec_id)
);
CREATE INDEX execs_recent ON execs (user_id, started_at_ms);
CREATE INDEX execs_status ON execs (status);
CREATE INDEX execs_chat ON execs (chat_id);
CREATE INDEX execs_message ON execs (message_id);

-- The user is a name, not a reference: the trail outlives the account.
CREATE TABLE audit (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms    BIGINT NOT NULL,
    user_name TEXT,
    action   TEXT   NOT NULL,
    location TEXT,
    target   TEXT   NOT NULL,
    outcome  TEXT   NOT NULL
);
