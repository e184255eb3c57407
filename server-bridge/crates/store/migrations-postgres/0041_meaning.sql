-- As SQLite's step of this number.
ALTER TABLE embedding_models ADD COLUMN chosen TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE embedding_models ADD COLUMN is_complete BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX documents_by_collection ON documents (collection_id, id);
CREATE TABLE memory_embeddings (
    item_id  BIGINT NOT NULL REFERENCES memory_items (id) ON DELETE CASCADE,
    model_id BIGINT NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
    revision BIGINT NOT NULL,
    vector   BYTEA NOT NULL,
    PRIMARY KEY (item_id, model_id)
);
