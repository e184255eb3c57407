-- Nodes: servers that share one PostgreSQL database. Each user has a home, the one node that works for them. A file has one server, so
-- both tables stay empty there.
CREATE TABLE nodes (
    -- 32 hexadecimal digits, drawn when the process starts.
    id             TEXT PRIMARY KEY,
    url            TEXT NOT NULL,
    -- The key by which other nodes recognise this one.
    public_key     BLOB,
    version        TEXT NOT NULL,
    -- The newest step that this node's program carries, and the oldest newest step of a program that may run beside it.
    schema_newest  INTEGER NOT NULL,
    schema_oldest  INTEGER NOT NULL,
    started_at_ms  INTEGER NOT NULL,
    -- By the database's clock.
    lease_until_ms INTEGER NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('up', 'draining', 'gone'))
);
CREATE UNIQUE INDEX nodes_url ON nodes (url);

CREATE TABLE homes (
    user_id       INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    -- NULL after a release. The row of a dead node may be gone.
    node_id       TEXT,
    -- Grows with each change of the node.
    fence         INTEGER NOT NULL,
    claimed_at_ms INTEGER NOT NULL
);
CREATE INDEX homes_node ON homes (node_id);
