-- As SQLite's step of this number.
CREATE TABLE one_time_secrets (
    kind            TEXT COLLATE "C" NOT NULL,
    secret_sha256   TEXT COLLATE "C" NOT NULL,
    owner_sha256    TEXT COLLATE "C" NOT NULL,
    document_sealed TEXT COLLATE "C" NOT NULL,
    expires_at_ms   BIGINT NOT NULL,
    PRIMARY KEY (kind, secret_sha256)
);
CREATE INDEX one_time_secrets_owner ON one_time_secrets (kind, owner_sha256);
CREATE INDEX one_time_secrets_expiry ON one_time_secrets (expires_at_ms);

CREATE TABLE attempts (
    bucket_sha256 TEXT COLLATE "C" PRIMARY KEY,
    full_at_ms    BIGINT NOT NULL
);
CREATE INDEX attempts_full ON attempts (full_at_ms);
