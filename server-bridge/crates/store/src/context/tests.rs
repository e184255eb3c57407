use super::*;
use crate::TurnUsage;
use crate::testing;
use crate::{MessageId, MessageRole, Name, OffloadedRead};

struct World {
    store: Store,
    user: UserId,
    chat: ChatId,
    message: MessageId,
}

fn spent() -> Spent<'static> {
    Spent { subscription: "server", model: "m", usage: TurnUsage::default() }
}

impl World {
    async fn new() -> Self {
        let store = testing::empty().await;
        let user = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap().id;
        let chat = store.create_chat(user).await.unwrap().id;
        let message = store.append_message(user, &chat, MessageRole::Assistant, "", None).await.unwrap().id;
        Self { store, user, chat, message }
    }

    /// Adds a turn with these items; returns their ids.
    async fn turn(&self, items: &[&str]) -> (TurnId, Vec<ItemId>) {
        let turn = self.store.queue_turn(self.user, &self.chat, None, self.message, items[0]).await.unwrap();
        self.store.begin_turn(turn, "m").await.unwrap();
        for item in &items[1..] {
            self.store.append_turn_item(turn, item).await.unwrap();
        }
        let context = self.context(turn).await;
        (turn, context.items.iter().filter(|item| item.turn == turn).map(|item| item.id).collect())
    }

    async fn context(&self, up_to: TurnId) -> StoredContext {
        self.store.stored_context(self.user, &self.chat, up_to).await.unwrap()
    }

    async fn mask(&self, number: i64, item: ItemId, size_chars: i64) {
        let placeholder = format!("mask {number}");
        let mask = Mask { id: format!("mk_{number}"), item, placeholder, size_chars };
        self.store.add_masks(&self.chat, &[mask]).await.unwrap();
    }

    async fn is_forgotten(&self, number: i64) -> Option<bool> {
        let id = format!("mk_{number}");
        self.store.masked_item(self.user, &self.chat, &id).await.unwrap().map(|item| item.is_forgotten)
    }

    async fn compact(&self, up_to_item: ItemId, summary: &str, named: &[&str], forgotten: &[&str]) {
        let compaction = Compaction { up_to_item, last_item: up_to_item, summary: summary.to_owned() };
        let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        let (named_masks, forgotten_offloads) = (owned(named), owned(forgotten));
        let new =
            NewCompaction { compaction, tokens_before: 9, tokens_after: 1, named_masks, forgotten_offloads };
        self.store.add_compaction(&self.chat, &new).await.unwrap();
    }
}

fn texts(context: &StoredContext) -> Vec<&str> {
    context.items.iter().map(|item| item.item_json.as_str()).collect()
}

#[tokio::test]
async fn a_compaction_counts_while_its_last_item_is_there_and_else_the_one_before_it() {
    let world = World::new().await;
    let (first, items) = world.turn(&["a", "b", "c"]).await;
    let (second, later) = world.turn(&["d", "e"]).await;
    world.compact(items[1], "one", &[], &[]).await;
    world.compact(later[0], "two", &[], &[]).await;
    let context = world.context(second).await;
    assert_eq!(
        (context.compaction.unwrap().summary.as_str(), context.compaction_tried_at),
        ("two", later[0])
    );
    assert_eq!(context.items.len(), 1);
    // The context up to a turn before the second one.
    let context = world.context(first).await;
    assert_eq!(context.compaction.clone().unwrap().summary, "one");
    assert_eq!(texts(&context), ["c"]);
    world.store.add_void_compaction(&world.chat, later[1]).await.unwrap();
    let context = world.context(second).await;
    assert_eq!(
        (context.compaction.unwrap().summary.as_str(), context.compaction_tried_at),
        ("two", later[1])
    );
}

#[tokio::test]
async fn a_try_that_was_taken_back_is_none() {
    let world = World::new().await;
    let (_, items) = world.turn(&["a", "b"]).await;
    world.compact(items[0], "one", &[], &[]).await;
    let (second, later) = world.turn(&["c", "d"]).await;
    let tried = async || world.context(second).await.compaction_tried_at;
    world.store.add_void_compaction(&world.chat, later[1]).await.unwrap();
    assert_eq!(tried().await, later[1]);
    world.store.take_back(world.user, &world.chat, &[second]).await.unwrap();
    assert_eq!(tried().await, items[0]);
}

#[tokio::test]
async fn masks_are_forgotten_beyond_200() {
    let world = World::new().await;
    let (_, items) = world.turn(&["x"; 202]).await;
    for (number, item) in (0..200).zip(&items) {
        world.mask(number, *item, 1).await;
    }
    assert_eq!((world.is_forgotten(0).await, world.is_forgotten(-1).await), (Some(false), None));
    world.mask(200, items[200], 1).await;
    assert_eq!((world.is_forgotten(0).await, world.is_forgotten(1).await), (Some(true), Some(false)));
    // The line stays unchanged, and so does the prompt.
    let context = world.context(TurnId(i64::MAX)).await;
    assert_eq!((context.masks.len(), context.masks[0].placeholder.as_str()), (201, "mask 0"));
}

