//! The tables with a conversation's data, and how a copy treats each of them.
//!
//! A table or a column that is not listed here makes a test fail, so that none is forgotten. In the statements, `$1` is the copy that the user will
//! see, `$2` the conversation that is being made, `$3` the row or the conversation that is copied, and `s` the table itself.

use sqlx::AssertSqlSafe;

/// A table whose rows belong to conversations.
pub(super) struct Belonging {
    pub(super) table: &'static str,
    pub(super) fate: Fate,
}

/// How a copy treats the rows of a table.
pub(super) enum Fate {
    /// The rows are copied.
    Copied {
        /// Each column, and its value in the copy.
        columns: &'static [(&'static str, &'static str)],
        /// Columns that get their default value in the copy.
        #[cfg_attr(not(test), expect(dead_code, reason = "a column that is not listed makes a test fail"))]
        anew: &'static [&'static str],
        /// The end of the statement, which selects the rows.
        rows: &'static str,
    },
    /// The rows stay with the original, for this reason.
    Stays(#[cfg_attr(not(test), expect(dead_code, reason = "documents the choice"))] &'static str),
}

/// All tables with rows that belong to conversations.
pub(super) const BELONGINGS: &[Belonging] = &[
    Belonging { table: "chats", fate: CHATS },
    Belonging { table: "turns", fate: TURNS },
    Belonging { table: "turn_items", fate: TURN_ITEMS },
    Belonging { table: "turn_todos", fate: TURN_TODOS },
    Belonging { table: "begun_calls", fate: BEGUN_CALLS },
    Belonging { table: "messages", fate: MESSAGES },
    Belonging { table: "offloads", fate: OFFLOADS },
    Belonging { table: "offloaded_reads", fate: OFFLOADED_READS },
    Belonging { table: "compactions", fate: COMPACTIONS },
    Belonging { table: "masks", fate: MASKS },
    Belonging { table: "context_edits", fate: CONTEXT_EDITS },
    Belonging { table: "prompt_counts", fate: PROMPT_COUNTS },
    Belonging { table: "chat_todos", fate: CHAT_TODOS },
    Belonging { table: "sub_agents", fate: SUB_AGENTS },
    Belonging { table: "background_messages", fate: Fate::Stays("no sub-agent in the copy is running") },
    Belonging { table: "permission_rules", fate: PERMISSION_RULES },
    Belonging { table: "streamed", fate: Fate::Stays("it belongs to an answer in progress") },
    Belonging { table: "asks", fate: Fate::Stays("nothing in the copy waits for an answer") },
    Belonging { table: "approval_rules", fate: Fate::Stays("the copy asks for permanent permissions again") },
    Belonging { table: "checkpoints", fate: Fate::Stays("the copy changed no files, so it restores none") },
    Belonging { table: "checkpoint_contents", fate: Fate::Stays("like the checkpoints") },
    Belonging {
        table: "sends",
        fate: Fate::Stays("the id of a message that was sent once, to the original"),
    },
    Belonging { table: "search_messages", fate: Fate::Stays("each copied message is indexed as a new one") },
    Belonging { table: "memorised_chats", fate: Fate::Stays("later messages of the copy may differ") },
    Belonging { table: "memory_embeddings", fate: Fate::Stays("a user's memory belongs to no chat") },
    Belonging {
        table: "memory_items",
        fate: Fate::Stays("a user's or an agent's memory belongs to no chat"),
    },
    Belonging { table: "memory_replacements", fate: Fate::Stays("like the memory's items") },
    Belonging { table: "memory_revisions", fate: Fate::Stays("like the memory's items") },
    Belonging { table: "jobs", fate: Fate::Stays("an automation posts to its own chat") },
    Belonging { table: "job_runs", fate: Fate::Stays("like the automations") },
    Belonging {
        table: "channel_chats",
        fate: Fate::Stays("a messenger's conversation continues in the original"),
    },
    Belonging { table: "channel_inbox", fate: Fate::Stays("it was posted once, to the original") },
    Belonging { table: "channel_answers", fate: Fate::Stays("the original's answer is sent") },
    Belonging { table: "channel_outbox", fate: Fate::Stays("it was sent once") },
    Belonging { table: "group_agents", fate: Fate::Stays("an agent of a group works in one chat") },
    Belonging { table: "group_calls", fate: Fate::Stays("it was posted once, to the original") },
    Belonging { table: "execs", fate: Fate::Stays("the command ran once, in the original") },
    Belonging { table: "model_usage", fate: Fate::Stays("it was paid for once") },
    Belonging { table: "copied_rows", fate: Fate::Stays("it exists only while a copy is made") },
];

