CREATE TABLE users (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT    NOT NULL UNIQUE,
    password_hash TEXT    NOT NULL,
    admin         BOOLEAN NOT NULL,
    created_at_ms BIGINT  NOT NULL
);

CREATE TABLE sessions (
    token_sha256  TEXT   NOT NULL PRIMARY KEY,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL
, cookie_sha256 TEXT, confirmed_at_ms BIGINT NOT NULL DEFAULT 0);

CREATE TABLE runners (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT   NOT NULL,
    created_at_ms BIGINT NOT NULL,
    last_seen_ms  BIGINT,
    facts_json    TEXT,
    epoch         BIGINT NOT NULL,
    revoked_at_ms BIGINT
, connected BOOLEAN NOT NULL DEFAULT FALSE);

CREATE TABLE runner_tokens (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    token_sha256  TEXT   NOT NULL UNIQUE,
    runner_id     BIGINT NOT NULL REFERENCES runners (id) ON DELETE CASCADE,
    kind          TEXT   NOT NULL CHECK (kind IN ('permanent', 'enrolment')),
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT,
    used_at_ms    BIGINT
, claimed_by TEXT, enrolment_id BIGINT REFERENCES runner_tokens (id) ON DELETE SET NULL);

CREATE TABLE settings (
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name    TEXT   NOT NULL,
    value   TEXT   NOT NULL,
    PRIMARY KEY (user_id, name)
);

CREATE TABLE chats (
    id            TEXT   NOT NULL PRIMARY KEY,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    title         TEXT   NOT NULL,
    runner        TEXT,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL
, cwd TEXT NOT NULL DEFAULT '', approval TEXT NOT NULL DEFAULT 'ask', model TEXT, parent_id TEXT REFERENCES chats (id) ON DELETE CASCADE, memory TEXT, is_copying BOOLEAN NOT NULL DEFAULT FALSE);

CREATE TABLE messages (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id       TEXT   NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    role          TEXT   NOT NULL CHECK (role IN ('user', 'exec', 'notice', 'assistant')),
    text          TEXT   NOT NULL,
    document_json     TEXT,
    created_at_ms BIGINT NOT NULL
, turn_id BIGINT, undone BOOLEAN NOT NULL DEFAULT FALSE, author_id BIGINT REFERENCES users (id) ON DELETE SET NULL);

CREATE TABLE execs (
    user_id        BIGINT  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    exec_id        TEXT    NOT NULL,
    chat_id        TEXT    REFERENCES chats (id) ON DELETE SET NULL,
    message_id     BIGINT  REFERENCES messages (id) ON DELETE SET NULL,
    request_hash   TEXT    NOT NULL,
    runner         TEXT,
    command        TEXT    NOT NULL,
    status         TEXT    NOT NULL
        CHECK (status IN ('running', 'exited', 'signaled', 'timed_out', 'cancelled', 'failed', 'lost')),
    exit_code      INTEGER,
    signal         INTEGER,
    sandbox_denied BOOLEAN NOT NULL,
    truncated      BOOLEAN NOT NULL,
    stdout_bytes   BIGINT  NOT NULL,
    stderr_bytes   BIGINT  NOT NULL,
    output_path    TEXT,
    error          TEXT,
    started_at_ms  BIGINT  NOT NULL,
    finished_at_ms BIGINT, detached BOOLEAN NOT NULL DEFAULT FALSE, linger_ms BIGINT, kind TEXT NOT NULL DEFAULT 'client'
    CHECK (kind IN ('chat', 'tool', 'client', 'terminal', 'mcp')), audited TEXT,
    PRIMARY KEY (user_id, exec_id)
);

CREATE TABLE audit (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms    BIGINT NOT NULL,
    user_name TEXT,
    action   TEXT   NOT NULL,
    location TEXT,
    target   TEXT   NOT NULL,
    outcome  TEXT   NOT NULL
);

CREATE TABLE turns (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id            TEXT   NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    message_id         BIGINT REFERENCES messages (id) ON DELETE SET NULL,
    status             TEXT   NOT NULL
        CHECK (status IN ('queued', 'running', 'done', 'failed', 'cancelled', 'interrupted')),
    model              TEXT   NOT NULL DEFAULT '',
    input_tokens       BIGINT NOT NULL DEFAULT 0,
    cache_read_tokens  BIGINT NOT NULL DEFAULT 0,
    cache_write_tokens BIGINT NOT NULL DEFAULT 0,
    output_tokens      BIGINT NOT NULL DEFAULT 0,
    cost_micros        BIGINT NOT NULL DEFAULT 0,
    error              TEXT,
    created_at_ms      BIGINT NOT NULL,
    finished_at_ms     BIGINT
, said_id BIGINT, commands BIGINT NOT NULL DEFAULT 0, cwd TEXT, undone_at_ms BIGINT, root_turn_id BIGINT, has_todos BOOLEAN NOT NULL DEFAULT FALSE, is_journaled INTEGER NOT NULL DEFAULT 0, resumes INTEGER NOT NULL DEFAULT 0, is_cancelled INTEGER NOT NULL DEFAULT 0, card_id INTEGER, background_json TEXT, result_text TEXT, told_turn_id INTEGER);

CREATE TABLE turn_items (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id   BIGINT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    item_json TEXT   NOT NULL
);

