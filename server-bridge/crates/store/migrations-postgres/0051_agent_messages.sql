-- As SQLite's step of this number.
ALTER TABLE group_entries ADD COLUMN origin TEXT COLLATE "C";
ALTER TABLE group_entries ADD COLUMN message_key TEXT COLLATE "C";
CREATE UNIQUE INDEX group_entries_message ON group_entries (origin, message_key) WHERE message_key IS NOT NULL;

ALTER TABLE group_calls ADD COLUMN origin TEXT COLLATE "C";
ALTER TABLE group_calls ADD COLUMN mode TEXT COLLATE "C" CHECK (mode IN ('wait', 'background', 'hand_off', 'answer'));
ALTER TABLE group_calls ADD COLUMN by_agent_id BIGINT REFERENCES group_agents (id) ON DELETE SET NULL;
ALTER TABLE group_calls ADD COLUMN parent_id BIGINT REFERENCES group_calls (id) ON DELETE SET NULL;
CREATE INDEX group_calls_origin ON group_calls (origin) WHERE origin IS NOT NULL;
CREATE INDEX group_calls_parent ON group_calls (parent_id);
CREATE INDEX group_calls_by ON group_calls (by_agent_id);
