//! The request that a turn repeats, and how much of the window it uses.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use llm::{Assistant, Draft, Message, Request};
use records::{BegunCall, Compaction, ContextEdit, ItemId, Mask, PromptCount, StoredContext, TurnId};

use super::{history, tokens};
use crate::models::forget_foreign_thoughts;

/// An item in the form that the conversation's model sees, before masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The item's id.
    pub id: ItemId,
    /// The turn that the item belongs to.
    pub turn: TurnId,
    /// The message as the model sees it.
    pub message: Message,
    /// True if each call of its turn that may change something was recorded before it took effect.
    pub is_journaled: bool,
}

/// The last answer of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastAnswer<'a> {
    /// The item of the answer.
    pub item: ItemId,
    /// The answer itself.
    pub answer: &'a Assistant,
    /// For each call of the answer, true if it has no result.
    pub open: Vec<bool>,
}

/// A conversation with its model.
///
/// Its request's messages are its items with all edits, masks and summaries applied; they grow with [`Conversation::push`]
/// and are rebuilt by [`Conversation::load`].
#[derive(Debug)]
pub struct Conversation {
    request: Request,
    /// The part of the request that is already serialised, so that for each request only the new part has to be serialised.
    draft: Draft,
    window_tokens: usize,
    items: Vec<Item>,
    masks: HashMap<ItemId, Mask>,
    /// The calls that began and may have changed something.
    begun: HashSet<BegunCall>,
    compaction: Option<Compaction>,
    compaction_tried_at: ItemId,
    /// The approximate tokens of the system prompt and of the tools.
    base: (usize, usize),
    /// The documents in the system prompt, by name, with their approximate tokens.
    documents: Vec<(String, usize)>,
    /// The approximate tokens of the messages.
    messages_tokens: usize,
    /// The provider's count of the last request.
    count: Option<PromptCount>,
    /// The model whose reasoning the conversation holds; reasoning of other models is not sent to it.
    origin: String,
}

impl Conversation {
    /// A conversation from the stored items, with a request that has everything but the messages.
    pub fn new(request: Request, origin: &str, window_tokens: u32, stored: StoredContext) -> Self {
        let base = (tokens::of_system(&request.system), tokens::of_tools(&request.tools));
        let mut conversation = Self {
            request,
            draft: Draft::default(),
            window_tokens: usize::try_from(window_tokens).unwrap_or(usize::MAX).max(1),
            items: Vec::new(),
            masks: HashMap::new(),
            begun: HashSet::new(),
            compaction: None,
            compaction_tried_at: ItemId(0),
            base,
            documents: Vec::new(),
            messages_tokens: 0,
            count: None,
            origin: origin.to_owned(),
        };
        conversation.load(stored);
        conversation
    }

    /// A stored conversation, only for inspection: it has no full request, so the base size is taken from the stored count.
    pub fn of_stored(window_tokens: u32, stored: StoredContext) -> Self {
        let empty = Request {
            model: String::new(),
            tools: Vec::new(),
            system: Vec::new(),
            messages: Vec::new(),
            reminder: None,
            max_tokens: 1,
            thinking_tokens: None,
        };
        let unsigned = |tokens: i64| usize::try_from(tokens).unwrap_or(0);
        let count = stored.count.clone().unwrap_or_default();
        let base = (unsigned(count.system_estimate), unsigned(count.tools_estimate));
        // Counts of earlier versions have no documents.
        let documents = serde_json::from_str(&count.documents_json).unwrap_or_default();
        Self { base, documents, ..Self::new(empty, "", window_tokens, stored) }
    }

    /// Sets the documents in the system prompt, with their approximate tokens.
    pub(crate) fn names_documents(&mut self, documents: Vec<(String, usize)>) {
        self.documents = documents;
    }

    /// The documents in the system prompt, the longest first, with their approximate tokens.
    pub fn documents(&self) -> &[(String, usize)] {
        &self.documents
    }

    /// Rebuilds everything from the stored context.
    pub fn load(&mut self, stored: StoredContext) {
        let StoredContext { compaction, items, compaction_tried_at, masks, edits, begun, count } = stored;
        let mut edits: HashMap<ItemId, Option<String>> =
            edits.into_iter().map(|ContextEdit { item, item_json }| (item, item_json)).collect();
        self.items = items
            .into_iter()
            .filter_map(|stored| {
                let json = match edits.remove(&stored.id) {
                    None => stored.item_json,
                    Some(edited) => edited?,
                };
                let message = history::from_json(&json)?;
                Some(Item { id: stored.id, turn: stored.turn, message, is_journaled: stored.is_journaled })
            })
            .collect();
        self.begun = begun.into_iter().collect();
        self.masks = masks.into_iter().map(|mask| (mask.item, mask)).collect();
        (self.compaction, self.compaction_tried_at, self.count) = (compaction, compaction_tried_at, count);
        self.show();
    }