CREATE TABLE offloads (
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    id      TEXT NOT NULL,
    text    TEXT NOT NULL, blob TEXT REFERENCES blobs (object),
    PRIMARY KEY (chat_id, id)
);

CREATE TABLE subscriptions (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT   NOT NULL,
    document_json TEXT   NOT NULL,
    key_sealed    TEXT,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    UNIQUE (user_id, name)
);

CREATE TABLE model_usage (
    user_id            BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    day                BIGINT NOT NULL,
    chat_id            TEXT   NOT NULL,
    subscription       TEXT   NOT NULL,
    model              TEXT   NOT NULL,
    calls              BIGINT NOT NULL,
    input_tokens       BIGINT NOT NULL,
    cache_read_tokens  BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    output_tokens      BIGINT NOT NULL,
    cost_micros        BIGINT NOT NULL,
    PRIMARY KEY (user_id, day, chat_id, subscription, model)
);

CREATE TABLE compactions (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id       TEXT   NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    up_to_item    BIGINT REFERENCES turn_items (id) ON DELETE CASCADE,
    -- The last item that there was then.
    last_item     BIGINT NOT NULL,
    summary       TEXT   NOT NULL,
    tokens_before BIGINT NOT NULL,
    tokens_after  BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL
);

CREATE TABLE masks (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id      TEXT    NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    item_id      BIGINT  NOT NULL UNIQUE REFERENCES turn_items (id) ON DELETE CASCADE,
    id           TEXT    NOT NULL,
    placeholder  TEXT    NOT NULL,
    size_chars   BIGINT  NOT NULL,
    -- A summary names it: it is forgotten last.
    is_named     BOOLEAN NOT NULL DEFAULT FALSE,
    -- It is not given back any more.
    is_forgotten BOOLEAN NOT NULL DEFAULT FALSE
);

CREATE TABLE context_edits (
    item_id   BIGINT NOT NULL REFERENCES turn_items (id) ON DELETE CASCADE,
    turn_id   BIGINT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    item_json TEXT,
    PRIMARY KEY (item_id, turn_id)
);

CREATE TABLE prompt_counts (
    chat_id         TEXT   PRIMARY KEY REFERENCES chats (id) ON DELETE CASCADE,
    -- The answer to that request.
    item_id         BIGINT NOT NULL REFERENCES turn_items (id) ON DELETE CASCADE,
    tokens          BIGINT NOT NULL,
    estimate        BIGINT NOT NULL,
    system_estimate BIGINT NOT NULL,
    tools_estimate  BIGINT NOT NULL
, documents_json TEXT NOT NULL DEFAULT '');

CREATE TABLE offloaded_reads (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id     TEXT   NOT NULL,
    offload_id  TEXT   NOT NULL,
    place       TEXT   NOT NULL,
    path        TEXT   NOT NULL,
    hash        TEXT   NOT NULL,
    size_bytes  BIGINT NOT NULL,
    modified_ms BIGINT NOT NULL,
    state       TEXT   NOT NULL DEFAULT 'fresh' CHECK (state IN ('fresh', 'stale', 'past')), reader_id TEXT,
    UNIQUE (chat_id, offload_id),
    FOREIGN KEY (chat_id, offload_id) REFERENCES offloads (chat_id, id) ON DELETE CASCADE
);

CREATE TABLE chat_todos (
    chat_id  TEXT   NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    content  TEXT   NOT NULL,
    status   TEXT   NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed')),
    PRIMARY KEY (chat_id, position)
);

CREATE TABLE sub_agents (
    chat_id    TEXT   NOT NULL PRIMARY KEY REFERENCES chats (id) ON DELETE CASCADE,
    message_id BIGINT REFERENCES messages (id) ON DELETE SET NULL,
    role       TEXT,
    instance   TEXT,
    tools_json TEXT   NOT NULL,
    used_at_ms BIGINT NOT NULL
, place TEXT, worktree TEXT);

CREATE TABLE checkpoints (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id      BIGINT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    place        TEXT   NOT NULL,
    path         TEXT   NOT NULL,
    before       TEXT   NOT NULL CHECK (before IN ('absent', 'content', 'too_large', 'unreadable', 'dropped')),
    mode         BIGINT,
    sha256       TEXT,
    left_sha256  TEXT,
    UNIQUE (turn_id, place, path)
);

CREATE TABLE checkpoint_contents (
    chat_id    TEXT   NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    sha256     TEXT   NOT NULL,
    size_bytes BIGINT NOT NULL,
    content    BLOB   NOT NULL, blob TEXT REFERENCES blobs (object),
    PRIMARY KEY (chat_id, sha256)
);

CREATE TABLE api_keys (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT   NOT NULL,
    token_sha256  TEXT   NOT NULL UNIQUE,
    scope         TEXT   NOT NULL CHECK (scope IN ('full', 'exec', 'read')),
    created_at_ms BIGINT NOT NULL,
    last_used_ms  BIGINT,
    expires_at_ms BIGINT,
    UNIQUE (user_id, name)
);

CREATE TABLE sends (
    chat_id     TEXT   NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    send_id     TEXT   NOT NULL,
    message_id  BIGINT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    answer_json TEXT,
    PRIMARY KEY (chat_id, send_id)
);

