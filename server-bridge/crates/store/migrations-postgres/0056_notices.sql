-- As SQLite's step of this number.
ALTER TABLE channel_links ADD COLUMN notices_since_ms BIGINT;
CREATE UNIQUE INDEX channel_links_notices ON channel_links (user_id) WHERE notices_since_ms IS NOT NULL;

CREATE TABLE told_notices (
    link_id    BIGINT NOT NULL REFERENCES channel_links (id) ON DELETE CASCADE,
    subject    TEXT COLLATE "C" NOT NULL,
    told_at_ms BIGINT NOT NULL,
    PRIMARY KEY (link_id, subject)
);
CREATE INDEX told_notices_told ON told_notices (told_at_ms);

CREATE INDEX audit_locked_logins ON audit (at_ms) WHERE action = 'login.locked';
CREATE INDEX job_runs_created ON job_runs (created_at_ms);
