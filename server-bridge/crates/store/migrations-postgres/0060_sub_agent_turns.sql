-- The call that a sub-agent's turn serves: the message of its parent's chat that shows it. A server that goes on with the parent's turn
-- finds the sub-agent's turn by it.
ALTER TABLE turns ADD COLUMN card_id BIGINT;