#[tokio::test]
async fn masks_are_forgotten_beyond_two_million_characters_and_those_a_summary_names_last() {
    let world = World::new().await;
    let (_, items) = world.turn(&["x"; 6]).await;
    world.mask(0, items[0], 1_000_000).await;
    world.mask(1, items[1], 1_000_000).await;
    assert_eq!(world.is_forgotten(0).await, Some(false));
    world.compact(items[0], "names mk_0", &["mk_0"], &[]).await;
    world.mask(2, items[2], 1).await;
    let forgotten = [world.is_forgotten(0).await, world.is_forgotten(1).await, world.is_forgotten(2).await];
    assert_eq!(forgotten, [Some(false), Some(true), Some(false)]);
}

#[tokio::test]
async fn a_compaction_forgets_what_it_does_not_name() {
    let world = World::new().await;
    let (turn, items) = world.turn(&["a", "b", "c"]).await;
    for (number, item) in (0..3).zip(&items) {
        world.mask(number, *item, 1).await;
    }
    for id in ["ol_0", "ol_1"] {
        world.store.put_offload(world.user, &world.chat, id, "long", None).await.unwrap();
    }
    world.compact(items[1], "mk_0 and ol_1 matter", &["mk_0"], &["ol_0"]).await;
    let there = [world.is_forgotten(0).await, world.is_forgotten(1).await, world.is_forgotten(2).await];
    assert_eq!(there, [Some(false), None, Some(false)]);
    let offload = async |id| world.store.offload(world.user, &world.chat, id).await.unwrap().is_some();
    assert_eq!((offload("ol_0").await, offload("ol_1").await), (false, true));
    let ids: Vec<String> = world.context(turn).await.masks.into_iter().map(|mask| mask.id).collect();
    assert_eq!(ids, ["mk_2"]);
}

#[tokio::test]
async fn an_edit_counts_while_its_turn_does_and_the_latest_one_wins() {
    let world = World::new().await;
    let (first, items) = world.turn(&["a", "b"]).await;
    let (second, _) = world.turn(&["c"]).await;
    let edit = |text: Option<&str>| ContextEdit { item: items[1], item_json: text.map(str::to_owned) };
    world.store.edit_context(first, &[edit(Some("1"))]).await.unwrap();
    world.store.edit_context(second, &[edit(Some("x"))]).await.unwrap();
    world.store.edit_context(second, &[edit(None)]).await.unwrap();
    assert_eq!(world.context(second).await.edits, [edit(None)]);
    assert_eq!(world.context(first).await.edits, [edit(Some("1"))]);
}

#[tokio::test]
async fn what_a_request_took_is_known_while_its_answer_is_there() {
    let world = World::new().await;
    let (first, _) = world.turn(&["a"]).await;
    assert_eq!(world.context(first).await.count, None);
    let count = |tokens| PromptCount {
        tokens,
        estimate: 2,
        system_estimate: 1,
        tools_estimate: 1,
        documents_json: r#"[["AGENTS.md",1]]"#.to_owned(),
    };
    world.store.append_answer(first, "b", spent(), count(5)).await.unwrap();
    assert_eq!(world.context(first).await.count, Some(count(5)));
    let (second, _) = world.turn(&["c"]).await;
    world.store.append_answer(second, "d", spent(), count(7)).await.unwrap();
    assert_eq!(world.context(second).await.count, Some(count(7)));
    assert_eq!(
        world.context(first).await.count,
        None,
        "the answer that it was counted for is not visible from there"
    );
    assert_eq!(world.store.last_begun_turn(world.user, &world.chat).await.unwrap(), Some(second));
    world.store.delete_chat(world.user, &world.chat).await.unwrap();
}

#[tokio::test]
async fn a_file_that_was_put_aside_is_fresh_until_it_changes_and_stale_until_it_is_read_again() {
    let world = World::new().await;
    let read = |number: i64| OffloadedRead {
        offload_id: format!("ol_{number}"),
        reader: world.chat.clone(),
        place: "laptop".to_owned(),
        path: "a.rs".to_owned(),
        hash: "00".to_owned(),
        size_bytes: 1,
        modified_ms: number,
    };
    let (user, chat) = (world.user, &world.chat);
    for number in 0..2 {
        let read = read(number);
        world.store.put_offload(user, chat, &read.offload_id, "text", Some(&read)).await.unwrap();
    }
    assert_eq!(world.store.fresh_reads(chat, chat, "laptop").await.unwrap(), [read(1), read(0)]);
    assert!(world.store.fresh_reads(chat, chat, "other").await.unwrap().is_empty());
    world.store.mark_stale(chat, "ol_0").await.unwrap();
    world.store.mark_seen(chat, "ol_1", 9).await.unwrap();
    assert_eq!(world.store.fresh_reads(chat, chat, "laptop").await.unwrap()[0].modified_ms, 9);
    assert_eq!(world.store.stale_reads(chat, chat).await.unwrap(), [read(0)]);
    let is_stale = async |id| world.store.offload(user, chat, id).await.unwrap().unwrap().is_stale;
    assert!(is_stale("ol_0").await && !is_stale("ol_1").await);
    // If a sub-agent reads it again, its parent's model has still not seen the change.
    world.store.mark_read_again(chat, &ChatId::random(), "laptop", "a.rs").await.unwrap();
    assert_eq!(world.store.stale_reads(chat, chat).await.unwrap(), [read(0)]);
    world.store.mark_read_again(chat, chat, "laptop", "a.rs").await.unwrap();
    assert!(world.store.stale_reads(chat, chat).await.unwrap().is_empty() && is_stale("ol_0").await);
    world.store.delete_chat(user, chat).await.unwrap();
}
