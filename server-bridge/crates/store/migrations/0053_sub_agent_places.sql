-- The place of a sub-agent: `place` is the runner it was called on, if that was named; `worktree` is the absolute path of the
-- worktree that it works in; the worktree itself is removed when nothing is left in it.
ALTER TABLE sub_agents ADD COLUMN place TEXT;
ALTER TABLE sub_agents ADD COLUMN worktree TEXT;
