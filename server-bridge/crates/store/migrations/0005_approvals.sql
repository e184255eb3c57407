-- What the agent of a chat may do without asking: 'plan', 'ask', 'auto-edit' or 'full'; and what its user allowed for good.
ALTER TABLE chats ADD COLUMN approval TEXT NOT NULL DEFAULT 'ask';
CREATE TABLE approval_rules (
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    tool    TEXT NOT NULL,
    subject TEXT NOT NULL,
    PRIMARY KEY (chat_id, tool, subject)
);
