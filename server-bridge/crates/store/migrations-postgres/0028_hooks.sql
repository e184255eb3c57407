-- As SQLite's step of this number.
CREATE TABLE hook_documents (
    user_id       BIGINT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    text          TEXT COLLATE "C" NOT NULL,
    updated_at_ms BIGINT NOT NULL
);
CREATE TABLE trusts (
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind          TEXT COLLATE "C" NOT NULL,
    hash          TEXT COLLATE "C" NOT NULL,
    shown         TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (user_id, kind, hash)
);