/// The small tables, in the order in which they are copied at the end, when everything that they refer to exists.
pub(super) const AT_THE_END: &[&str] = &[
    "turn_todos",
    "begun_calls",
    "offloaded_reads",
    "compactions",
    "masks",
    "context_edits",
    "prompt_counts",
    "chat_todos",
    "sub_agents",
    "permission_rules",
];

/// `$4` is the title, `$5` the time now, `$6` the parent's copy, `$7` the last copied turn. The agent's directory is the one at the start of the
/// next turn.
const CHATS: Fate = Fate::Copied {
    columns: &[
        ("id", "$2"),
        ("user_id", "s.user_id"),
        ("title", "$4"),
        ("runner", "s.runner"),
        ("created_at_ms", "$5"),
        ("updated_at_ms", "$5"),
        (
            "cwd",
            "COALESCE((SELECT t.cwd FROM turns t WHERE t.chat_id = s.id AND t.id > $7 AND t.undone_at_ms IS NULL
                AND t.cwd IS NOT NULL ORDER BY t.id LIMIT 1), s.cwd)",
        ),
        ("approval", "s.approval"),
        ("model", "s.model"),
        // The memories of an agent of a group must not reach its owner's own chats.
        (
            "memory",
            "CASE WHEN EXISTS (SELECT 1 FROM group_agents a WHERE a.chat_id = s.id) THEN NULL ELSE s.memory END",
        ),
        ("parent_id", "$6"),
        ("is_copying", "TRUE"),
    ],
    anew: &[],
    rows: "WHERE s.id = $3",
};

/// The cost of the turns was counted once, for the original. The messages that show them are set once those exist.
const TURNS: Fate = Fate::Copied {
    columns: &[
        ("chat_id", "$2"),
        ("status", "s.status"),
        ("model", "s.model"),
        ("cwd", "s.cwd"),
        ("error", "s.error"),
        ("created_at_ms", "s.created_at_ms"),
        ("finished_at_ms", "s.finished_at_ms"),
        ("has_todos", "s.has_todos"),
        ("is_journaled", "s.is_journaled"),
        (
            "root_turn_id",
            "(SELECT c.new_id FROM copied_rows c WHERE c.copy_id = $1 AND c.kind = 'turn' AND c.old_id = s.root_turn_id)",
        ),
    ],
    anew: &[
        "id",
        "message_id",
        "said_id",
        "input_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "output_tokens",
        "cost_micros",
        "commands",
        "undone_at_ms",
        "resumes",
        "is_cancelled",
        "card_id",
        // A sub-agent in the background works for the original, which is notified of its end.
        "background_json",
        "result_text",
        "told_turn_id",
    ],
    rows: "WHERE s.id = $3",
};

const TURN_ITEMS: Fate = Fate::Copied {
    columns: &[("turn_id", "t.new_id"), ("item_json", "s.item_json")],
    anew: &["id"],
    rows: "JOIN copied_rows t ON t.copy_id = $1 AND t.kind = 'turn' AND t.old_id = s.turn_id WHERE s.id = $3",
};

const TURN_TODOS: Fate = Fate::Copied {
    columns: &[
        ("turn_id", "t.new_id"),
        ("position", "s.position"),
        ("content", "s.content"),
        ("status", "s.status"),
    ],
    anew: &[],
    rows: "JOIN copied_rows t ON t.copy_id = $1 AND t.kind = 'turn' AND t.old_id = s.turn_id
        WHERE s.turn_id IN (SELECT o.id FROM turns o WHERE o.chat_id = $3)",
};