    /// Rebuilds the request's messages.
    fn show(&mut self) {
        let messages = self.shown(&self.items);
        self.messages_tokens = messages.iter().map(tokens::of_message).sum();
        self.request.messages = messages.into_iter().map(Arc::new).collect();
    }

    /// The given items, in the form that the model sees.
    fn shown(&self, items: &[Item]) -> Vec<Message> {
        let summary = self.compaction.iter().map(|compaction| Message::user(&compaction.summary));
        let mut messages: Vec<Message> =
            summary.chain(history::shown(items, &self.masks, &self.begun)).collect();
        if !self.origin.is_empty() {
            forget_foreign_thoughts(&mut messages, &self.origin);
        }
        messages
    }

    /// The next request.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The next request, and the serialised draft of it.
    pub fn draft(&mut self) -> (&Request, &mut Draft) {
        (&self.request, &mut self.draft)
    }

    /// Declares more tools to the model, at the end; a tool that is already declared is replaced where it stands.
    pub fn declare(&mut self, tools: Vec<llm::Tool>) {
        if tools.is_empty() {
            return;
        }
        for tool in tools {
            match self.request.tools.iter_mut().find(|known| known.name == tool.name) {
                Some(known) => *known = tool,
                None => self.request.tools.push(tool),
            }
        }
        self.base.1 = tokens::of_tools(&self.request.tools);
    }

    /// Sets the reminder at the end of the next request; later requests do not repeat it.
    pub fn remind(&mut self, reminder: Option<String>) {
        self.request.reminder = reminder;
    }

    /// Switches the conversation to another model.
    pub fn turn_to(&mut self, origin: &str, window_tokens: u32, aim: impl FnOnce(&mut Request)) {
        origin.clone_into(&mut self.origin);
        self.window_tokens = usize::try_from(window_tokens).unwrap_or(usize::MAX).max(1);
        aim(&mut self.request);
        self.show();
        // This happens within a turn: some providers refuse to continue reasoning after a call that their own reasoning did not lead to.
        if self.request.messages.last().is_some_and(|last| matches!(**last, Message::Tool(_))) {
            self.request.thinking_tokens = None;
        }
    }

    /// Lets the last message be changed if it belongs to this turn; returns the changed message.
    pub fn amend_last(
        &mut self,
        turn: TurnId,
        change: impl FnOnce(&mut [Arc<Message>]) -> bool,
    ) -> Option<&Item> {
        let item = self.items.last_mut().filter(|item| item.turn == turn)?;
        if !change(&mut self.request.messages) {
            return None;
        }
        let last = self.request.messages.last()?;
        self.messages_tokens += tokens::of_message(last);
        self.messages_tokens = self.messages_tokens.saturating_sub(tokens::of_message(&item.message));
        item.message.clone_from(&**last);
        Some(item)
    }

    /// Adds an item at the end.
    pub fn push(&mut self, id: ItemId, turn: TurnId, message: Message) {
        self.messages_tokens += tokens::of_message(&message);
        self.request.messages.push(Arc::new(message.clone()));
        self.items.push(Item { id, turn, message, is_journaled: true });
    }

    /// The size of the next request if the provider counts this many tokens for it; `None` if the provider does not count.
    pub fn count_of(&self, tokens: u64) -> PromptCount {
        let signed = |tokens: usize| i64::try_from(tokens).unwrap_or(i64::MAX);
        let estimate = signed(self.estimate());
        let tokens = if tokens == 0 { signed(self.tokens()) } else { tokens.cast_signed() };
        PromptCount {
            tokens,
            estimate,
            system_estimate: signed(self.base.0),
            tools_estimate: signed(self.base.1),
            documents_json: match &self.documents[..] {
                [] => String::new(),
                documents => serde_json::to_string(documents).expect("names and numbers are always JSON"),
            },
        }
    }

    /// Stores the provider's count of the last request.
    pub fn counted(&mut self, count: PromptCount) {
        self.count = Some(count);
    }

    /// Replaces results with lines.
    pub fn mask(&mut self, masks: Vec<Mask>) {
        self.masks.extend(masks.into_iter().map(|mask| (mask.item, mask)));
        self.show();
    }

    /// Replaces everything up to and including an item with a summary.
    pub fn compact(&mut self, compaction: Compaction) {
        self.items.retain(|item| item.id > compaction.up_to_item);
        let left: HashSet<ItemId> = self.items.iter().map(|item| item.id).collect();
        self.masks.retain(|item, _| left.contains(item));
        self.compaction_tried_at = compaction.last_item;
        self.compaction = Some(compaction);
        self.show();
    }

