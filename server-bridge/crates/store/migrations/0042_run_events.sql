-- The event of a delivery, as its sender names it, for the hooks of its run.
ALTER TABLE job_runs ADD COLUMN event TEXT;