CREATE TABLE copied_rows (
    copy_id TEXT   NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    kind    TEXT   NOT NULL,
    old_id  BIGINT NOT NULL,
    new_id  BIGINT NOT NULL,
    PRIMARY KEY (copy_id, kind, old_id)
);

CREATE TABLE turn_todos (
    turn_id  BIGINT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    content  TEXT   NOT NULL,
    status   TEXT   NOT NULL,
    PRIMARY KEY (turn_id, position)
);

CREATE TABLE sealing (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    kind          TEXT    NOT NULL CHECK (kind IN ('passphrase', 'file')),
    salt          TEXT    NOT NULL,
    check_sealed  TEXT    NOT NULL,
    is_scrubbed   BOOLEAN NOT NULL,
    created_at_ms BIGINT  NOT NULL
);

CREATE TABLE login_addresses (
    user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    address    TEXT   NOT NULL,
    used_at_ms BIGINT NOT NULL,
    PRIMARY KEY (user_id, address)
);

CREATE TABLE asks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    asked_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    answer_json TEXT,
    surface TEXT,
    answered_at_ms INTEGER,
    withdrawn_at_ms INTEGER
);

CREATE TABLE begun_calls (
    turn_id INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    call_id TEXT NOT NULL,
    PRIMARY KEY (turn_id, call_id)
) WITHOUT ROWID;

CREATE TABLE server_settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE streamed (
    message_id BIGINT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    turn_id    BIGINT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    text       TEXT   NOT NULL,
    reasoning  TEXT   NOT NULL
);

CREATE TABLE "approval_rules" (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id       TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    tool          TEXT NOT NULL,
    subject       TEXT NOT NULL,
    scope         TEXT NOT NULL DEFAULT '',
    created_at_ms INTEGER NOT NULL DEFAULT 0,
    UNIQUE (chat_id, tool, subject)
);

CREATE TABLE hook_documents (
    user_id       INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    text          TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL
);

CREATE TABLE trusts (
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind          TEXT NOT NULL,
    hash          TEXT NOT NULL,
    shown         TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL, name TEXT NOT NULL DEFAULT '', workspace TEXT NOT NULL DEFAULT '', files_json TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (user_id, kind, hash)
);

CREATE TABLE mcp_servers (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id        INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    entry_json     TEXT NOT NULL,
    secrets_sealed TEXT,
    updated_at_ms  INTEGER NOT NULL,
    UNIQUE (user_id, name)
);

CREATE TABLE mcp_catalogues (
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    place         TEXT NOT NULL,
    server        TEXT NOT NULL,
    hash          TEXT NOT NULL,
    listing_json  TEXT NOT NULL,
    listed_at_ms  INTEGER NOT NULL,
    PRIMARY KEY (user_id, place, server, hash)
);

CREATE TABLE oauth_grants (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    server        TEXT NOT NULL,
    hash          TEXT NOT NULL,
    grant_sealed  TEXT,
    updated_at_ms INTEGER NOT NULL,
    UNIQUE (user_id, server)
);

CREATE TABLE plugins (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id         INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name            TEXT NOT NULL,
    hash            TEXT NOT NULL,
    version         TEXT NOT NULL,
    source          TEXT NOT NULL,
    is_enabled      BOOLEAN NOT NULL,
    installed_at_ms INTEGER NOT NULL, is_shared BOOLEAN NOT NULL DEFAULT FALSE,
    UNIQUE (user_id, name)
);

CREATE TABLE plugin_files (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    plugin_id     INTEGER NOT NULL REFERENCES plugins (id) ON DELETE CASCADE,
    path          TEXT NOT NULL,
    is_executable BOOLEAN NOT NULL,
    content       BLOB NOT NULL, blob TEXT REFERENCES blobs (object),
    UNIQUE (plugin_id, path)
);

CREATE TABLE http_tools (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id        INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    document_json  TEXT NOT NULL,
    secrets_sealed TEXT,
    updated_at_ms  INTEGER NOT NULL,
    UNIQUE (user_id, name)
);

CREATE TABLE "permission_rules" (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    effect        TEXT NOT NULL,
    rule          TEXT NOT NULL,
    justification TEXT NOT NULL DEFAULT '',
    created_at_ms INTEGER NOT NULL,
    hits          INTEGER NOT NULL DEFAULT 0,
    last_hit_at_ms INTEGER,
    chat_id       TEXT REFERENCES chats (id) ON DELETE CASCADE
);

CREATE TABLE search_messages (
    message_id INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    words      TEXT NOT NULL,
    others     TEXT NOT NULL,
    owner      TEXT NOT NULL
);

CREATE VIRTUAL TABLE search_messages_index USING fts5 (
    words, others, owner, content = 'search_messages', content_rowid = 'message_id', tokenize = 'ascii'
);

CREATE TABLE search_progress (
    user_id  INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    below_id INTEGER NOT NULL
);

