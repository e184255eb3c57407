-- What a client said under an id of its own, so that saying it again does nothing twice. `answer_json` is what came of it at
-- once; NULL until that is known.
CREATE TABLE sends (
    chat_id     TEXT   NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    send_id     TEXT   NOT NULL,
    message_id  BIGINT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    answer_json TEXT,
    PRIMARY KEY (chat_id, send_id)
);

-- How long a terminal goes on without anybody who looks at it; NULL for what is no terminal.
ALTER TABLE execs ADD COLUMN linger_ms BIGINT;
