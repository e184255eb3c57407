-- The full-text index of messages: the words of crate `search`, one row a message, without those of sub-agents. The table of words is what the index
-- needs to remove an entry whole; the triggers keep both in step, within the same change. Messages of before are indexed after the start, by a job.
CREATE TABLE search_messages (
    message_id INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    words      TEXT NOT NULL,
    others     TEXT NOT NULL,
    owner      TEXT NOT NULL
);
CREATE VIRTUAL TABLE search_messages_index USING fts5 (
    words, others, owner, content = 'search_messages', content_rowid = 'message_id', tokenize = 'ascii'
);
-- Deleted words leave the index's pages at once.
INSERT INTO search_messages_index (search_messages_index, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER search_messages_added AFTER INSERT ON search_messages BEGIN
    INSERT INTO search_messages_index (rowid, words, others, owner) VALUES (new.message_id, new.words, new.others, new.owner);
END;
CREATE TRIGGER search_messages_removed AFTER DELETE ON search_messages BEGIN
    INSERT INTO search_messages_index (search_messages_index, rowid, words, others, owner)
    VALUES ('delete', old.message_id, old.words, old.others, old.owner);
END;

-- A user whose older messages are not indexed yet: those below this id.
CREATE TABLE search_progress (
    user_id  INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    below_id INTEGER NOT NULL
);
INSERT INTO search_progress (user_id, below_id)
SELECT c.user_id, MAX(m.id) + 1 FROM messages m JOIN chats c ON c.id = m.chat_id GROUP BY c.user_id;