CREATE TABLE memory_items (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind          TEXT NOT NULL CHECK (kind IN ('core', 'semantic', 'episodic', 'procedural')),
    scope         TEXT NOT NULL CHECK (scope IN ('user', 'project', 'agent')),
    scope_name    TEXT NOT NULL,
    name          TEXT NOT NULL,
    text          TEXT NOT NULL,
    source        TEXT NOT NULL CHECK (source IN ('person', 'asked', 'model', 'chat', 'note')),
    source_chat   TEXT REFERENCES chats (id) ON DELETE SET NULL,
    source_message BIGINT REFERENCES messages (id) ON DELETE SET NULL,
    is_proposed   BOOLEAN NOT NULL,
    replaces_id   BIGINT REFERENCES memory_items (id) ON DELETE CASCADE,
    valid_from_ms BIGINT NOT NULL,
    valid_to_ms   BIGINT,
    superseded_by BIGINT REFERENCES memory_items (id) ON DELETE SET NULL,
    revision      BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL
, agent_id INTEGER REFERENCES group_agents (id) ON DELETE CASCADE);

CREATE TABLE memory_revisions (
    item_id     INTEGER NOT NULL REFERENCES memory_items (id) ON DELETE CASCADE,
    revision    INTEGER NOT NULL,
    name        TEXT NOT NULL,
    text        TEXT NOT NULL,
    replaced_by TEXT NOT NULL,
    replaced_at_ms BIGINT NOT NULL,
    PRIMARY KEY (item_id, revision)
);

CREATE TABLE memorised_chats (
    chat_id TEXT NOT NULL PRIMARY KEY REFERENCES chats (id) ON DELETE CASCADE,
    at_ms   BIGINT NOT NULL
, is_over BOOLEAN NOT NULL DEFAULT TRUE);

CREATE TABLE collections (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    -- True if every user of the server may search it.
    is_for_all    BOOLEAN NOT NULL,
    -- The runner and the path of the folder that it is kept in step with; empty for uploads.
    place         TEXT NOT NULL,
    path          TEXT NOT NULL,
    -- The end of the last look at the folder: `never`, `synced`, `offline`, `gone`, `failed`; and the reason in words.
    sync_state    TEXT NOT NULL,
    sync_note     TEXT NOT NULL,
    synced_at_ms  INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    UNIQUE (user_id, name)
);

CREATE TABLE collection_access (
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (collection_id, user_id)
);

CREATE TABLE documents (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    -- A file's name, or its path below the folder.
    name          TEXT NOT NULL,
    -- `waiting`, `ready`, `failed`; and what there is to say about it.
    state         TEXT NOT NULL,
    note          TEXT NOT NULL,
    -- Of the version that is searched; empty and 0 before there is one.
    version       INTEGER NOT NULL,
    kind          TEXT NOT NULL,
    pages         INTEGER NOT NULL,
    sha256        TEXT NOT NULL,
    -- Of the content that was looked at last.
    size_bytes    INTEGER NOT NULL,
    modified_ms   INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL, analysis INTEGER NOT NULL DEFAULT 0,
    UNIQUE (collection_id, name)
);

CREATE TABLE index_jobs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    -- Null: a look at the collection's folder.
    document_id   INTEGER REFERENCES documents (id) ON DELETE CASCADE,
    -- False while its content still arrives.
    is_ready      BOOLEAN NOT NULL,
    -- True if its user accepts that documents are missing from the folder.
    accepts_missing BOOLEAN NOT NULL,
    attempts      INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL
);

CREATE TABLE job_parts (
    job_id  INTEGER NOT NULL REFERENCES index_jobs (id) ON DELETE CASCADE,
    part    INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (job_id, part)
);

CREATE TABLE document_pages (
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    page        INTEGER NOT NULL,
    title       TEXT NOT NULL,
    text        TEXT NOT NULL,
    PRIMARY KEY (document_id, version, page)
);

CREATE TABLE chunks (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id   INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    version       INTEGER NOT NULL,
    page          INTEGER NOT NULL,
    span_start    INTEGER NOT NULL,
    span_end      INTEGER NOT NULL,
    -- The headings that it stands under, one a line.
    headings      TEXT NOT NULL,
    words         TEXT NOT NULL,
    others        TEXT NOT NULL
);

CREATE VIRTUAL TABLE search_chunks USING fts5 (
    words, others, content = 'chunks', content_rowid = 'id', tokenize = "ascii"
);

CREATE TABLE embedding_models (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT NOT NULL UNIQUE,
    dimensions    INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL
, chosen TEXT NOT NULL DEFAULT '', is_complete BOOLEAN NOT NULL DEFAULT FALSE);

CREATE TABLE embeddings (
    chunk_id INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    model_id INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
    vector   BLOB NOT NULL,
    PRIMARY KEY (chunk_id, model_id)
);

CREATE TABLE jobs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('schedule', 'trigger')),
    document_json TEXT NOT NULL,
    -- The one chat of all its runs, once it had one.
    chat_id       TEXT REFERENCES chats (id) ON DELETE SET NULL,
    -- Why it is paused; NULL if it is not.
    paused        TEXT,
    -- The next slot of a schedule.
    next_ms       INTEGER,
    -- The hash of the token in a trigger's address, and the sealed secret that signs its deliveries.
    token_sha256  TEXT UNIQUE,
    secret_sealed TEXT,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    UNIQUE (user_id, name)
);

CREATE TABLE job_runs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id        INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    slot          TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('due', 'posted', 'skipped', 'failed', 'refused')),
    -- Why it was skipped, failed or was refused.
    note          TEXT NOT NULL DEFAULT '',
    -- The message that it posts.
    text          TEXT NOT NULL DEFAULT '',
    -- The delivery as it came.
    payload       TEXT,
    times         INTEGER NOT NULL DEFAULT 1,
    chat_id       TEXT REFERENCES chats (id) ON DELETE SET NULL,
    message_id    INTEGER REFERENCES messages (id) ON DELETE SET NULL,
    answer_id     INTEGER REFERENCES messages (id) ON DELETE SET NULL,
    due_ms        INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    ended_at_ms   INTEGER, event TEXT,
    UNIQUE (job_id, slot)
);

