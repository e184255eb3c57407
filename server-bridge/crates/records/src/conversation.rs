//! A stored conversation: its items, and the layers over them for the model.
//!
//! The items never change; summaries, masks and edits are layers over them, and are removed with their items.

use crate::{ItemId, TurnId};

/// One item of a conversation. It is never changed once it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct TurnItem {
    /// The id of its row.
    pub id: ItemId,
    /// The turn that it belongs to.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "turn_id"))]
    pub turn: TurnId,
    /// The item itself, as JSON.
    pub item_json: String,
    /// True if its turn records each tool call before the call takes effect.
    pub is_journaled: bool,
}

/// A tool call that was about to take effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct BegunCall {
    /// The turn that made the call.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "turn_id"))]
    pub turn: TurnId,
    /// The call's id, as the model's provider gave it.
    pub call_id: String,
}

/// A summary that replaces the beginning of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct Compaction {
    /// The last item that it covers.
    pub up_to_item: ItemId,
    /// The newest item that existed when it was made.
    pub last_item: ItemId,
    /// The text of the summary, which the model reads instead of the covered items.
    pub summary: String,
}

/// A compaction to store, with the other data that is stored and deleted together with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCompaction {
    /// The summary and the items it covers.
    pub compaction: Compaction,
    /// The approximate size of the conversation before the compaction, in tokens.
    pub tokens_before: i64,
    /// The approximate size of the conversation after the compaction, in tokens.
    pub tokens_after: i64,
    /// The ids of masks that the summary names: these can still be recalled.
    pub named_masks: Vec<String>,
    /// The ids of stored long results that nothing refers to any more.
    pub forgotten_offloads: Vec<String>,
}

/// A line that replaces a tool's result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct Mask {
    /// The id by which the model can recall the result.
    pub id: String,
    /// The item with the result.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "item_id"))]
    pub item: ItemId,
    /// The line that the model sees instead of the result.
    pub placeholder: String,
    /// The length of the result, in characters.
    pub size_chars: i64,
}

/// A model's edit of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct ContextEdit {
    /// The edited item.
    #[cfg_attr(feature = "sqlx", sqlx(rename = "item_id"))]
    pub item: ItemId,
    /// The replacement; `None` removes the item.
    pub item_json: Option<String>,
}

/// The size of a request, in tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct PromptCount {
    /// The number of tokens that the provider counted.
    pub tokens: i64,
    /// The server's own estimate for the same request, in tokens.
    pub estimate: i64,
    /// The system prompt's share of the estimate, in tokens.
    pub system_estimate: i64,
    /// The share of the estimate for the tools' definitions, in tokens.
    pub tools_estimate: i64,
    /// The documents in the system prompt, as a JSON array of `[name, estimated tokens]`; empty if there are none.
    pub documents_json: String,
}

/// A conversation with the layers over it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredContext {
    /// The summary of its beginning.
    pub compaction: Option<Compaction>,
    /// The items after the summary, in order.
    pub items: Vec<TurnItem>,
    /// The newest item at the time of the last compression, or of the last attempt at one; 0 if there was none.
    pub compaction_tried_at: ItemId,
    /// The masks, in the order they were made.
    pub masks: Vec<Mask>,
    /// Tool calls that were started and may have changed something. Calls of turns that finished are left out, because their results are stored.
    pub begun: Vec<BegunCall>,
    /// The latest edit of each item.
    pub edits: Vec<ContextEdit>,
    /// The size of the last request.
    pub count: Option<PromptCount>,
}
