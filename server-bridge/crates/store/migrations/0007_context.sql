-- What a conversation's model is shown in place of what was said. The items themselves never change; every row here hangs on
-- the item that it is about, so that it goes, or counts for nothing, with its turn.

-- Everything up to and with an item, told in a summary instead. Without an item: a try that came to nothing.
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
CREATE INDEX compactions_chat ON compactions (chat_id, id);
CREATE INDEX compactions_item ON compactions (up_to_item);

-- A result of a tool whose place a line takes. Its text is the item's own.
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
CREATE UNIQUE INDEX masks_id ON masks (chat_id, id);

-- An item as its model wants to see it from now on; NULL: not at all. The turn is the one that wanted it.
CREATE TABLE context_edits (
    item_id   BIGINT NOT NULL REFERENCES turn_items (id) ON DELETE CASCADE,
    turn_id   BIGINT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    item_json TEXT,
    PRIMARY KEY (item_id, turn_id)
);
CREATE INDEX context_edits_turn ON context_edits (turn_id);

-- What the last request of a conversation took: by its provider's count, and by our estimate of the same request.
CREATE TABLE prompt_counts (
    chat_id         TEXT   PRIMARY KEY REFERENCES chats (id) ON DELETE CASCADE,
    -- The answer to that request.
    item_id         BIGINT NOT NULL REFERENCES turn_items (id) ON DELETE CASCADE,
    tokens          BIGINT NOT NULL,
    estimate        BIGINT NOT NULL,
    system_estimate BIGINT NOT NULL,
    tools_estimate  BIGINT NOT NULL
);
CREATE INDEX prompt_counts_item ON prompt_counts (item_id);

-- Files whose content was put aside: whether they are still as they were read. `state`: fresh, stale, or past (read again since).
CREATE TABLE offloaded_reads (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id     TEXT   NOT NULL,
    offload_id  TEXT   NOT NULL,
    place       TEXT   NOT NULL,
    path        TEXT   NOT NULL,
    hash        TEXT   NOT NULL,
    size_bytes  BIGINT NOT NULL,
    modified_ms BIGINT NOT NULL,
    state       TEXT   NOT NULL DEFAULT 'fresh' CHECK (state IN ('fresh', 'stale', 'past')),
    UNIQUE (chat_id, offload_id),
    FOREIGN KEY (chat_id, offload_id) REFERENCES offloads (chat_id, id) ON DELETE CASCADE
);