CREATE TABLE memory_embeddings (
    item_id  INTEGER NOT NULL REFERENCES memory_items (id) ON DELETE CASCADE,
    model_id INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    vector   BLOB NOT NULL,
    PRIMARY KEY (item_id, model_id)
);

CREATE TABLE marketplaces (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    source        TEXT NOT NULL,
    document      TEXT NOT NULL,
    -- The hashes of the plugins that are in the marketplace itself, by name, as far as they are known.
    hashes_json   TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    UNIQUE (user_id, name)
);

CREATE TABLE channel_accounts (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id        INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    -- The messenger.
    kind           TEXT NOT NULL,
    document_json  TEXT NOT NULL,
    secrets_sealed TEXT,
    is_enabled     BOOLEAN NOT NULL,
    -- True if every user may link with it; only an administrator's account.
    is_shared      BOOLEAN NOT NULL,
    -- Changes with each change of the account.
    revision       INTEGER NOT NULL DEFAULT 1,
    created_at_ms  INTEGER NOT NULL,
    updated_at_ms  INTEGER NOT NULL,
    UNIQUE (user_id, name)
);

CREATE TABLE channel_links (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id    INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    -- The messenger's id of the person, and the name that it shows.
    person        TEXT NOT NULL,
    person_name   TEXT NOT NULL,
    -- The direct conversation with the person.
    conversation  TEXT NOT NULL,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at_ms INTEGER NOT NULL, notices_since_ms INTEGER,
    UNIQUE (account_id, person)
);

CREATE TABLE link_codes (
    account_id    INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- What of the code says whose it is, and the hash of all of it.
    prefix        TEXT NOT NULL,
    code_sha256   TEXT NOT NULL,
    tries_left    INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    PRIMARY KEY (account_id, user_id)
);

CREATE TABLE channel_strangers (
    account_id     INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    person         TEXT NOT NULL,
    told_at_ms     INTEGER NOT NULL DEFAULT 0,
    tries          INTEGER NOT NULL DEFAULT 0,
    tries_since_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, person)
);

CREATE TABLE channel_groups (
    account_id    INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    conversation  TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (account_id, conversation)
);

CREATE TABLE channel_chats (
    account_id    INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    conversation  TEXT NOT NULL,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    chat_id       TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    PRIMARY KEY (account_id, conversation, user_id)
);

CREATE TABLE channel_inbox (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id     INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    platform_id    TEXT NOT NULL,
    conversation   TEXT NOT NULL,
    person         TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('new', 'begun', 'done')),
    -- The event; empty once it is done.
    event_json     TEXT NOT NULL,
    -- What is posted for it, once that is decided: it is posted again with the same words if the server dies.
    user_id        INTEGER REFERENCES users (id) ON DELETE SET NULL,
    chat_id        TEXT REFERENCES chats (id) ON DELETE SET NULL,
    post_json      TEXT,
    received_at_ms INTEGER NOT NULL,
    UNIQUE (account_id, platform_id)
);

CREATE TABLE channel_answers (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    inbox_id      INTEGER NOT NULL UNIQUE REFERENCES channel_inbox (id) ON DELETE CASCADE,
    account_id    INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    conversation  TEXT NOT NULL,
    is_group      BOOLEAN NOT NULL,
    reply_json    TEXT NOT NULL,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The message that shows the answer.
    message_id    INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    created_at_ms INTEGER NOT NULL
);

CREATE TABLE channel_outbox (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id     INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    conversation   TEXT NOT NULL,
    is_group       BOOLEAN NOT NULL,
    reply_json     TEXT NOT NULL,
    user_id        INTEGER REFERENCES users (id) ON DELETE CASCADE,
    -- What the row belongs to and its place in it: a second row of the same is refused.
    source         TEXT NOT NULL,
    part           INTEGER NOT NULL,
    -- The same at each try: 64 hexadecimal digits.
    send_key       TEXT NOT NULL,
    payload_json   TEXT NOT NULL,
    -- The message of the chat that asks the question of this row.
    ask_message_id INTEGER REFERENCES messages (id) ON DELETE SET NULL,
    -- The row whose message this one replaces.
    edit_of        INTEGER REFERENCES channel_outbox (id) ON DELETE CASCADE,
    state          TEXT NOT NULL CHECK (state IN ('ready', 'sending', 'sent', 'failed')),
    tries          INTEGER NOT NULL DEFAULT 0,
    -- True if it was sent again after a try whose outcome is unknown: it may have arrived twice.
    is_unsure      BOOLEAN NOT NULL DEFAULT FALSE,
    platform_id    TEXT,
    error          TEXT NOT NULL DEFAULT '',
    created_at_ms  INTEGER NOT NULL,
    ended_at_ms    INTEGER, gate_id INTEGER REFERENCES group_gates (id) ON DELETE SET NULL,
    UNIQUE (account_id, source, part)
);

