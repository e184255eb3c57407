-- As SQLite's step of this number.
ALTER TABLE group_agents ADD COLUMN tools_json TEXT COLLATE "C";
