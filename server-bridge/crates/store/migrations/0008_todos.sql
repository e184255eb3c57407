-- What the agent of a chat wants to do, in its order.
CREATE TABLE chat_todos (
    chat_id  TEXT   NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    content  TEXT   NOT NULL,
    status   TEXT   NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed')),
    PRIMARY KEY (chat_id, position)
);
