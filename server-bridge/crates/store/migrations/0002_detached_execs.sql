-- Whether an exec goes on without its client.
ALTER TABLE execs ADD COLUMN detached BOOLEAN NOT NULL DEFAULT FALSE;
