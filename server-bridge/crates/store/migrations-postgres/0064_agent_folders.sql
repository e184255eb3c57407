-- As SQLite's step of this number.
ALTER TABLE group_agents ADD COLUMN folder TEXT COLLATE "C" NOT NULL DEFAULT '';
