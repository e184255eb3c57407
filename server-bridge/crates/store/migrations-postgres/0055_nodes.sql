-- As SQLite's step of this number.
CREATE TABLE nodes (
    id             TEXT COLLATE "C" PRIMARY KEY,
    url            TEXT COLLATE "C" NOT NULL,
    public_key     BYTEA,
    version        TEXT COLLATE "C" NOT NULL,
    schema_newest  BIGINT NOT NULL,
    schema_oldest  BIGINT NOT NULL,
    started_at_ms  BIGINT NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    state          TEXT COLLATE "C" NOT NULL CHECK (state IN ('up', 'draining', 'gone'))
);
CREATE UNIQUE INDEX nodes_url ON nodes (url);

CREATE TABLE homes (
    user_id       BIGINT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    node_id       TEXT COLLATE "C",
    fence         BIGINT NOT NULL,
    claimed_at_ms BIGINT NOT NULL
);
CREATE INDEX homes_node ON homes (node_id);

-- The lock of a user's changes, for a node; fails if another node is the user's home. With `claimed` the home must also be of that
-- fence. Each statement in it sees the commits before it, so a claim that was waited for is seen.
CREATE FUNCTION lock_home(owner BIGINT, node TEXT, claimed BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(owner);
    IF NOT EXISTS (SELECT 1 FROM homes h
                   WHERE h.user_id = owner AND h.node_id = node AND (claimed IS NULL OR h.fence = claimed))
       AND EXISTS (SELECT 1 FROM users u WHERE u.id = owner) THEN
        RAISE EXCEPTION 'fenced' USING ERRCODE = 'SB001', DETAIL = owner::TEXT;
    END IF;
END $$;

-- Fails if this node was replaced or counts as gone.
CREATE FUNCTION check_node(node TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = node AND n.state <> 'gone') THEN
        RAISE EXCEPTION 'fenced' USING ERRCODE = 'SB001';
    END IF;
END $$;
