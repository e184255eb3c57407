-- Chats reached from messengers: an account is a bot on one of them.
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

-- Who a person on the messenger is here.
CREATE TABLE channel_links (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id    INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    -- The messenger's id of the person, and the name that it shows.
    person        TEXT NOT NULL,
    person_name   TEXT NOT NULL,
    -- The direct conversation with the person.
    conversation  TEXT NOT NULL,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at_ms INTEGER NOT NULL,
    UNIQUE (account_id, person)
);
CREATE INDEX channel_links_user ON channel_links (user_id);

-- Codes that link a person, each once.
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
CREATE INDEX link_codes_user ON link_codes (user_id);

-- People who are not linked: when they were told so, and how often they tried codes.
CREATE TABLE channel_strangers (
    account_id     INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    person         TEXT NOT NULL,
    told_at_ms     INTEGER NOT NULL DEFAULT 0,
    tries          INTEGER NOT NULL DEFAULT 0,
    tries_since_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, person)
);

-- Groups in which the account answers those who are linked.
CREATE TABLE channel_groups (
    account_id    INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    conversation  TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (account_id, conversation)
);

-- The chat that a user talks to from a conversation.
CREATE TABLE channel_chats (
    account_id    INTEGER NOT NULL REFERENCES channel_accounts (id) ON DELETE CASCADE,
    conversation  TEXT NOT NULL,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    chat_id       TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    PRIMARY KEY (account_id, conversation, user_id)
);
CREATE INDEX channel_chats_user ON channel_chats (user_id);
CREATE INDEX channel_chats_chat ON channel_chats (chat_id);

-- What arrived: a row is written before the messenger is told that it was taken, and stays 8 days to know a repetition.
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
CREATE INDEX channel_inbox_open ON channel_inbox (account_id, conversation, person, id) WHERE state <> 'done';
CREATE INDEX channel_inbox_user ON channel_inbox (user_id);
CREATE INDEX channel_inbox_chat ON channel_inbox (chat_id);
CREATE INDEX channel_inbox_received ON channel_inbox (received_at_ms);

-- Answers that are sent once they are complete: the turn or the command that a message began.
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
CREATE INDEX channel_answers_account ON channel_answers (account_id);
CREATE INDEX channel_answers_user ON channel_answers (user_id);
CREATE INDEX channel_answers_message ON channel_answers (message_id);

-- What is sent, in the order of the ids within a conversation.
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
    ended_at_ms    INTEGER,
    UNIQUE (account_id, source, part)
);
CREATE INDEX channel_outbox_open ON channel_outbox (account_id, conversation, id) WHERE state IN ('ready', 'sending');
CREATE INDEX channel_outbox_user ON channel_outbox (user_id);
CREATE INDEX channel_outbox_ask ON channel_outbox (ask_message_id);
CREATE INDEX channel_outbox_edit ON channel_outbox (edit_of);
CREATE INDEX channel_outbox_ended ON channel_outbox (ended_at_ms);

-- The answers to choose from below a question, each with the hash of the token of its button.
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
CREATE INDEX channel_presses_outbox ON channel_presses (outbox_id);

-- Where a messenger goes on after a break.
CREATE TABLE channel_cursors (
    account_id    INTEGER PRIMARY KEY REFERENCES channel_accounts (id) ON DELETE CASCADE,
    cursor_text   TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL
);
