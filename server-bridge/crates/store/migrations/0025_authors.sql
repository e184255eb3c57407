-- A message's document is an exec's or an agent's, by its role; and a message says which person it is of.

ALTER TABLE messages RENAME COLUMN exec_json TO document_json;

-- Null for what an agent or the server says, and where the person's account is gone.
ALTER TABLE messages ADD COLUMN author_id BIGINT REFERENCES users (id) ON DELETE SET NULL;
UPDATE messages SET author_id = (SELECT c.user_id FROM chats c WHERE c.id = messages.chat_id)
WHERE role IN ('user', 'exec');
CREATE INDEX messages_author ON messages (author_id) WHERE author_id IS NOT NULL;
