-- As SQLite's step of this number.
ALTER TABLE memory_items ADD COLUMN agent_id BIGINT REFERENCES group_agents (id) ON DELETE CASCADE;
CREATE INDEX memory_items_agent ON memory_items (agent_id);
DROP INDEX memory_items_core;
CREATE UNIQUE INDEX memory_items_core ON memory_items (user_id, COALESCE(agent_id, 0), scope_name, name) WHERE kind = 'core' AND NOT is_proposed;
