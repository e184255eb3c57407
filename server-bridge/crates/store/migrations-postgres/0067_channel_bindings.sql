-- As SQLite's step of this number.
CREATE TABLE channel_bindings (
    account_id    BIGINT NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    conversation  TEXT COLLATE "C" NOT NULL,
    group_id      BIGINT NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    mark          TEXT COLLATE "C" NOT NULL,
    shown_entry   BIGINT NOT NULL,
    shown_gate    BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (account_id, conversation)
);
CREATE INDEX channel_bindings_group ON channel_bindings (group_id);
