//! A conversation as it is kept: its items, and what lies over them when a model is shown it.
//!
//! The items never change; summaries, masks and edits lie over them, and are gone with what they are of.

use crate::{ItemId, TurnId};

/// One item of a conversation, as it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct TurnItem {
    /// The item.
    pub id: ItemId,
    /// Its turn.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "turn_id"))]
    pub turn: TurnId,
    /// What was said.
    pub item_json: String,
    /// Whether its turn keeps a record of each call before that takes effect.
    pub is_journaled: bool,
}

/// A call of a tool that was about to take effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct BegunCall {
    /// Its turn.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "turn_id"))]
    pub turn: TurnId,
    /// Its id, as the model's provider gave it.
    pub call_id: String,
}

/// A summary that stands for the beginning of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct Compaction {
    /// It tells of everything up to and with this item.
    pub up_to_item: ItemId,
    /// The last item that there was when it was made.
    pub last_item: ItemId,
    /// What it says.
    pub summary: String,
}

/// A compaction that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCompaction {
    /// The summary and what it is of.
    pub compaction: Compaction,
    /// About how many tokens the conversation took before.
    pub tokens_before: i64,
    /// And takes now.
    pub tokens_after: i64,
    /// Masks that the summary names: they can be asked for still.
    pub named_masks: Vec<String>,
    /// Long results that nothing names any more.
    pub forgotten_offloads: Vec<String>,
}

/// A line in the place of a tool's result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct Mask {
    /// What it is asked for by.
    pub id: String,
    /// The result.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "item_id"))]
    pub item: ItemId,
    /// The line.
    pub placeholder: String,
    /// How long the result is, in characters.
    pub size_chars: i64,
}

/// An item as its model wants to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct ContextEdit {
    /// The item.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "item_id"))]
    pub item: ItemId,
    /// What is said instead; `None`: nothing.
    pub item_json: Option<String>,
}

/// What a request took, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct PromptCount {
    /// By its provider's count.
    pub tokens: i64,
    /// By our estimate of the same request.
    pub estimate: i64,
    /// So much of that is the system prompt.
    pub system_estimate: i64,
    /// So much of that is the descriptions of the tools.
    pub tools_estimate: i64,
}

/// A conversation, and what lies over it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredContext {
    /// The summary of its beginning.
    pub compaction: Option<Compaction>,
    /// What was said behind that, in order.
    pub items: Vec<TurnItem>,
    /// The last item that there was when it was last compressed, or when that was tried; nought where it never was.
    pub compaction_tried_at: ItemId,
    /// In the order they were made.
    pub masks: Vec<Mask>,
    /// The calls that were begun and may have changed something.
    pub begun: Vec<BegunCall>,
    /// The latest of each item.
    pub edits: Vec<ContextEdit>,
    /// What the last request took.
    pub count: Option<PromptCount>,
}
