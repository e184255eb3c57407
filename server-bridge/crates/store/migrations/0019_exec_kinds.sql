-- Who asked for an exec: its end, its recovery and who may leave it running depend on that.
ALTER TABLE execs ADD COLUMN kind TEXT NOT NULL DEFAULT 'client'
    CHECK (kind IN ('chat', 'tool', 'client', 'terminal', 'mcp'));
-- The command as the audit trail shows it, where that differs from the command on record.
ALTER TABLE execs ADD COLUMN audited TEXT;
UPDATE execs SET kind = CASE
    WHEN message_id IS NOT NULL THEN 'chat'
    WHEN linger_ms IS NOT NULL THEN 'terminal'
    WHEN chat_id IS NOT NULL THEN 'tool'
    ELSE 'client'
END;
