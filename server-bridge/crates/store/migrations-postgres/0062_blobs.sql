-- Long values as objects in a bucket. A program that does not know them finds NULL, and fails instead of showing nothing.
CREATE TABLE blobs (
    object        TEXT COLLATE "C" PRIMARY KEY,
    sha256        TEXT COLLATE "C" NOT NULL UNIQUE,
    size_bytes    BIGINT NOT NULL,
    touched_at_ms BIGINT NOT NULL
);
CREATE INDEX blobs_by_touch ON blobs (touched_at_ms);

ALTER TABLE offloads ALTER COLUMN text DROP NOT NULL;
ALTER TABLE offloads ADD COLUMN blob TEXT COLLATE "C" REFERENCES blobs (object);
ALTER TABLE offloads ADD CHECK (text IS NULL <> (blob IS NULL));
CREATE INDEX offloads_by_blob ON offloads (blob) WHERE blob IS NOT NULL;

ALTER TABLE checkpoint_contents ALTER COLUMN content DROP NOT NULL;
ALTER TABLE checkpoint_contents ADD COLUMN blob TEXT COLLATE "C" REFERENCES blobs (object);
ALTER TABLE checkpoint_contents ADD CHECK (content IS NULL <> (blob IS NULL));
CREATE INDEX checkpoint_contents_by_blob ON checkpoint_contents (blob) WHERE blob IS NOT NULL;

ALTER TABLE plugin_files ALTER COLUMN content DROP NOT NULL;
ALTER TABLE plugin_files ADD COLUMN blob TEXT COLLATE "C" REFERENCES blobs (object);
ALTER TABLE plugin_files ADD CHECK (content IS NULL <> (blob IS NULL));
CREATE INDEX plugin_files_by_blob ON plugin_files (blob) WHERE blob IS NOT NULL;
