-- What people add for their agents to look up: collections of documents, uploaded or in a folder of a runner.
CREATE TABLE collections (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    -- True if every user of the server may search it.
    is_for_all    BOOLEAN NOT NULL,
    -- The runner and the path of the folder that it is kept in step with; empty for uploads.
    place         TEXT NOT NULL,
    path          TEXT NOT NULL,
    -- The end of the last look at the folder: `never`, `synced`, `offline`, `gone`, `failed`; and the reason in words.
    sync_state    TEXT NOT NULL,
    sync_note     TEXT NOT NULL,
    synced_at_ms  INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    UNIQUE (user_id, name)
);
-- The users that a collection is shared with.
CREATE TABLE collection_access (
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (collection_id, user_id)
);
CREATE INDEX collection_access_by_user ON collection_access (user_id);
CREATE TABLE documents (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    -- A file's name, or its path below the folder.
    name          TEXT NOT NULL,
    -- `waiting`, `ready`, `failed`; and what there is to say about it.
    state         TEXT NOT NULL,
    note          TEXT NOT NULL,
    -- Of the version that is searched; empty and 0 before there is one.
    version       INTEGER NOT NULL,
    kind          TEXT NOT NULL,
    pages         INTEGER NOT NULL,
    sha256        TEXT NOT NULL,
    -- Of the content that was looked at last.
    size_bytes    INTEGER NOT NULL,
    modified_ms   INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    UNIQUE (collection_id, name)
);
-- The work that is left. The id of a job is the version that it makes of its document.
CREATE TABLE index_jobs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    -- Null: a look at the collection's folder.
    document_id   INTEGER REFERENCES documents (id) ON DELETE CASCADE,
    -- False while its content still arrives.
    is_ready      BOOLEAN NOT NULL,
    -- True if its user accepts that documents are missing from the folder.
    accepts_missing BOOLEAN NOT NULL,
    attempts      INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL
);
CREATE INDEX index_jobs_by_collection ON index_jobs (collection_id);
CREATE INDEX index_jobs_by_document ON index_jobs (document_id);
-- The uploaded content of a job's document, in pieces.
CREATE TABLE job_parts (
    job_id  INTEGER NOT NULL REFERENCES index_jobs (id) ON DELETE CASCADE,
    part    INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (job_id, part)
);
-- The text of a document's pages. Only rows of its present version are read.
CREATE TABLE document_pages (
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    page        INTEGER NOT NULL,
    title       TEXT NOT NULL,
    text        TEXT NOT NULL,
    PRIMARY KEY (document_id, version, page)
);
-- Passages: bytes of a page, and the words that they are found by.
CREATE TABLE chunks (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id   INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    version       INTEGER NOT NULL,
    page          INTEGER NOT NULL,
    span_start    INTEGER NOT NULL,
    span_end      INTEGER NOT NULL,
    -- The headings that it stands under, one a line.
    headings      TEXT NOT NULL,
    words         TEXT NOT NULL,
    others        TEXT NOT NULL
);
CREATE INDEX chunks_by_document ON chunks (document_id, version);
CREATE VIRTUAL TABLE search_chunks USING fts5 (
    words, others, content = 'chunks', content_rowid = 'id', tokenize = "ascii"
);
-- What is deleted leaves no word in the index's own pages.
INSERT INTO search_chunks (search_chunks, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER search_chunks_added AFTER INSERT ON chunks BEGIN
    INSERT INTO search_chunks (rowid, words, others) VALUES (new.id, new.words, new.others);
END;
CREATE TRIGGER search_chunks_removed AFTER DELETE ON chunks BEGIN
    INSERT INTO search_chunks (search_chunks, rowid, words, others) VALUES ('delete', old.id, old.words, old.others);
END;
