-- How often a turn went on after the end of a server without getting any further; and whether its user stopped it: a stopped turn does
-- not go on.
ALTER TABLE turns ADD COLUMN resumes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN is_cancelled INTEGER NOT NULL DEFAULT 0;
