-- A chat that was looked through for what may be worth keeping: once for each chat.
CREATE TABLE memorised_chats (
    chat_id TEXT NOT NULL PRIMARY KEY REFERENCES chats (id) ON DELETE CASCADE,
    at_ms   BIGINT NOT NULL
);
