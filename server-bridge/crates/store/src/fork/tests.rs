use std::collections::BTreeSet;

use super::belongings::{BELONGINGS, Belonging, Fate};
use super::*;
use crate::batches::batches;
use crate::limits::{FORK_BATCH_BYTES, FORK_BATCH_ROWS};
use crate::sql::query_scalar;
use crate::testing;
use crate::*;

/// Columns that name a row's owner.
const OWNERS: [&str; 5] = ["chat_id", "turn_id", "item_id", "message_id", "copy_id"];

async fn columns(store: &Store, table: &str) -> Vec<String> {
    query_scalar("SELECT name FROM pragma_table_info($1)")
        .bind(table)
        .fetch_all(store.database.reader())
        .await
        .unwrap()
}

#[tokio::test]
async fn every_table_and_column_of_a_conversation_is_copied_or_named_as_not_copied() {
    let store = Store::open_in_memory().await.unwrap();
    let tables: Vec<String> =
        query_scalar("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            .fetch_all(store.database.reader())
            .await
            .unwrap();
    let mut owned = BTreeSet::from(["chats".to_owned()]);
    for table in tables {
        let names = columns(&store, &table).await;
        let keys: Vec<String> = query_scalar("SELECT \"table\" FROM pragma_foreign_key_list($1)")
            .bind(&table)
            .fetch_all(store.database.reader())
            .await
            .unwrap();
        let leads = keys.iter().any(|to| ["chats", "turns", "turn_items", "messages"].contains(&to.as_str()));
        if leads || names.iter().any(|name| OWNERS.contains(&name.as_str())) {
            owned.insert(table);
        }
    }
    let named: BTreeSet<String> = BELONGINGS.iter().map(|belonging| belonging.table.to_owned()).collect();
    assert_eq!(owned, named, "list every table in `belongings`");
    for Belonging { table, fate } in BELONGINGS {
        match fate {
            Fate::Stays(why) => assert!(!why.is_empty()),
            Fate::Copied { columns: copied, anew, .. } => {
                let said: BTreeSet<&str> =
                    copied.iter().map(|(name, _)| *name).chain(anew.iter().copied()).collect();
                let known = columns(&store, table).await;
                let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
                assert_eq!(said, known, "list every column of {table} in `belongings`");
            }
        }
    }
}

#[test]
fn a_batch_is_bounded_by_its_rows_and_their_size_and_nothing_is_left_out() {
    let rows = |sizes: &[i64]| {
        sizes.iter().map(|size_bytes| Row { id: 0, size_bytes: *size_bytes }).collect::<Vec<_>>()
    };
    let lengths = |sizes: &[i64]| batches(&rows(sizes)).map(<[_]>::len).collect::<Vec<_>>();
    assert_eq!(lengths(&[]), [0; 0]);
    assert_eq!(lengths(&vec![0; 2 * FORK_BATCH_ROWS + 1]), [FORK_BATCH_ROWS, FORK_BATCH_ROWS, 1]);
    assert_eq!(
        lengths(&[FORK_BATCH_BYTES, 1, 2, FORK_BATCH_BYTES * 3, FORK_BATCH_BYTES - 1, 1]),
        [1, 2, 1, 2]
    );
}

async fn world() -> (Store, UserId, ChatId) {
    let store = testing::empty().await;
    let user = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap().id;
    let chat = store.create_chat(user).await.unwrap().id;
    (store, user, chat)
}

/// A turn that has begun, with one item.
async fn begin(store: &Store, user: UserId, chat: &ChatId, root: Option<TurnId>, text: &str) -> TurnId {
    let turn = match root {
        Some(root) => {
            let card = store.sub_agent(user, chat).await.unwrap().unwrap().message.unwrap();
            let new = NewDelegation {
                chat,
                card,
                root,
                text,
                document_json: "{}",
                item_json: text,
                background: None,
            };
            store.queue_delegated_turn(user, new).await.unwrap().unwrap().2
        }
        None => {
            let said = store.append_message(user, chat, MessageRole::User, text, None).await.unwrap().id;
            let shown =
                store.append_message(user, chat, MessageRole::Assistant, "", Some("{}")).await.unwrap();
            store.queue_turn(user, chat, Some(said), shown.id, text).await.unwrap()
        }
    };
    assert!(store.begin_turn(turn, "m").await.unwrap());
    turn
}

async fn end(store: &Store, turn: TurnId) -> ItemId {
    let count = PromptCount { tokens: 7, ..PromptCount::default() };
    let spent = Spent { subscription: "server", model: "m", usage: TurnUsage::default() };
    let item = store.append_answer(turn, &format!("answer of {turn}"), spent, count).await.unwrap();
    store.finish_turn(turn, TurnStatus::Done, None).await.unwrap();
    item
}

fn to_do(content: &str) -> Vec<Todo> {
    vec![Todo { content: content.to_owned(), status: TodoStatus::Pending }]
}

/// The context of a model, without ids that differ in a copy.
async fn context(store: &Store, user: UserId, chat: &ChatId) -> String {
    let found = store.stored_context(user, chat, TurnId(i64::MAX)).await.unwrap();
    let StoredContext { compaction, items, compaction_tried_at, masks, edits, begun, count } = found;
    let place = |id: ItemId| items.iter().position(|item| item.id == id);
    let items_said: Vec<&str> = items.iter().map(|item| item.item_json.as_str()).collect();
    let masks: Vec<_> = masks.iter().map(|mask| (&mask.id, place(mask.item), &mask.placeholder)).collect();
    let edits: Vec<_> = edits.iter().map(|edit| (place(edit.item), &edit.item_json)).collect();
    let begun: Vec<_> = begun.iter().map(|call| &call.call_id).collect();
    let journaled = items.iter().filter(|item| item.is_journaled).count();
    let summary = compaction.map(|compaction| compaction.summary);
    format!(
        "{summary:?} {items_said:?} {:?} {masks:?} {edits:?} {begun:?} {journaled} {count:?}",
        place(compaction_tried_at)
    )
}

#[tokio::test]
async fn a_fork_shows_its_model_what_the_original_does() {
    let (store, user, chat) = world().await;
    let first = begin(&store, user, &chat, None, "one").await;
    let told = end(&store, first).await;
    let second = begin(&store, user, &chat, None, "two").await;
    store.begin_call(second, "call_1", None).await.unwrap();
    store.put_offload(user, &chat, "ol_1", "long", None).await.unwrap();
    let read = OffloadedRead {
        offload_id: "ol_2".to_owned(),
        reader: chat.clone(),
        place: "laptop".to_owned(),
        path: "a.rs".to_owned(),
        hash: "00".to_owned(),
        size_bytes: 4,
        modified_ms: 5,
    };
    store.put_offload(user, &chat, "ol_2", "a file", Some(&read)).await.unwrap();
    store.mark_stale(&chat, "ol_2").await.unwrap();
    let items = store.stored_context(user, &chat, second).await.unwrap().items;
    let edit = ContextEdit { item: items[2].id, item_json: Some("two, edited".to_owned()) };
    store.edit_context(second, &[edit]).await.unwrap();
    let last = store.append_turn_item(second, "result").await.unwrap();
    let mask = Mask { id: "mask_1".to_owned(), item: last, placeholder: "a line".to_owned(), size_chars: 6 };
    store.add_masks(&chat, &[mask]).await.unwrap();
    let compaction = Compaction { up_to_item: told, last_item: last, summary: "a summary".to_owned() };
    let (named_masks, forgotten_offloads) = (vec!["mask_1".to_owned()], Vec::new());
    let new =
        NewCompaction { compaction, tokens_before: 9, tokens_after: 1, named_masks, forgotten_offloads };
    store.add_compaction(&chat, &new).await.unwrap();
    store.set_todos(user, &chat, &to_do("look")).await.unwrap();
    end(&store, second).await;
    store.set_chat_model(user, &chat, Some("mine/swift")).await.unwrap();
    assert_eq!(store.chat_memory(user, &chat, "told").await.unwrap(), "told");

    let fork = store.fork_chat(user, &chat, None).await.unwrap().id;
    let shown = context(&store, user, &chat).await;
    assert!(shown.contains("a summary") && shown.contains("a line") && shown.contains("edited"), "{shown}");
    assert_eq!(context(&store, user, &fork).await, shown);
    assert_eq!(
        store.stale_reads(&fork, &fork).await.unwrap(),
        [OffloadedRead { reader: fork.clone(), ..read }]
    );
    assert_eq!(store.masked_item(user, &fork, "mask_1").await.unwrap().unwrap().item_json, "result");
    assert_eq!(store.todos(user, &fork).await.unwrap(), to_do("look"));
    assert_eq!(store.chat_model(user, &fork).await.unwrap().as_deref(), Some("mine/swift"));
    assert_eq!(store.chat_memory(user, &fork, "other").await.unwrap(), "told");
    // Without the second turn, nothing is edited, masked or on the task list; the summary is still that of the first turn.
    let part = store.fork_chat(user, &chat, Some(first)).await.unwrap().id;
    assert_eq!(context(&store, user, &part).await, "Some(\"a summary\") [] None [] [] [] 0 None");
    assert_eq!(store.todos(user, &part).await.unwrap(), []);
    let left: i64 =
        query_scalar("SELECT COUNT(*) FROM copied_rows").fetch_one(store.database.reader()).await.unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_forks_named_sub_agents_know_what_they_knew() {
    let (store, user, chat) = world().await;
    let called = async |parent: &ChatId, root: TurnId, instance: Option<&str>| {
        let document = "{\"sub_agent\":{\"chat_id\":\"CHAT\"}}";
        let card = store.append_turn_message(user, parent, root, MessageRole::Assistant, "", Some(document));
        let message = card.await.unwrap().id;
        let new =
            NewSubAgent { parent, message, role: Some("looker"), instance, place: None, tools_json: "[]" };
        let agent = store.create_sub_agent(user, new).await.unwrap();
        let document = document.replace("CHAT", agent.chat.as_str());
        store.update_message(user, message, "", Some(&document)).await.unwrap();
        agent.chat
    };
    let first = begin(&store, user, &chat, None, "one").await;
    let child = called(&chat, first, Some("x")).await;
    let below = called(&child, first, Some("y")).await;
    let once = called(&chat, first, None).await;
    for agent in [&child, &below, &once] {
        end(&store, begin(&store, user, agent, Some(first), "task").await).await;
    }
    let read = OffloadedRead {
        offload_id: "ol_1".to_owned(),
        reader: child.clone(),
        place: "laptop".to_owned(),
        path: "a.rs".to_owned(),
        hash: "00".to_owned(),
        size_bytes: 4,
        modified_ms: 5,
    };
    store.put_offload(user, &chat, "ol_1", "long", Some(&read)).await.unwrap();
    end(&store, first).await;
    let second = begin(&store, user, &chat, None, "two").await;
    end(&store, begin(&store, user, &child, Some(second), "again").await).await;
    let later = called(&chat, second, Some("z")).await;
    end(&store, begin(&store, user, &later, Some(second), "task").await).await;
    end(&store, second).await;

    let known =
        async |parent: &ChatId, name: &str| store.sub_agent_called(user, parent, name, 0).await.unwrap();
    let fork = store.fork_chat(user, &chat, None).await.unwrap().id;
    let copy = known(&fork, "x").await.unwrap();
    assert_ne!(copy.chat, child);
    assert_eq!(context(&store, user, &copy.chat).await, context(&store, user, &child).await);
    assert_eq!((copy.role.as_deref(), copy.title.as_str()), (Some("looker"), "task"));
    let card = store.message(user, copy.message.unwrap()).await.unwrap();
    assert!(
        card.chat == fork && card.document_json.unwrap().contains(copy.chat.as_str()),
        "the card links to the copy"
    );
    assert_eq!(
        store.fresh_reads(&fork, &copy.chat, "laptop").await.unwrap().len(),
        1,
        "the copy is notified of changes"
    );
    let deep = known(&copy.chat, "y").await.unwrap();
    assert_eq!(context(&store, user, &deep.chat).await, context(&store, user, &below).await);
    assert_eq!(
        store.sub_agents(user, &fork).await.unwrap().len(),
        2,
        "a sub-agent without a name is never called again"
    );
    // The copied sub-agents have no items from turns that are left out.
    let part = store.fork_chat(user, &chat, Some(first)).await.unwrap().id;
    let items = async |chat: &ChatId| store.turn_items(user, chat, TurnId(i64::MAX)).await.unwrap().len();
    assert_eq!((items(&known(&part, "x").await.unwrap().chat).await, items(&child).await), (2, 4));
    assert!(known(&part, "z").await.is_none() && known(&fork, "z").await.is_some());
}

#[tokio::test]
async fn nobody_sees_a_fork_before_it_is_whole_and_one_that_is_cut_off_is_removed() {
    let (store, user, chat) = world().await;
    end(&store, begin(&store, user, &chat, None, "needle").await).await;
    let plans = store.plan_fork(&chat, TurnId(i64::MAX)).await.unwrap();
    let fork = ChatId::random();
    let mut copies = Copies { user, fork: fork.clone(), chats: Vec::new(), turns: HashMap::new() };
    copies.chats.push(store.begin_copy(&plans[0], &copies, "copy").await.unwrap());
    store.copy_turns(&plans[0], &mut copies, &fork).await.unwrap();
    store.copy_messages(&plans[0], &copies, &fork).await.unwrap();
    let chats = async || store.chats(user, 10).await.unwrap().len();
    let found = async || {
        let (words, until_ms) = (&["needle"][..], i64::MAX);
        let wanted = MessageSearch { words, chat: None, from_ms: 0, until_ms, before: None, limit: 9 };
        store.search_messages(user, &wanted).await.unwrap().len()
    };
    assert_eq!((chats().await, found().await), (1, 1));
    assert!(matches!(store.chat(user, &fork).await, Err(Error::NotFound { .. })));
    let copied: MessageId =
        query_scalar("SELECT MAX(id) FROM messages").fetch_one(store.database.reader()).await.unwrap();
    assert!(matches!(store.message(user, copied).await, Err(Error::NotFound { .. })));
    assert_eq!(store.remove_unfinished_forks(None).await.unwrap(), 1);
    assert_eq!(store.remove_unfinished_forks(None).await.unwrap(), 0);
    let left: i64 = query_scalar("SELECT (SELECT COUNT(*) FROM copied_rows) + (SELECT COUNT(*) FROM turns) + (SELECT COUNT(*) FROM messages)")
        .fetch_one(store.database.reader())
        .await
        .unwrap();
    assert_eq!(left, 3, "the original's turn and its messages");
}

#[tokio::test]
async fn a_fork_of_what_is_deleted_meanwhile_leaves_nothing() {
    let (store, user, chat) = world().await;
    end(&store, begin(&store, user, &chat, None, "one").await).await;
    let plans = store.plan_fork(&chat, TurnId(i64::MAX)).await.unwrap();
    store.delete_chat(user, &chat).await.unwrap();
    let mut copies = Copies { user, fork: ChatId::random(), chats: Vec::new(), turns: HashMap::new() };
    assert!(matches!(store.copy_all(&plans, &mut copies, "copy").await, Err(Error::NotFound { .. })));
    assert!(matches!(store.fork_chat(user, &chat, None).await, Err(Error::NotFound { .. })));
}
