-- The tools that an agent of a group may have, as a JSON list of names in which * stands for any text; without one, all of its owner's.
ALTER TABLE group_agents ADD COLUMN tools_json TEXT;