const BEGUN_CALLS: Fate = Fate::Copied {
    columns: &[("turn_id", "t.new_id"), ("call_id", "s.call_id")],
    anew: &[],
    rows: "JOIN copied_rows t ON t.copy_id = $1 AND t.kind = 'turn' AND t.old_id = s.turn_id
        WHERE s.turn_id IN (SELECT o.id FROM turns o WHERE o.chat_id = $3)",
};

/// A turn from an earlier version has only its first message recorded.
const MESSAGES: Fate = Fate::Copied {
    columns: &[
        ("chat_id", "$2"),
        ("role", "s.role"),
        ("author_id", "s.author_id"),
        ("text", "s.text"),
        ("document_json", "s.document_json"),
        ("created_at_ms", "s.created_at_ms"),
        (
            "turn_id",
            "(SELECT c.new_id FROM copied_rows c WHERE c.copy_id = $1 AND c.kind = 'turn' AND c.old_id = COALESCE(s.turn_id,
                (SELECT t.id FROM turns t WHERE t.chat_id = s.chat_id AND t.message_id = s.id LIMIT 1)))",
        ),
    ],
    anew: &["id", "undone"],
    rows: "WHERE s.id = $3",
};

/// `$4` is the offload's name.
const OFFLOADS: Fate = Fate::Copied {
    columns: &[("chat_id", "$2"), ("id", "s.id"), ("text", "s.text"), ("blob", "s.blob")],
    anew: &[],
    rows: "WHERE s.chat_id = $3 AND s.id = $4",
};

const OFFLOADED_READS: Fate = Fate::Copied {
    columns: &[
        ("chat_id", "$2"),
        ("offload_id", "s.offload_id"),
        ("place", "s.place"),
        ("path", "s.path"),
        ("hash", "s.hash"),
        ("size_bytes", "s.size_bytes"),
        ("modified_ms", "s.modified_ms"),
        ("state", "s.state"),
        // A named sub-agent is replaced by its copy when that exists.
        ("reader_id", "CASE WHEN COALESCE(s.reader_id, s.chat_id) = s.chat_id THEN $2 ELSE s.reader_id END"),
    ],
    anew: &["number"],
    rows: "JOIN offloads o ON o.chat_id = $2 AND o.id = s.offload_id WHERE s.chat_id = $3 ORDER BY s.number",
};

/// A compaction whose last item is not copied is left out, and so is an attempt after it.
const COMPACTIONS: Fate = Fate::Copied {
    columns: &[
        ("chat_id", "$2"),
        ("up_to_item", "u.new_id"),
        ("last_item", "COALESCE(l.new_id, u.new_id)"),
        ("summary", "s.summary"),
        ("tokens_before", "s.tokens_before"),
        ("tokens_after", "s.tokens_after"),
        ("created_at_ms", "s.created_at_ms"),
    ],
    anew: &["id"],
    rows: "LEFT JOIN copied_rows u ON u.copy_id = $1 AND u.kind = 'item' AND u.old_id = s.up_to_item
        LEFT JOIN copied_rows l ON l.copy_id = $1 AND l.kind = 'item' AND l.old_id = s.last_item
        WHERE s.chat_id = $3 AND (u.new_id IS NOT NULL OR s.up_to_item IS NULL AND l.new_id IS NOT NULL) ORDER BY s.id",
};

const MASKS: Fate = Fate::Copied {
    columns: &[
        ("chat_id", "$2"),
        ("item_id", "i.new_id"),
        ("id", "s.id"),
        ("placeholder", "s.placeholder"),
        ("size_chars", "s.size_chars"),
        ("is_named", "s.is_named"),
        ("is_forgotten", "s.is_forgotten"),
    ],
    anew: &["number"],
    rows: "JOIN copied_rows i ON i.copy_id = $1 AND i.kind = 'item' AND i.old_id = s.item_id
        WHERE s.chat_id = $3 ORDER BY s.number",
};

