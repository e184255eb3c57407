-- An enrolment token is good for one runner: `claimed_by` is the first life that showed it, `used_at_ms` is set once the
-- permanent token that was given for it has opened the door. `enrolment_id` says of a permanent token which one that was;
-- its `used_at_ms` is when it was shown first.
ALTER TABLE runner_tokens ADD COLUMN claimed_by TEXT;
ALTER TABLE runner_tokens ADD COLUMN enrolment_id BIGINT REFERENCES runner_tokens (id) ON DELETE SET NULL;
CREATE INDEX runner_tokens_enrolment ON runner_tokens (enrolment_id) WHERE enrolment_id IS NOT NULL;
