-- A sub-agent is a conversation beneath the one whose agent called it; it goes with that one. `message_id` is what shows the
-- call there, `instance` the name it is called by again, `tools_json` what it may use (written by the agent).
ALTER TABLE chats ADD COLUMN parent_id TEXT REFERENCES chats (id) ON DELETE CASCADE;
CREATE INDEX chats_parent ON chats (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE sub_agents (
    chat_id    TEXT   NOT NULL PRIMARY KEY REFERENCES chats (id) ON DELETE CASCADE,
    message_id BIGINT REFERENCES messages (id) ON DELETE SET NULL,
    role       TEXT,
    instance   TEXT,
    tools_json TEXT   NOT NULL,
    used_at_ms BIGINT NOT NULL
);
CREATE INDEX sub_agents_message ON sub_agents (message_id);

-- What an agent keeps of a user, for all of their conversations. A conversation is told of it once, at its beginning: what it
-- was told is `chats.memory`.
CREATE TABLE memories (
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT   NOT NULL,
    text          TEXT   NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (user_id, name)
);
ALTER TABLE chats ADD COLUMN memory TEXT;
