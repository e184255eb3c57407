-- The server's setting that named the model, as it was stored then; a model that has the vectors of all passages answers until its successor has
-- its own.
ALTER TABLE embedding_models ADD COLUMN chosen TEXT NOT NULL DEFAULT '';
ALTER TABLE embedding_models ADD COLUMN is_complete BOOLEAN NOT NULL DEFAULT FALSE;
-- Documents of a collection in the order of their numbers, in which their vectors are made and read.
CREATE INDEX documents_by_collection ON documents (collection_id, id);
-- Vectors of memories, each of one revision of its text.
CREATE TABLE memory_embeddings (
    item_id  INTEGER NOT NULL REFERENCES memory_items (id) ON DELETE CASCADE,
    model_id INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    vector   BLOB NOT NULL,
    PRIMARY KEY (item_id, model_id)
);
