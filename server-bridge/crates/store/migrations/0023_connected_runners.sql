-- The runners that are connected or about to be back: after a server's death those that the next one waits for.
ALTER TABLE runners ADD COLUMN connected BOOLEAN NOT NULL DEFAULT FALSE;
