-- Calls of tools that may change something, each on record before it takes effect: after a death of the server it is known which
-- calls were never begun. Turns of earlier versions have no such record.
ALTER TABLE turns ADD COLUMN is_journaled INTEGER NOT NULL DEFAULT 0;
CREATE TABLE begun_calls (
    turn_id INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    call_id TEXT NOT NULL,
    PRIMARY KEY (turn_id, call_id)
) WITHOUT ROWID;
