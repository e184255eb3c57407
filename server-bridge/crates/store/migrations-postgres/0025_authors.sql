-- As SQLite's step of this number. Nothing is there yet to give an author to.

ALTER TABLE messages RENAME COLUMN exec_json TO document_json;
ALTER TABLE messages ADD COLUMN author_id BIGINT REFERENCES users (id) ON DELETE SET NULL;
CREATE INDEX messages_author ON messages (author_id) WHERE author_id IS NOT NULL;