    /// Records that compressing failed at the last item.
    pub fn compaction_failed(&mut self) {
        self.compaction_tried_at = self.last_item();
    }

    /// Our estimate of the request's size, in tokens.
    pub fn estimate(&self) -> usize {
        self.base.0 + self.base.1 + self.messages_tokens
    }

    /// The approximate tokens of the next request: the provider's last count, corrected by our estimate of what was added or removed since.
    pub fn tokens(&self) -> usize {
        self.tokens_at(self.estimate())
    }

    /// The approximate tokens of a request that we estimate at this many tokens.
    pub fn tokens_at(&self, estimate: usize) -> usize {
        let Some(count) = self.count.as_ref().filter(|count| count.estimate > 0) else { return estimate };
        let unsigned = |tokens: i64| usize::try_from(tokens).unwrap_or(0);
        let (tokens, then) = (unsigned(count.tokens), unsigned(count.estimate));
        if estimate >= then {
            tokens.saturating_add(estimate - then)
        } else {
            // The removed part differs from its estimate by the same factor as the whole.
            (tokens as u128 * estimate as u128 / then as u128) as usize
        }
    }

    /// The size of the model's window, in tokens.
    pub fn window_tokens(&self) -> usize {
        self.window_tokens
    }

    /// The number of answers since the last compression, or the last attempt at one; `None` if there was none.
    pub fn rounds_since_compaction(&self) -> Option<usize> {
        let answers = self
            .items
            .iter()
            .filter(|item| matches!(item.message, Message::Assistant(_)))
            .map(|item| item.id);
        let tried = self.compaction_tried_at;
        (tried > ItemId(0)).then(|| answers.filter(|id| *id > tried).count())
    }

    /// Our estimate of the request's size if a summary replaced the first items, in tokens.
    pub fn estimate_behind(&self, cut: usize, summary: &str) -> usize {
        let left: usize =
            history::shown(&self.items[cut..], &self.masks, &self.begun).iter().map(tokens::of_message).sum();
        self.base.0 + self.base.1 + tokens::of_message(&Message::user(summary)) + left
    }

    /// The approximate tokens of the system prompt and of the tools.
    pub fn base(&self) -> (usize, usize) {
        self.base
    }

    /// The items after the summary.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The line that replaces an item.
    pub fn mask_of(&self, item: ItemId) -> Option<&Mask> {
        self.masks.get(&item)
    }

    /// The summary of everything before the items.
    pub fn summary(&self) -> Option<&str> {
        self.compaction.as_ref().map(|compaction| compaction.summary.as_str())
    }

    /// A turn's last answer, unless the conversation continues with something that is not a result of it.
    pub fn last_answer(&self, turn: TurnId) -> Option<LastAnswer<'_>> {
        let mut results: Vec<&str> = Vec::new();
        for item in self.items.iter().rev().take_while(|item| item.turn == turn) {
            match &item.message {
                Message::Tool(result) => results.push(&result.call_id),
                Message::User(_) => return None,
                Message::Assistant(answer) => {
                    let open = history::open_calls(answer, results);
                    return Some(LastAnswer { item: item.id, answer, open });
                }
            }
        }
        None
    }

    /// True if it is on record that a call of a turn was about to take effect.
    pub fn has_begun(&self, turn: TurnId, call_id: &str) -> bool {
        self.begun.contains(&BegunCall { turn, call_id: call_id.to_owned() })
    }

    /// The id of the last item; 0 if there is none.
    pub fn last_item(&self) -> ItemId {
        let last = self.items.last().map(|item| item.id);
        last.or(self.compaction.as_ref().map(|compaction| compaction.last_item)).unwrap_or(ItemId(0))
    }

    /// The same request with different messages, for a summary.
    pub fn request_of(&self, messages: Vec<Message>) -> Request {
        let Request { model, tools, system, max_tokens, thinking_tokens, .. } = &self.request;
        Request {
            model: model.clone(),
            tools: tools.clone(),
            system: system.clone(),
            messages: messages.into_iter().map(Arc::new).collect(),
            reminder: None,
            max_tokens: *max_tokens,
            thinking_tokens: *thinking_tokens,
        }
    }

    /// The items before `cut` as the model sees them: the beginning of the request's messages, byte for byte.
    pub fn shown_before(&self, cut: usize) -> Vec<Message> {
        self.shown(&self.items[..cut])
    }
}

#[cfg(test)]
pub(super) mod tests {
    use llm::{Assistant, ToolCall, ToolResult};
    use records::TurnItem;

    use super::*;

    /// A conversation of these messages, with ids from 1, all in one turn.
    pub(crate) fn of(window_tokens: u32, messages: &[Message]) -> Conversation {
        Conversation::new(request(), "", window_tokens, stored(messages))
    }

