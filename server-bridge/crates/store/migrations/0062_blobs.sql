-- Long values as objects in a bucket, which only a PostgreSQL database has: here the columns stay empty.
CREATE TABLE blobs (
    -- The object's name: the hash, and random digits. A value that is written anew after its entry was deleted has another object, so that
    -- neither a late deletion nor a late row is about that one.
    object        TEXT PRIMARY KEY,
    -- Of the value, which the object holds.
    sha256        TEXT NOT NULL UNIQUE,
    size_bytes    INTEGER NOT NULL,
    -- When a value with this hash was last written: a row may be about to name it.
    touched_at_ms INTEGER NOT NULL
);
CREATE INDEX blobs_by_touch ON blobs (touched_at_ms);

ALTER TABLE offloads ADD COLUMN blob TEXT REFERENCES blobs (object);
CREATE INDEX offloads_by_blob ON offloads (blob) WHERE blob IS NOT NULL;

ALTER TABLE checkpoint_contents ADD COLUMN blob TEXT REFERENCES blobs (object);
CREATE INDEX checkpoint_contents_by_blob ON checkpoint_contents (blob) WHERE blob IS NOT NULL;

ALTER TABLE plugin_files ADD COLUMN blob TEXT REFERENCES blobs (object);
CREATE INDEX plugin_files_by_blob ON plugin_files (blob) WHERE blob IS NOT NULL;
