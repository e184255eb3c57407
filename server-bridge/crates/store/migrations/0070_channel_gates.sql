-- The gate of a chain that a message asks about, until its conversation was told of the answer.
ALTER TABLE channel_outbox ADD COLUMN gate_id INTEGER REFERENCES group_gates (id) ON DELETE SET NULL;
CREATE INDEX channel_outbox_gate ON channel_outbox (gate_id) WHERE gate_id IS NOT NULL;
CREATE INDEX channel_outbox_asking ON channel_outbox (account_id, conversation) WHERE gate_id IS NOT NULL;
