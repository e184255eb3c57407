-- As SQLite's step of this number.
ALTER TABLE permission_rules ADD COLUMN chat_id TEXT COLLATE "C" REFERENCES chats (id) ON DELETE CASCADE;
ALTER TABLE permission_rules DROP CONSTRAINT permission_rules_user_id_effect_rule_key;
CREATE UNIQUE INDEX permission_rules_once ON permission_rules (user_id, effect, rule) WHERE chat_id IS NULL;
CREATE UNIQUE INDEX permission_rules_once_in_chat ON permission_rules (chat_id, effect, rule) WHERE chat_id IS NOT NULL;
