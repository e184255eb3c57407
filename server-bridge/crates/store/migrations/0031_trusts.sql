-- What was approved, for telling later what changed since: its name, the workspace that has it (machine and directory), and the
-- content of its files, as a JSON list of [path, SHA-256].
ALTER TABLE trusts ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE trusts ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
ALTER TABLE trusts ADD COLUMN files_json TEXT NOT NULL DEFAULT '[]';
