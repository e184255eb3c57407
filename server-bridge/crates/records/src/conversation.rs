//! A stored conversation: its items, and the layers over them for the model.
//!
//! The items never change; summaries, masks and edits are layers over them, and are removed with their items.

use crate::{ItemId, TurnId};

/// One unchanged item of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct TurnItem {
    /// The item.
    pub id: ItemId,
    /// Its turn.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "turn_id"))]
    pub turn: TurnId,
    /// The message.
    pub item_json: String,
    /// True if its turn keeps a record of each call before that takes effect.
    pub is_journaled: bool,
}

/// A tool call that was about to take effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct BegunCall {
    /// Its turn.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "turn_id"))]
    pub turn: TurnId,
    /// Its id, from the model's provider.
    pub call_id: String,
}

/// A summary that replaces the beginning of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct Compaction {
    /// The last item that it covers.
    pub up_to_item: ItemId,
    /// The last existing item when it was made.
    pub last_item: ItemId,
    /// Its text.
    pub summary: String,
}

/// A compaction that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCompaction {
    /// The summary and the items it covers.
    pub compaction: Compaction,
    /// The approximate tokens of the conversation before.
    pub tokens_before: i64,
    /// The approximate tokens now.
    pub tokens_after: i64,
    /// Masks that the summary names: they can still be recalled.
    pub named_masks: Vec<String>,
    /// Long results that nothing refers to any more.
    pub forgotten_offloads: Vec<String>,
}

/// A line that replaces a tool's result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct Mask {
    /// The id for recalling it.
    pub id: String,
    /// The result.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "item_id"))]
    pub item: ItemId,
    /// The line.
    pub placeholder: String,
    /// How long the result is, in characters.
    pub size_chars: i64,
}

/// A model's edit of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct ContextEdit {
    /// The item.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "item_id"))]
    pub item: ItemId,
    /// The replacement; `None` removes the item.
    pub item_json: Option<String>,
}

/// The size of a request, in tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct PromptCount {
    /// By the provider's count.
    pub tokens: i64,
    /// By our estimate of the same request.
    pub estimate: i64,
    /// The part of that for the system prompt.
    pub system_estimate: i64,
    /// The part of that for the tools.
    pub tools_estimate: i64,
    /// The documents in the system prompt, as a JSON array of `[name, tokens by our estimate]`; empty if there are none.
    pub documents_json: String,
}

/// A conversation, and the layers over it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredContext {
    /// The summary of its beginning.
    pub compaction: Option<Compaction>,
    /// The items after that, in order.
    pub items: Vec<TurnItem>,
    /// The last existing item at the last compression, or the last attempt at one; 0 if there was none.
    pub compaction_tried_at: ItemId,
    /// In the order they were made.
    pub masks: Vec<Mask>,
    /// The calls that began and may have changed something, except those of turns that ended well: these have results.
    pub begun: Vec<BegunCall>,
    /// The latest of each item.
    pub edits: Vec<ContextEdit>,
    /// The size of the last request.
    pub count: Option<PromptCount>,
}
