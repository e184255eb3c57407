-- A page's session has a second half, its cookie, without which its token opens nothing; a program's has none. The sessions of
-- before cannot be told apart, and any port of the host may have received their cookies: everybody logs in once more.
DELETE FROM sessions;
ALTER TABLE sessions ADD COLUMN cookie_sha256 TEXT;
-- When its user last gave their password.
ALTER TABLE sessions ADD COLUMN confirmed_at_ms BIGINT NOT NULL DEFAULT 0;
