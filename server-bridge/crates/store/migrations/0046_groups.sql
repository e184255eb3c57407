-- Groups: people and agents in one log. Each agent works in a chat of its owner.
CREATE TABLE groups (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    title         TEXT NOT NULL,
    -- The agent that answers where nobody is mentioned.
    lead_id       INTEGER,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
);

CREATE TABLE group_people (
    group_id      INTEGER NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    access        TEXT NOT NULL CHECK (access IN ('owner', 'editor', 'member', 'reader')),
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (group_id, user_id)
);
CREATE INDEX group_people_user ON group_people (user_id);

CREATE TABLE group_agents (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    group_id      INTEGER NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    handle        TEXT NOT NULL,
    -- The handle in lower case.
    handle_key    TEXT NOT NULL,
    -- The user whose machine it works on.
    owner_id      INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- A runner's name, `__docker__` or `none`.
    runner        TEXT NOT NULL,
    approval      TEXT NOT NULL,
    model         TEXT,
    persona       TEXT NOT NULL,
    -- The chat that it works in, once it has one.
    chat_id       TEXT REFERENCES chats (id) ON DELETE SET NULL,
    -- The last entry that it was shown.
    seen_id       INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL,
    removed_at_ms INTEGER
);
CREATE UNIQUE INDEX group_agents_handle ON group_agents (group_id, handle_key) WHERE removed_at_ms IS NULL;
CREATE INDEX group_agents_owner ON group_agents (owner_id);
CREATE INDEX group_agents_chat ON group_agents (chat_id);

-- Who beside its owner may ask an agent.
CREATE TABLE group_grants (
    agent_id      INTEGER NOT NULL REFERENCES group_agents (id) ON DELETE CASCADE,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    mode          TEXT NOT NULL CHECK (mode IN ('ask', 'own')),
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (agent_id, user_id)
);
CREATE INDEX group_grants_user ON group_grants (user_id);

-- Chains, and their runs. What a run does next follows from its steps, its calls and its gates.
CREATE TABLE group_chains (
    group_id      INTEGER NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    document_json TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (group_id, name)
);

CREATE TABLE group_runs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    group_id      INTEGER NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    chain         TEXT NOT NULL,
    -- The chain as it was when the run began.
    document_json TEXT NOT NULL,
    request       TEXT NOT NULL,
    begun_by_id   INTEGER REFERENCES users (id) ON DELETE SET NULL,
    begun_by      TEXT NOT NULL,
    send_id       TEXT,
    state         TEXT NOT NULL CHECK (state IN ('running', 'asking', 'done', 'stopped')),
    created_at_ms INTEGER NOT NULL,
    ended_at_ms   INTEGER
);
CREATE UNIQUE INDEX group_runs_send ON group_runs (group_id, begun_by_id, send_id) WHERE send_id IS NOT NULL;
CREATE INDEX group_runs_open ON group_runs (id) WHERE ended_at_ms IS NULL;
CREATE INDEX group_runs_group ON group_runs (group_id, id);
CREATE INDEX group_runs_user ON group_runs (begun_by_id);

CREATE TABLE group_gates (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id         INTEGER NOT NULL REFERENCES group_runs (id) ON DELETE CASCADE,
    step           INTEGER NOT NULL,
    attempt        INTEGER NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('review', 'failure', 'budget')),
    question       TEXT NOT NULL,
    reply          TEXT,
    text           TEXT NOT NULL DEFAULT '',
    answered_by    TEXT,
    created_at_ms  INTEGER NOT NULL,
    answered_at_ms INTEGER,
    UNIQUE (run_id, step, attempt, kind)
);

CREATE TABLE group_entries (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    group_id      INTEGER NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    kind          TEXT NOT NULL CHECK (kind IN ('person', 'agent', 'server')),
    -- The person's name or the agent's handle.
    author        TEXT NOT NULL,
    author_id     INTEGER REFERENCES users (id) ON DELETE SET NULL,
    text          TEXT NOT NULL,
    -- The handles of the agents that it asks, as a JSON list.
    asks_json     TEXT NOT NULL,
    -- The call that it answers.
    call_id       INTEGER,
    send_id       TEXT,
    created_at_ms INTEGER NOT NULL
);
CREATE INDEX group_entries_group ON group_entries (group_id, id);
CREATE UNIQUE INDEX group_entries_send ON group_entries (group_id, author_id, send_id) WHERE send_id IS NOT NULL;
CREATE UNIQUE INDEX group_entries_call ON group_entries (call_id) WHERE call_id IS NOT NULL;
CREATE INDEX group_entries_author ON group_entries (author_id);

-- An agent is asked: a row is written together with what asks.
CREATE TABLE group_calls (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    group_id       INTEGER NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    agent_id       INTEGER NOT NULL REFERENCES group_agents (id) ON DELETE CASCADE,
    asked_by_id    INTEGER REFERENCES users (id) ON DELETE SET NULL,
    asked_by       TEXT NOT NULL,
    -- The entry that asks; empty for a step of a chain.
    entry_id       INTEGER REFERENCES group_entries (id) ON DELETE SET NULL,
    run_id         INTEGER REFERENCES group_runs (id) ON DELETE CASCADE,
    step           INTEGER,
    attempt        INTEGER,
    -- How long it may take once it is posted, in milliseconds.
    limit_ms       INTEGER,
    -- What the agent is asked.
    request        TEXT NOT NULL,
    -- What is posted to the agent's chat, once that is decided: it is posted again with the same words if the server dies.
    posted_text    TEXT,
    state          TEXT NOT NULL CHECK (state IN ('queued', 'waiting', 'running', 'done', 'failed', 'stopped')),
    -- Why it waits or failed.
    reason         TEXT NOT NULL DEFAULT '',
    -- What the agent answered.
    output         TEXT NOT NULL DEFAULT '',
    -- True once somebody wants it stopped.
    is_unwanted    BOOLEAN NOT NULL DEFAULT FALSE,
    chat_id        TEXT REFERENCES chats (id) ON DELETE SET NULL,
    -- The message that shows the answer in the agent's chat.
    message_id     INTEGER REFERENCES messages (id) ON DELETE SET NULL,
    tokens         INTEGER NOT NULL DEFAULT 0,
    cost_micros    INTEGER NOT NULL DEFAULT 0,
    created_at_ms  INTEGER NOT NULL,
    posted_at_ms   INTEGER,
    ended_at_ms    INTEGER
);
CREATE UNIQUE INDEX group_calls_step ON group_calls (run_id, step, attempt) WHERE run_id IS NOT NULL;
CREATE INDEX group_calls_open ON group_calls (agent_id, id) WHERE ended_at_ms IS NULL;
CREATE INDEX group_calls_group ON group_calls (group_id, id);
CREATE INDEX group_calls_agent ON group_calls (agent_id);
CREATE INDEX group_calls_user ON group_calls (asked_by_id);
CREATE INDEX group_calls_entry ON group_calls (entry_id);
CREATE INDEX group_calls_chat ON group_calls (chat_id);
CREATE INDEX group_calls_message ON group_calls (message_id);
