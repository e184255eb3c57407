-- The words of an answer while its model says them: what a killed server still has. The message itself gets them at their end.
CREATE TABLE streamed (
    message_id BIGINT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    turn_id    BIGINT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    text       TEXT   NOT NULL,
    reasoning  TEXT   NOT NULL
);
CREATE INDEX streamed_turn ON streamed (turn_id);
