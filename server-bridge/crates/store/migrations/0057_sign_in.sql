-- What signing in needs for a moment, wherever the next request arrives: secrets that work once, and counts of attempts.
CREATE TABLE one_time_secrets (
    kind            TEXT NOT NULL,
    secret_sha256   TEXT NOT NULL,
    -- Who it was issued to; the most that one owner may have is counted by it.
    owner_sha256    TEXT NOT NULL,
    -- Only the secret itself opens it.
    document_sealed TEXT NOT NULL,
    expires_at_ms   INTEGER NOT NULL,
    PRIMARY KEY (kind, secret_sha256)
);
CREATE INDEX one_time_secrets_owner ON one_time_secrets (kind, owner_sha256);
CREATE INDEX one_time_secrets_expiry ON one_time_secrets (expires_at_ms);

CREATE TABLE attempts (
    bucket_sha256 TEXT PRIMARY KEY,
    -- When all attempts are available again; each attempt moves it on by a step.
    full_at_ms    INTEGER NOT NULL
);
CREATE INDEX attempts_full ON attempts (full_at_ms);