const CONTEXT_EDITS: Fate = Fate::Copied {
    columns: &[("item_id", "i.new_id"), ("turn_id", "t.new_id"), ("item_json", "s.item_json")],
    anew: &[],
    rows: "JOIN copied_rows t ON t.copy_id = $1 AND t.kind = 'turn' AND t.old_id = s.turn_id
        JOIN copied_rows i ON i.copy_id = $1 AND i.kind = 'item' AND i.old_id = s.item_id
        WHERE s.turn_id IN (SELECT o.id FROM turns o WHERE o.chat_id = $3)",
};

const PROMPT_COUNTS: Fate = Fate::Copied {
    columns: &[
        ("chat_id", "$2"),
        ("item_id", "i.new_id"),
        ("tokens", "s.tokens"),
        ("estimate", "s.estimate"),
        ("system_estimate", "s.system_estimate"),
        ("tools_estimate", "s.tools_estimate"),
        ("documents_json", "s.documents_json"),
    ],
    anew: &[],
    rows: "JOIN copied_rows i ON i.copy_id = $1 AND i.kind = 'item' AND i.old_id = s.item_id WHERE s.chat_id = $3",
};

/// The task list as of the last copied turn, `$4`. If a later turn changed the list, [`EARLIER_TODOS`] copies the earlier one instead.
const CHAT_TODOS: Fate = Fate::Copied {
    columns: &[
        ("chat_id", "$2"),
        ("position", "s.position"),
        ("content", "s.content"),
        ("status", "s.status"),
    ],
    anew: &[],
    rows: "WHERE s.chat_id = $3 AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.chat_id = $3 AND t.id > $4 AND t.has_todos
        AND t.undone_at_ms IS NULL)",
};

/// See [`CHAT_TODOS`].
pub(super) const EARLIER_TODOS: &str = "INSERT INTO chat_todos (chat_id, position, content, status)
    SELECT $2, s.position, s.content, s.status FROM turn_todos s WHERE s.turn_id =
        (SELECT MIN(t.id) FROM turns t WHERE t.chat_id = $3 AND t.id > $4 AND t.has_todos AND t.undone_at_ms IS NULL)";

/// Deny and ask rules of the conversation apply in the copy too; allow rules do not.
const PERMISSION_RULES: Fate = Fate::Copied {
    columns: &[
        ("user_id", "s.user_id"),
        ("effect", "s.effect"),
        ("rule", "s.rule"),
        ("justification", "s.justification"),
        ("created_at_ms", "s.created_at_ms"),
        ("chat_id", "$2"),
    ],
    anew: &["id", "hits", "last_hit_at_ms"],
    rows: "WHERE s.chat_id = $3 AND s.effect <> 'allow'",
};

const SUB_AGENTS: Fate = Fate::Copied {
    columns: &[
        ("chat_id", "$2"),
        (
            "message_id",
            "(SELECT c.new_id FROM copied_rows c WHERE c.copy_id = $1 AND c.kind = 'message' AND c.old_id = s.message_id)",
        ),
        ("role", "s.role"),
        ("instance", "s.instance"),
        ("place", "s.place"),
        ("tools_json", "s.tools_json"),
        ("used_at_ms", "s.used_at_ms"),
    ],
    // Two agents do not share a worktree.
    anew: &["worktree"],
    rows: "WHERE s.chat_id = $3",
};

/// The statement that copies rows of a table, with the clause `returning` for the new id. It is built only from the tables above.
pub(super) fn copying(table: &str, returning: &str) -> AssertSqlSafe<String> {
    let known = BELONGINGS.iter().find(|belonging| belonging.table == table).map(|belonging| &belonging.fate);
    let Some(Fate::Copied { columns, rows, .. }) = known else {
        unreachable!("only called for tables that are copied");
    };
    let (names, values): (Vec<&str>, Vec<&str>) = columns.iter().copied().unzip();
    let (names, values) = (names.join(", "), values.join(", "));
    AssertSqlSafe(format!("INSERT INTO {table} ({names}) SELECT {values} FROM {table} s {rows} {returning}"))
}
