-- As SQLite's step of this number.
ALTER TABLE job_runs ADD COLUMN event TEXT COLLATE "C";
