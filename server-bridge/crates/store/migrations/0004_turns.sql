-- A turn is one message of a user and all that a model does about it. Its items are the model's own view of the conversation
-- (JSON, written by the agent); `messages` is what people are shown.
CREATE TABLE turns (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id            TEXT   NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    message_id         BIGINT REFERENCES messages (id) ON DELETE SET NULL,
    status             TEXT   NOT NULL
        CHECK (status IN ('queued', 'running', 'done', 'failed', 'cancelled', 'interrupted')),
    model              TEXT   NOT NULL DEFAULT '',
    input_tokens       BIGINT NOT NULL DEFAULT 0,
    cache_read_tokens  BIGINT NOT NULL DEFAULT 0,
    cache_write_tokens BIGINT NOT NULL DEFAULT 0,
    output_tokens      BIGINT NOT NULL DEFAULT 0,
    cost_micros        BIGINT NOT NULL DEFAULT 0,
    error              TEXT,
    created_at_ms      BIGINT NOT NULL,
    finished_at_ms     BIGINT
);
CREATE INDEX turns_chat ON turns (chat_id, id);
CREATE INDEX turns_status ON turns (status);

CREATE TABLE turn_items (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id   BIGINT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    item_json TEXT   NOT NULL
);
CREATE INDEX turn_items_turn ON turn_items (turn_id, id);

-- Results of tools that are too long for the conversation, to be asked for again.
CREATE TABLE offloads (
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    id      TEXT NOT NULL,
    text    TEXT NOT NULL,
    PRIMARY KEY (chat_id, id)
);

-- Where the agent of a chat is: its working directory beneath the workspace.
ALTER TABLE chats ADD COLUMN cwd TEXT NOT NULL DEFAULT '';