    /// The messages that its model sees.
    pub(crate) fn messages_of(conversation: &Conversation) -> Vec<Message> {
        conversation.request().messages.iter().map(|message| (**message).clone()).collect()
    }

    pub(crate) fn stored(messages: &[Message]) -> StoredContext {
        let items = (1..).zip(messages).map(|(id, message)| TurnItem {
            id: ItemId(id),
            turn: TurnId(1),
            item_json: history::to_json(message),
            is_journaled: true,
        });
        StoredContext { items: items.collect(), ..StoredContext::default() }
    }

    pub(crate) fn request() -> Request {
        Request {
            model: "m".to_owned(),
            tools: Vec::new(),
            system: Vec::new(),
            messages: Vec::new(),
            reminder: None,
            max_tokens: 1,
            thinking_tokens: None,
        }
    }

    /// An answer that calls a tool with these paths; each call's id is its path.
    pub(crate) fn reads(paths: &[&str]) -> Message {
        let call = |path: &&str| ToolCall {
            id: (*path).to_owned(),
            name: "Read".to_owned(),
            arguments: serde_json::json!({"path": path}).to_string(),
        };
        Message::Assistant(Assistant { tool_calls: paths.iter().map(call).collect(), ..Assistant::default() })
    }

    pub(crate) fn result(path: &str, text: &str) -> Message {
        Message::Tool(ToolResult { call_id: path.to_owned(), content: vec![text.into()], is_error: false })
    }

    fn said(text: &str) -> Message {
        Message::Assistant(Assistant { text: text.to_owned(), ..Assistant::default() })
    }

    #[test]
    fn tokens_are_what_was_counted_and_an_estimate_of_what_came_since() {
        let mut conversation = of(1_000, &[Message::user("x".repeat(400))]);
        let first = conversation.estimate();
        assert_eq!(conversation.tokens(), first, "nothing was counted yet");
        let count = conversation.count_of(300);
        assert_eq!((count.tokens, count.estimate), (300, first as i64));
        conversation.counted(count);
        assert_eq!(conversation.tokens(), 300);
        conversation.push(ItemId(2), TurnId(1), said(&"y".repeat(40)));
        let added = conversation.estimate() - first;
        assert_eq!(conversation.tokens(), 300 + added);
        // The removed part is counted by the same factor.
        assert_eq!(conversation.tokens_at(first / 2), 300 * (first / 2) / first);
        // A provider that does not count changes nothing.
        assert_eq!(conversation.count_of(0).tokens, 300 + added as i64);
    }

    #[test]
    fn what_is_pushed_and_what_is_loaded_are_the_same_messages() {
        let messages =
            [Message::user("a"), reads(&["1", "2"]), result("1", "x"), result("2", "y"), said("done")];
        let mut grown = of(1_000, &messages[..1]);
        for (id, message) in (2..).zip(&messages[1..]) {
            grown.push(ItemId(id), TurnId(1), message.clone());
        }
        let loaded = of(1_000, &messages);
        assert_eq!(grown.request(), loaded.request());
        assert_eq!((grown.estimate(), grown.items()), (loaded.estimate(), loaded.items()));
    }

    #[test]
    fn a_summary_stands_for_what_was_before_it_and_rounds_count_from_it() {
        let messages = [Message::user("a"), said("b"), Message::user("c"), said("d")];
        let mut conversation = of(1_000, &messages);
        assert_eq!(conversation.rounds_since_compaction(), None);
        let compaction =
            Compaction { up_to_item: ItemId(2), last_item: ItemId(3), summary: "short".to_owned() };
        conversation.compact(compaction.clone());
        let expected = [Message::user("short"), messages[2].clone(), messages[3].clone()];
        assert_eq!(messages_of(&conversation), expected);
        assert_eq!(conversation.rounds_since_compaction(), Some(1));
        let stored = StoredContext {
            items: stored(&messages).items.split_off(2),
            compaction_tried_at: compaction.last_item,
            compaction: Some(compaction),
            ..StoredContext::default()
        };
        let loaded = Conversation::new(request(), "", 1_000, stored);
        assert_eq!(loaded.request(), conversation.request(), "and are the same bytes after a restart");
        conversation.compaction_failed();
        assert_eq!(conversation.rounds_since_compaction(), Some(0));
    }

    #[test]
    fn edits_take_the_place_of_items_or_take_them_away() {
        let mut stored = stored(&[Message::user("a"), Message::user("b"), Message::user("c")]);
        let edit = |item, json: Option<Message>| ContextEdit {
            item: ItemId(item),
            item_json: json.map(|message| history::to_json(&message)),
        };
        stored.edits = vec![edit(1, None), edit(3, Some(Message::user("z")))];
        let conversation = Conversation::new(request(), "", 1_000, stored);
        assert_eq!(messages_of(&conversation), [Message::user("b"), Message::user("z")]);
    }
}
