-- Vectors of passages, by the model that made them: a new model builds its own beside those of the old one.
CREATE TABLE embedding_models (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT NOT NULL UNIQUE,
    dimensions    INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL
);
-- A vector is one signed byte for each dimension.
CREATE TABLE embeddings (
    chunk_id INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    model_id INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
    vector   BLOB NOT NULL,
    PRIMARY KEY (chunk_id, model_id)
);