CREATE TABLE channel_presses (
    token_sha256  TEXT PRIMARY KEY,
    outbox_id     INTEGER NOT NULL REFERENCES channel_outbox (id) ON DELETE CASCADE,
    -- Its number, from 1.
    place         INTEGER NOT NULL,
    label         TEXT NOT NULL,
    -- The answer that it gives.
    reply_json    TEXT NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    -- When one of the question's answers was taken, or the question ended.
    used_at_ms    INTEGER
);

CREATE TABLE channel_cursors (
    account_id    INTEGER PRIMARY KEY REFERENCES channel_accounts (id) ON DELETE CASCADE,
    cursor_text   TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL
);

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
, tools_json TEXT, folder TEXT NOT NULL DEFAULT '');

CREATE TABLE group_grants (
    agent_id      INTEGER NOT NULL REFERENCES group_agents (id) ON DELETE CASCADE,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    mode          TEXT NOT NULL CHECK (mode IN ('ask', 'own')),
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (agent_id, user_id)
);

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
, origin TEXT, message_key TEXT);

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
, origin TEXT, mode TEXT CHECK (mode IN ('wait', 'background', 'hand_off', 'answer')), by_agent_id INTEGER REFERENCES group_agents (id) ON DELETE SET NULL, parent_id INTEGER REFERENCES group_calls (id) ON DELETE SET NULL);

CREATE TABLE group_handovers (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id        INTEGER NOT NULL REFERENCES group_runs (id) ON DELETE CASCADE,
    -- The call that gets the files: one attempt at a step.
    call_id       INTEGER NOT NULL UNIQUE REFERENCES group_calls (id) ON DELETE CASCADE,
    -- The step that made the files, counted from 0.
    from_step     INTEGER NOT NULL,
    from_runner   TEXT NOT NULL,
    to_runner     TEXT NOT NULL,
    -- Part of the name that the files have until they are complete.
    token         TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed', 'stopped')),
    directory     TEXT NOT NULL DEFAULT '',
    files         INTEGER NOT NULL DEFAULT 0,
    size_bytes    INTEGER NOT NULL DEFAULT 0,
    -- The SHA-256 of the listing, in hexadecimal digits.
    sha256        TEXT,
    error         TEXT NOT NULL DEFAULT '',
    created_at_ms INTEGER NOT NULL,
    ended_at_ms   INTEGER
);

CREATE TABLE memory_replacements (
    item_id     INTEGER NOT NULL REFERENCES memory_items (id) ON DELETE CASCADE,
    replaces_id INTEGER NOT NULL REFERENCES memory_items (id) ON DELETE CASCADE,
    PRIMARY KEY (item_id, replaces_id)
);

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

CREATE TABLE homes (
    user_id       INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    -- NULL after a release. The row of a dead node may be gone.
    node_id       TEXT,
    -- Grows with each change of the node.
    fence         INTEGER NOT NULL,
    claimed_at_ms INTEGER NOT NULL
);

CREATE TABLE told_notices (
    link_id    INTEGER NOT NULL REFERENCES channel_links (id) ON DELETE CASCADE,
    subject    TEXT NOT NULL,
    told_at_ms INTEGER NOT NULL,
    PRIMARY KEY (link_id, subject)
);

CREATE TABLE one_time_secrets (
    kind            TEXT NOT NULL,
    secret_sha256   TEXT NOT NULL,
    -- Who it was issued to; the most that one owner may have is counted by it.
    owner_sha256    TEXT NOT NULL,
    -- Only the secret itself opens it.
    document_sealed TEXT NOT NULL,
    expires_at_ms   INTEGER NOT NULL,
    PRIMARY KEY (kind, secret_sha256)
);

CREATE TABLE attempts (
    bucket_sha256 TEXT PRIMARY KEY,
    -- When all attempts are available again; each attempt moves it on by a step.
    full_at_ms    INTEGER NOT NULL
);

CREATE TABLE blobs (
    -- The object's name: the hash, and random digits. A value that is written anew after its entry was deleted has another object, so that
    -- neither a late deletion nor a late row is about that one.
    object        TEXT PRIMARY KEY,
    -- Of the value, which the object holds.
    sha256        TEXT NOT NULL UNIQUE,
    size_bytes    INTEGER NOT NULL,
    -- When a value with this hash was last written: a row may be about to name it.
    touched_at_ms INTEGER NOT NULL
);

CREATE TABLE background_messages (
    card_id   INTEGER NOT NULL PRIMARY KEY,
    turn_id   INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    item_json TEXT   NOT NULL,
    item_id   INTEGER
);

CREATE TABLE channel_bindings (
    account_id    INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    conversation  TEXT NOT NULL,
    group_id      INTEGER NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    -- Random. The send ids of what is said in the conversation begin with it.
    mark          TEXT NOT NULL,
    -- The last entry of the log, and the last gate of its runs, that were put into the outbox.
    shown_entry   INTEGER NOT NULL,
    shown_gate    INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (account_id, conversation)
);

CREATE INDEX sessions_user ON sessions (user_id);

CREATE INDEX sessions_expiry ON sessions (expires_at_ms);

CREATE UNIQUE INDEX runners_live_name ON runners (user_id, name) WHERE revoked_at_ms IS NULL;

CREATE INDEX runners_user_name ON runners (user_id, name);

