-- Keys of programs: a Bearer token that a user made, with a name to know it by and a scope of what it may do.
CREATE TABLE api_keys (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT   NOT NULL,
    token_sha256  TEXT   NOT NULL UNIQUE,
    scope         TEXT   NOT NULL CHECK (scope IN ('full', 'exec', 'read')),
    created_at_ms BIGINT NOT NULL,
    last_used_ms  BIGINT,
    expires_at_ms BIGINT,
    UNIQUE (user_id, name)
);
