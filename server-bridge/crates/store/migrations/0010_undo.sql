-- What a turn is taken back with. `said_id` is the user's message it answers; `commands` counts what ran and may have changed
-- anything; `cwd` is where the agent was before it. An undone turn stays on record, and is no part of the conversation.
ALTER TABLE turns ADD COLUMN said_id BIGINT;
ALTER TABLE turns ADD COLUMN commands BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN cwd TEXT;
ALTER TABLE turns ADD COLUMN undone_at_ms BIGINT;
ALTER TABLE messages ADD COLUMN turn_id BIGINT;
ALTER TABLE messages ADD COLUMN undone BOOLEAN NOT NULL DEFAULT FALSE;

-- A file as it was before a turn changed it first, and the hash of what the turn left there: NULL where it did not come to
-- change it, 'unknown' where that cannot be told.
CREATE TABLE checkpoints (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id      BIGINT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    place        TEXT   NOT NULL,
    path         TEXT   NOT NULL,
    before       TEXT   NOT NULL CHECK (before IN ('absent', 'content', 'too_large', 'unreadable', 'dropped')),
    mode         BIGINT,
    sha256       TEXT,
    left_sha256  TEXT,
    UNIQUE (turn_id, place, path)
);
CREATE TABLE checkpoint_contents (
    chat_id    TEXT   NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    sha256     TEXT   NOT NULL,
    size_bytes BIGINT NOT NULL,
    content    BLOB   NOT NULL,
    PRIMARY KEY (chat_id, sha256)
);
