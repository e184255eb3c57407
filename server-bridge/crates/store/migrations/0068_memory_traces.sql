-- The rows that may show a memory: forgetting one removes its lines from them, and reads no others. Every such line begins with `- #` and the number.
CREATE INDEX turn_items_showing ON turn_items (turn_id) WHERE item_json LIKE '%- #%';
CREATE INDEX messages_showing ON messages (chat_id) WHERE text LIKE '%- #%';
CREATE INDEX offloads_showing ON offloads (chat_id) WHERE text LIKE '%- #%';
