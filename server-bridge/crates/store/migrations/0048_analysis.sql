-- The version of the analysis that made the words of a document's passages; words of an older one are made again in the background.
ALTER TABLE documents ADD COLUMN analysis INTEGER NOT NULL DEFAULT 0;
CREATE TRIGGER search_chunks_changed AFTER UPDATE OF words, others ON chunks BEGIN
    INSERT INTO search_chunks (search_chunks, rowid, words, others) VALUES ('delete', old.id, old.words, old.others);
    INSERT INTO search_chunks (rowid, words, others) VALUES (new.id, new.words, new.others);
END;
