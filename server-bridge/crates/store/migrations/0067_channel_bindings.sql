-- Conversations on messengers that belong to a group of people and agents: what is said there is posted to its log, and its log is shown there.
-- They are no rows of channel_groups: a program that does not know them stays silent there.
CREATE TABLE channel_bindings (
    account_id    INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    conversation  TEXT NOT NULL,
    group_id      INTEGER NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    -- Random. The send ids of what is said in the conversation begin with it.
    mark          TEXT NOT NULL,
    -- The last entry of the log, and the last gate of its runs, that were put into the outbox.
    shown_entry   INTEGER NOT NULL,
    shown_gate    INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (account_id, conversation)
);
CREATE INDEX channel_bindings_group ON channel_bindings (group_id);
