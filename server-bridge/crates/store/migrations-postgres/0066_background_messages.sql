-- Messages to sub-agents at work in the background, until their turns have read them: `card_id` is the message that shows the call
-- which sent it, `item_id` the item of the turn that it became.
CREATE TABLE background_messages (
    card_id   BIGINT NOT NULL PRIMARY KEY,
    turn_id   BIGINT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    item_json TEXT   NOT NULL,
    item_id   BIGINT
);
CREATE INDEX background_messages_of_turn ON background_messages (turn_id);
