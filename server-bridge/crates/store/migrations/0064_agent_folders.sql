-- The folder that an agent of a group works in, relative to the workspace of its machine; empty for the whole workspace.
ALTER TABLE group_agents ADD COLUMN folder TEXT NOT NULL DEFAULT '';
