-- As SQLite's step of this number.
CREATE TABLE memorised_chats (
    chat_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES chats (id) ON DELETE CASCADE,
    at_ms   BIGINT NOT NULL
);
