-- What agents say to each other. An entry and the call that it makes are written together, once for each key.
-- `origin` is what a person asked for, as `call/12` or, in the agent's own chat, `turn/7`: all that agents say because of it counts together.
ALTER TABLE group_entries ADD COLUMN origin TEXT;
ALTER TABLE group_entries ADD COLUMN message_key TEXT;
CREATE UNIQUE INDEX group_entries_message ON group_entries (origin, message_key) WHERE message_key IS NOT NULL;

ALTER TABLE group_calls ADD COLUMN origin TEXT;
-- How an agent asks: it waits, hears of the answer later, or hands its task over; `answer` is the call that it hears by. Empty for a person's.
ALTER TABLE group_calls ADD COLUMN mode TEXT CHECK (mode IN ('wait', 'background', 'hand_off', 'answer'));
-- The agent that asks, or that answered.
ALTER TABLE group_calls ADD COLUMN by_agent_id INTEGER REFERENCES group_agents (id) ON DELETE SET NULL;
-- The call that the agent was at when it asked.
ALTER TABLE group_calls ADD COLUMN parent_id INTEGER REFERENCES group_calls (id) ON DELETE SET NULL;
CREATE INDEX group_calls_origin ON group_calls (origin) WHERE origin IS NOT NULL;
CREATE INDEX group_calls_parent ON group_calls (parent_id);
CREATE INDEX group_calls_by ON group_calls (by_agent_id);