CREATE INDEX runner_tokens_runner ON runner_tokens (runner_id);

CREATE INDEX chats_user_updated ON chats (user_id, updated_at_ms);

CREATE INDEX messages_chat ON messages (chat_id, id);

CREATE INDEX execs_recent ON execs (user_id, started_at_ms);

CREATE INDEX execs_status ON execs (status);

CREATE INDEX execs_chat ON execs (chat_id);

CREATE INDEX execs_message ON execs (message_id);

CREATE INDEX runner_tokens_enrolment ON runner_tokens (enrolment_id) WHERE enrolment_id IS NOT NULL;

CREATE INDEX turns_chat ON turns (chat_id, id);

CREATE INDEX turns_status ON turns (status);

CREATE INDEX turn_items_turn ON turn_items (turn_id, id);

CREATE INDEX model_usage_chat ON model_usage (user_id, chat_id);

CREATE INDEX compactions_chat ON compactions (chat_id, id);

CREATE INDEX compactions_item ON compactions (up_to_item);

CREATE UNIQUE INDEX masks_id ON masks (chat_id, id);

CREATE INDEX context_edits_turn ON context_edits (turn_id);

CREATE INDEX prompt_counts_item ON prompt_counts (item_id);

CREATE INDEX chats_parent ON chats (parent_id) WHERE parent_id IS NOT NULL;

CREATE INDEX sub_agents_message ON sub_agents (message_id);

CREATE INDEX turns_root ON turns (root_turn_id) WHERE root_turn_id IS NOT NULL;

CREATE INDEX audit_user ON audit (user_name, id);

CREATE INDEX asks_message ON asks (message_id);

CREATE INDEX streamed_turn ON streamed (turn_id);

CREATE INDEX messages_author ON messages (author_id) WHERE author_id IS NOT NULL;

CREATE UNIQUE INDEX permission_rules_once ON permission_rules (user_id, effect, rule) WHERE chat_id IS NULL;

CREATE UNIQUE INDEX permission_rules_once_in_chat ON permission_rules (chat_id, effect, rule) WHERE chat_id IS NOT NULL;

CREATE TRIGGER search_messages_added AFTER INSERT ON search_messages BEGIN
    INSERT INTO search_messages_index (rowid, words, others, owner) VALUES (new.message_id, new.words, new.others, new.owner);
END;

CREATE TRIGGER search_messages_removed AFTER DELETE ON search_messages BEGIN
    INSERT INTO search_messages_index (search_messages_index, rowid, words, others, owner)
    VALUES ('delete', old.message_id, old.words, old.others, old.owner);
END;

CREATE INDEX memory_items_user ON memory_items (user_id);

CREATE INDEX memory_items_chat ON memory_items (source_chat);

CREATE INDEX memory_items_message ON memory_items (source_message);

CREATE INDEX memory_items_replaces ON memory_items (replaces_id);

CREATE INDEX memory_items_superseded ON memory_items (superseded_by);

CREATE INDEX collection_access_by_user ON collection_access (user_id);

CREATE INDEX index_jobs_by_collection ON index_jobs (collection_id);

CREATE INDEX index_jobs_by_document ON index_jobs (document_id);

CREATE INDEX chunks_by_document ON chunks (document_id, version);

CREATE TRIGGER search_chunks_added AFTER INSERT ON chunks BEGIN
    INSERT INTO search_chunks (rowid, words, others) VALUES (new.id, new.words, new.others);
END;

CREATE TRIGGER search_chunks_removed AFTER DELETE ON chunks BEGIN
    INSERT INTO search_chunks (search_chunks, rowid, words, others) VALUES ('delete', old.id, old.words, old.others);
END;

CREATE INDEX jobs_next ON jobs (next_ms) WHERE next_ms IS NOT NULL;

CREATE INDEX job_runs_due ON job_runs (id) WHERE state = 'due';

CREATE INDEX job_runs_chat ON job_runs (chat_id);

CREATE INDEX job_runs_message ON job_runs (message_id);

CREATE INDEX job_runs_answer ON job_runs (answer_id);

CREATE INDEX jobs_chat ON jobs (chat_id);

CREATE INDEX documents_by_collection ON documents (collection_id, id);

CREATE INDEX plugins_shared ON plugins (is_shared) WHERE is_shared;

CREATE INDEX channel_links_user ON channel_links (user_id);

CREATE INDEX link_codes_user ON link_codes (user_id);

CREATE INDEX channel_chats_user ON channel_chats (user_id);

CREATE INDEX channel_chats_chat ON channel_chats (chat_id);

CREATE INDEX channel_inbox_open ON channel_inbox (account_id, conversation, person, id) WHERE state <> 'done';

CREATE INDEX channel_inbox_user ON channel_inbox (user_id);

CREATE INDEX channel_inbox_chat ON channel_inbox (chat_id);

CREATE INDEX channel_inbox_received ON channel_inbox (received_at_ms);

CREATE INDEX channel_answers_account ON channel_answers (account_id);

CREATE INDEX channel_answers_user ON channel_answers (user_id);

CREATE INDEX channel_answers_message ON channel_answers (message_id);

CREATE INDEX channel_outbox_open ON channel_outbox (account_id, conversation, id) WHERE state IN ('ready', 'sending');

CREATE INDEX channel_outbox_user ON channel_outbox (user_id);

