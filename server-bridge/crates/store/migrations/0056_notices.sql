-- The administrator's chat: since when the server's notices go to the conversation of this link, in Unix milliseconds. One of a user.
ALTER TABLE channel_links ADD COLUMN notices_since_ms INTEGER;
CREATE UNIQUE INDEX channel_links_notices ON channel_links (user_id) WHERE notices_since_ms IS NOT NULL;

-- What was told there, so that it is told once.
CREATE TABLE told_notices (
    link_id    INTEGER NOT NULL REFERENCES channel_links (id) ON DELETE CASCADE,
    subject    TEXT NOT NULL,
    told_at_ms INTEGER NOT NULL,
    PRIMARY KEY (link_id, subject)
);
CREATE INDEX told_notices_told ON told_notices (told_at_ms);

-- Where the notices come from.
CREATE INDEX audit_locked_logins ON audit (at_ms) WHERE action = 'login.locked';
CREATE INDEX job_runs_created ON job_runs (created_at_ms);
