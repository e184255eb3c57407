-- A conversation that is copied is hidden until it is whole. Meanwhile `copied_rows` says what became of the rows that others
-- name: kind is 'turn', 'item' or 'message', `copy_id` the conversation that the user will see.
ALTER TABLE chats ADD COLUMN is_copying BOOLEAN NOT NULL DEFAULT FALSE;
CREATE TABLE copied_rows (
    copy_id TEXT   NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    kind    TEXT   NOT NULL,
    old_id  BIGINT NOT NULL,
    new_id  BIGINT NOT NULL,
    PRIMARY KEY (copy_id, kind, old_id)
);

-- The turn of its user's own chat that a sub-agent's turn is a part of: it is taken back, and left out of a copy, with that one.
ALTER TABLE turns ADD COLUMN root_turn_id BIGINT;
CREATE INDEX turns_root ON turns (root_turn_id) WHERE root_turn_id IS NOT NULL;

-- What was to be done before a turn changed that first. `has_todos` says that it did: there may have been nothing.
ALTER TABLE turns ADD COLUMN has_todos BOOLEAN NOT NULL DEFAULT FALSE;
CREATE TABLE turn_todos (
    turn_id  BIGINT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    content  TEXT   NOT NULL,
    status   TEXT   NOT NULL,
    PRIMARY KEY (turn_id, position)
);

-- Whose model read it: a sub-agent's own conversation, where it is not the one that keeps it.
ALTER TABLE offloaded_reads ADD COLUMN reader_id TEXT;