CREATE INDEX channel_outbox_ask ON channel_outbox (ask_message_id);

CREATE INDEX channel_outbox_edit ON channel_outbox (edit_of);

CREATE INDEX channel_outbox_ended ON channel_outbox (ended_at_ms);

CREATE INDEX channel_presses_outbox ON channel_presses (outbox_id);

CREATE INDEX group_people_user ON group_people (user_id);

CREATE UNIQUE INDEX group_agents_handle ON group_agents (group_id, handle_key) WHERE removed_at_ms IS NULL;

CREATE INDEX group_agents_owner ON group_agents (owner_id);

CREATE INDEX group_agents_chat ON group_agents (chat_id);

CREATE INDEX group_grants_user ON group_grants (user_id);

CREATE UNIQUE INDEX group_runs_send ON group_runs (group_id, begun_by_id, send_id) WHERE send_id IS NOT NULL;

CREATE INDEX group_runs_open ON group_runs (id) WHERE ended_at_ms IS NULL;

CREATE INDEX group_runs_group ON group_runs (group_id, id);

CREATE INDEX group_runs_user ON group_runs (begun_by_id);

CREATE INDEX group_entries_group ON group_entries (group_id, id);

CREATE UNIQUE INDEX group_entries_send ON group_entries (group_id, author_id, send_id) WHERE send_id IS NOT NULL;

CREATE UNIQUE INDEX group_entries_call ON group_entries (call_id) WHERE call_id IS NOT NULL;

CREATE INDEX group_entries_author ON group_entries (author_id);

CREATE UNIQUE INDEX group_calls_step ON group_calls (run_id, step, attempt) WHERE run_id IS NOT NULL;

CREATE INDEX group_calls_open ON group_calls (agent_id, id) WHERE ended_at_ms IS NULL;

CREATE INDEX group_calls_group ON group_calls (group_id, id);

CREATE INDEX group_calls_agent ON group_calls (agent_id);

CREATE INDEX group_calls_user ON group_calls (asked_by_id);

CREATE INDEX group_calls_entry ON group_calls (entry_id);

CREATE INDEX group_calls_chat ON group_calls (chat_id);

CREATE INDEX group_calls_message ON group_calls (message_id);

CREATE TRIGGER search_chunks_changed AFTER UPDATE OF words, others ON chunks BEGIN
    INSERT INTO search_chunks (search_chunks, rowid, words, others) VALUES ('delete', old.id, old.words, old.others);
    INSERT INTO search_chunks (rowid, words, others) VALUES (new.id, new.words, new.others);
END;

CREATE INDEX group_handovers_run ON group_handovers (run_id);

CREATE UNIQUE INDEX group_entries_message ON group_entries (origin, message_key) WHERE message_key IS NOT NULL;

CREATE INDEX group_calls_origin ON group_calls (origin) WHERE origin IS NOT NULL;

CREATE INDEX group_calls_parent ON group_calls (parent_id);

CREATE INDEX group_calls_by ON group_calls (by_agent_id);

CREATE INDEX memory_replacements_replaces ON memory_replacements (replaces_id);

CREATE UNIQUE INDEX nodes_url ON nodes (url);

CREATE INDEX homes_node ON homes (node_id);

CREATE UNIQUE INDEX channel_links_notices ON channel_links (user_id) WHERE notices_since_ms IS NOT NULL;

CREATE INDEX told_notices_told ON told_notices (told_at_ms);

CREATE INDEX audit_locked_logins ON audit (at_ms) WHERE action = 'login.locked';

CREATE INDEX job_runs_created ON job_runs (created_at_ms);

CREATE INDEX one_time_secrets_owner ON one_time_secrets (kind, owner_sha256);

CREATE INDEX one_time_secrets_expiry ON one_time_secrets (expires_at_ms);

CREATE INDEX attempts_full ON attempts (full_at_ms);

CREATE INDEX memory_items_agent ON memory_items (agent_id);

CREATE UNIQUE INDEX memory_items_core ON memory_items (user_id, COALESCE(agent_id, 0), scope_name, name) WHERE kind = 'core' AND NOT is_proposed;

CREATE INDEX blobs_by_touch ON blobs (touched_at_ms);

CREATE INDEX offloads_by_blob ON offloads (blob) WHERE blob IS NOT NULL;

CREATE INDEX checkpoint_contents_by_blob ON checkpoint_contents (blob) WHERE blob IS NOT NULL;

CREATE INDEX plugin_files_by_blob ON plugin_files (blob) WHERE blob IS NOT NULL;

CREATE INDEX turns_background ON turns (chat_id) WHERE background_json IS NOT NULL;

CREATE INDEX background_messages_of_turn ON background_messages (turn_id);

CREATE INDEX channel_bindings_group ON channel_bindings (group_id);

CREATE INDEX turn_items_showing ON turn_items (turn_id) WHERE item_json LIKE '%- #%';

CREATE INDEX messages_showing ON messages (chat_id) WHERE text LIKE '%- #%';

CREATE INDEX offloads_showing ON offloads (chat_id) WHERE text LIKE '%- #%';

CREATE INDEX channel_outbox_gate ON channel_outbox (gate_id) WHERE gate_id IS NOT NULL;

CREATE INDEX channel_outbox_asking ON channel_outbox (account_id, conversation) WHERE gate_id IS NOT NULL;

