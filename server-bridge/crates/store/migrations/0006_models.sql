-- Models that users bring themselves. The document is the agent's (JSON): provider, address, models, prices. The provider's
-- key stands apart: `plain:` and the key, or `aes-256-gcm:` and what only the server's encryption key opens.
CREATE TABLE subscriptions (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT   NOT NULL,
    document_json TEXT   NOT NULL,
    key_sealed    TEXT,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    UNIQUE (user_id, name)
);

-- Which model answers in a chat: NAME, NAME/TIER, NAME/MODEL; without one its user's choice.
ALTER TABLE chats ADD COLUMN model TEXT;

-- What models took, by day (whole days since 1970, UTC). A chat's id is no reference: what it took stays when it goes.
CREATE TABLE model_usage (
    user_id            BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    day                BIGINT NOT NULL,
    chat_id            TEXT   NOT NULL,
    subscription       TEXT   NOT NULL,
    model              TEXT   NOT NULL,
    calls              BIGINT NOT NULL,
    input_tokens       BIGINT NOT NULL,
    cache_read_tokens  BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    output_tokens      BIGINT NOT NULL,
    cost_micros        BIGINT NOT NULL,
    PRIMARY KEY (user_id, day, chat_id, subscription, model)
);
CREATE INDEX model_usage_chat ON model_usage (user_id, chat_id);

INSERT INTO model_usage
SELECT c.user_id, t.created_at_ms / 86400000, t.chat_id, 'server', t.model, COUNT(*), SUM(t.input_tokens),
       SUM(t.cache_read_tokens), SUM(t.cache_write_tokens), SUM(t.output_tokens), SUM(t.cost_micros)
FROM turns t JOIN chats c ON c.id = t.chat_id
WHERE t.input_tokens > 0 OR t.output_tokens > 0
GROUP BY c.user_id, t.created_at_ms / 86400000, t.chat_id, t.model;
