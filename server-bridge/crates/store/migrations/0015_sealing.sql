-- What seals the keys of users' models: which kind of encryption key it is derived from, with which salt, and a value that
-- only the right key opens. `is_scrubbed` says that the file holds no trace any more of what lay in it unsealed.
CREATE TABLE sealing (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    kind          TEXT    NOT NULL CHECK (kind IN ('passphrase', 'file')),
    salt          TEXT    NOT NULL,
    check_sealed  TEXT    NOT NULL,
    is_scrubbed   BOOLEAN NOT NULL,
    created_at_ms BIGINT  NOT NULL
);
