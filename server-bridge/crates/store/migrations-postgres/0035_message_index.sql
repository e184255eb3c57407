-- As SQLite's step of this number: the words of crate `search` with their positions, a row for every 2,000 words. No dictionary and no locale of the
-- server takes part.
CREATE TABLE search_messages (
    message_id BIGINT   NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    part       BIGINT   NOT NULL,
    words      TSVECTOR NOT NULL,
    PRIMARY KEY (message_id, part)
);
CREATE INDEX search_messages_words ON search_messages USING gin (words);

CREATE TABLE search_progress (
    user_id  BIGINT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    below_id BIGINT NOT NULL
);
INSERT INTO search_progress (user_id, below_id)
SELECT c.user_id, MAX(m.id) + 1 FROM messages m JOIN chats c ON c.id = m.chat_id GROUP BY c.user_id;
