-- A sub-agent in the background: what its turn begins with, as JSON, so that a later server can begin it; its result for the agent that
-- called it; and the turn of that agent's chat that was told of it.
ALTER TABLE turns ADD COLUMN background_json TEXT;
ALTER TABLE turns ADD COLUMN result_text TEXT;
ALTER TABLE turns ADD COLUMN told_turn_id BIGINT;
CREATE INDEX turns_background ON turns (chat_id) WHERE background_json IS NOT NULL;
