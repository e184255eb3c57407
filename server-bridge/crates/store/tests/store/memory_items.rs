//! Memories of users.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions};
use store::limits::{
    MEMORY_ENDED_PER_USER, MEMORY_ITEMS_PER_USER, MEMORY_PROPOSALS_PER_USER, MEMORY_TEXT_MAX_BYTES,
};
use store::{
    AgentDraft, ChatId, Compaction, ContextEdit, Error, Mask, MemoryChange, MemoryHolder, MemoryItem,
    MemoryKind, MemorySource, MessageRole, MessageSearch, NewCompaction, NewMemory, Store, TurnStatus,
    UserId, memory_mark,
};

use crate::support::{MEMORY, add_user, store};

fn to(text: &str) -> MemoryChange<'_> {
    MemoryChange { name: None, text: Some(text), valid_to_ms: None, by: MemorySource::Person }
}

#[tokio::test]
async fn memories_are_added_changed_superseded_and_forgotten_and_are_private_to_their_user() {
    let (store, clock) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    let chat = store.create_chat(ann).await.unwrap().id;
    let item = store.add_memory(ann, &NewMemory { chat: Some(&chat), ..MEMORY }).await.unwrap();
    assert_eq!((item.revision, item.source_chat.as_ref()), (1, Some(&chat)));
    clock.advance(5);
    let changed = store.change_memory(ann, item.id, &to("likes spaces")).await.unwrap();
    assert_eq!((changed.revision, changed.text.as_str()), (2, "likes spaces"));
    assert_eq!(store.change_memory(ann, item.id, &to("likes spaces")).await.unwrap().revision, 2);
    let history = store.memory_revisions(ann, item.id).await.unwrap();
    assert_eq!(
        (history.len(), history[0].text.as_str(), history[0].replaced_by),
        (1, "likes tabs", MemorySource::Person)
    );
    let later = store.add_memory(ann, &NewMemory { text: "likes both", ..MEMORY }).await.unwrap();
    store.supersede_memories(ann, &[item.id], later.id).await.unwrap();
    let item = store.memory_item(ann, item.id).await.unwrap();
    assert_eq!((item.superseded_by, item.valid_to_ms.is_some()), (Some(later.id), true));
    assert!(store.memory_items(bob).await.unwrap().is_empty());
    for missing in [
        store.memory_item(bob, item.id).await.map(drop),
        store.memory_revisions(bob, item.id).await.map(drop),
        store.change_memory(bob, item.id, &to("x")).await.map(drop),
        store.accept_memory(bob, item.id).await.map(drop),
        store.supersede_memories(bob, &[item.id], later.id).await,
    ] {
        assert!(matches!(missing, Err(Error::NotFound { .. })));
    }
    assert_eq!(store.forget_memories(bob, &[item.id]).await.unwrap(), 0);
    store.chat_memory(ann, &chat, "told").await.unwrap();
    assert_eq!(store.forget_memories(ann, &[item.id, later.id, 99]).await.unwrap(), 2);
    assert_eq!(store.chat_memory(ann, &chat, "anew").await.unwrap(), "anew");
    store.delete_chat(ann, &chat).await.unwrap();
}

#[tokio::test]
async fn an_accepted_proposal_becomes_an_item_or_changes_the_one_that_it_names() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let item = store.add_memory(ann, &MEMORY).await.unwrap();
    let proposed = NewMemory { is_proposed: true, source: MemorySource::Model, text: "uses vim", ..MEMORY };
    let (one, other) = (
        store.add_memory(ann, &proposed).await.unwrap(),
        store.add_memory(ann, &NewMemory { replaces: Some(item.id), ..proposed.clone() }).await.unwrap(),
    );
    assert!(!store.accept_memory(ann, one.id).await.unwrap().is_proposed);
    assert!(matches!(store.accept_memory(ann, one.id).await, Err(Error::NotFound { .. })));
    let changed = store.accept_memory(ann, other.id).await.unwrap();
    assert_eq!((changed.id, changed.text.as_str(), changed.revision), (item.id, "uses vim", 2));
    assert_eq!(store.memory_items(ann).await.unwrap().len(), 2);
    store.add_memory(ann, &NewMemory { replaces: Some(item.id), ..proposed }).await.unwrap();
    store.forget_memories(ann, &[item.id]).await.unwrap();
    assert_eq!(store.memory_items(ann).await.unwrap().len(), 1, "the proposal to change it was deleted too");
}

#[tokio::test]
async fn what_a_memory_replaces_is_superseded_once_and_a_proposal_waits_for_its_user() {
    let (store, clock) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    let add = async |text, is_proposed, supersedes: &[i64]| {
        store.add_memory(ann, &NewMemory { text, is_proposed, supersedes, ..MEMORY }).await
    };
    let by = async |id| store.memory_item(ann, id).await.unwrap().superseded_by;
    let (rex, luna) =
        (add("dog Rex", false, &[]).await.unwrap().id, add("dog Luna", false, &[]).await.unwrap().id);
    let core = NewMemory { kind: MemoryKind::Core, name: "user", ..MEMORY };
    let core = store.add_memory(ann, &core).await.unwrap().id;
    let foreign = store.add_memory(bob, &MEMORY).await.unwrap().id;
    let proposal = add("dog Kira", true, &[rex, rex]).await.unwrap().id;
    clock.advance(5);
    // If one id is invalid, nothing is added or replaced.
    let thousand: Vec<i64> = (1..=1_000).collect();
    let before = store.memory_items(ann).await.unwrap();
    for ids in [&[rex, foreign][..], &[rex, 999], &[rex, -1], &[core], &[proposal], &thousand] {
        for is_proposed in [false, true] {
            let error = add("dog Bruno", is_proposed, ids).await.unwrap_err();
            assert!(matches!(error, Error::NotFound { .. } | Error::Invalid { .. }), "{ids:?}: {error}");
        }
    }
    assert_eq!(store.memory_items(ann).await.unwrap(), before);
    // A proposal replaces nothing until it is accepted.
    let waiting = store.memory_replacements(ann).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].item_id, waiting[0].replaces_id), (1, proposal, rex));
    assert_eq!((waiting[0].text.as_str(), by(rex).await), ("dog Rex", None));
    assert!(store.memory_replacements(bob).await.unwrap().is_empty());
    assert_eq!(store.accept_memory(ann, proposal).await.unwrap().id, proposal);
    assert_eq!((by(rex).await, by(proposal).await), (Some(proposal), None));
    assert!(store.memory_replacements(ann).await.unwrap().is_empty());
    // If a memory is already superseded, the error names the memory that superseded it.
    let late = add("dog Bruno", false, &[luna, rex]).await.unwrap_err().to_string();
    assert!(late.contains(&format!("already replaced by memory {proposal}")), "{late}");
    assert_eq!(by(luna).await, None);
    // A memory that another one replaced meanwhile stays as it is.
    let (one, other) =
        (add("dog A", true, &[luna]).await.unwrap().id, add("dog B", true, &[luna]).await.unwrap().id);
    for id in [one, other] {
        store.accept_memory(ann, id).await.unwrap();
    }
    assert_eq!((by(luna).await, by(other).await), (Some(one), None));
    // With a later end, or none, it applies again; with an end in the past it does not.
    let until = |valid_to_ms| MemoryChange { valid_to_ms: Some(valid_to_ms), text: None, ..to("") };
    let ended = store.change_memory(ann, luna, &until(Some(7))).await.unwrap();
    assert_eq!(ended.superseded_by, Some(one));
    let again = store.change_memory(ann, luna, &until(None)).await.unwrap();
    assert_eq!((again.superseded_by, again.valid_to_ms), (None, None));
    // A proposal to change the text of a superseded memory becomes a new memory; a proposal to replace a forgotten memory is deleted with it.
    let change = NewMemory { is_proposed: true, replaces: Some(rex), text: "dog Rex, a poodle", ..MEMORY };
    let change = store.add_memory(ann, &change).await.unwrap().id;
    let kept = store.accept_memory(ann, change).await.unwrap();
    assert_eq!((kept.id, kept.replaces_id, kept.superseded_by), (change, None, None));
    let gone = add("dog C", true, &[luna]).await.unwrap().id;
    store.forget_memories(ann, &[luna]).await.unwrap();
    assert!(store.memory_item(ann, gone).await.is_err());
}

#[tokio::test]
async fn empty_long_and_invisible_texts_are_refused() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let long = "x".repeat(MEMORY_TEXT_MAX_BYTES + 1);
    let name = "n".repeat(65);
    for new in [
        NewMemory { text: " ", ..MEMORY },
        NewMemory { text: &long, ..MEMORY },
        NewMemory { name: &name, ..MEMORY },
        NewMemory { text: "be\u{200b}nice", ..MEMORY },
        NewMemory { name: "a\u{e0041}", ..MEMORY },
    ] {
        assert!(matches!(store.add_memory(ann, &new).await, Err(Error::Invalid { .. })), "{new:?}");
    }
    let core = NewMemory { kind: MemoryKind::Core, name: "persona", ..MEMORY };
    store.add_memory(ann, &core).await.unwrap();
    assert!(matches!(store.add_memory(ann, &core).await, Err(Error::Taken { .. })));
    for (is_proposed, most) in [(false, MEMORY_ITEMS_PER_USER - 1), (true, MEMORY_PROPOSALS_PER_USER)] {
        for _ in 0..most {
            store.add_memory(ann, &NewMemory { is_proposed, ..MEMORY }).await.unwrap();
        }
        let more = store.add_memory(ann, &NewMemory { is_proposed, ..MEMORY }).await;
        assert!(matches!(more, Err(Error::Invalid { .. })));
    }
    let proposal = store.memory_items(ann).await.unwrap().into_iter().find(|item| item.is_proposed).unwrap();
    assert!(matches!(store.accept_memory(ann, proposal.id).await, Err(Error::Invalid { .. })));
}

/// All bytes of the database's file and its log.
fn bytes_of(path: &std::path::Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for suffix in ["", "-wal"] {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        bytes.extend(std::fs::read(file).unwrap_or_default());
    }
    bytes
}

fn count(bytes: &[u8], needle: &str) -> usize {
    bytes.windows(needle.len()).filter(|window| *window == needle.as_bytes()).count()
}

#[tokio::test]
async fn forgotten_and_deleted_texts_leave_no_trace_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open(&path).await.unwrap();
    let ann = add_user(&store, "ann").await.id;
    let (gone, stays) = (store.create_chat(ann).await.unwrap().id, store.create_chat(ann).await.unwrap().id);
    let mut ids = Vec::new();
    for number in 0..200 {
        let text = format!("secretfact{number}x and its earlier words");
        let item = store.add_memory(ann, &NewMemory { text: &text, ..MEMORY }).await.unwrap();
        store.change_memory(ann, item.id, &to(&format!("secretfact{number}x again"))).await.unwrap();
        store
            .append_message(ann, &gone, store::MessageRole::User, &format!("secretword{number}x"), None)
            .await
            .unwrap();
        store
            .append_message(ann, &stays, store::MessageRole::User, &format!("openword{number}x"), None)
            .await
            .unwrap();
        ids.push(item.id);
    }
    assert!(count(&bytes_of(&path), "secretfact") > 0);
    store.delete_chat(ann, &gone).await.unwrap();
    assert_eq!(store.forget_memories(ann, &ids).await.unwrap(), 200);
    store.forget_deleted().await.unwrap();
    let bytes = bytes_of(&path);
    assert_eq!((count(&bytes, "secretfact"), count(&bytes, "secretword")), (0, 0));
    assert!(count(&bytes, "openword") >= 200);
}

/// Records a memory in every place where a chat can show one: a note before a message, a tool's result, an edit of it, the line that masks it, a
/// summary, an offloaded result, its card, and a list that the user asked for.
async fn show(store: &Store, user: UserId, chat: &ChatId, item: &MemoryItem) {
    let text = &item.text;
    let line = format!("{} (from person): {text:?}", memory_mark(item.id, item.kind));
    let card = Some(r#"{"kind":"tool"}"#);
    let message = store.append_message(user, chat, MessageRole::Assistant, &line, card).await.unwrap().id;
    store.append_message(user, chat, MessageRole::Notice, &format!("Kept:\n{line}"), None).await.unwrap();
    let escaped = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', "\\n");
    // Items in the format of crate `agent`.
    let of_user = |text: &str| format!(r#"{{"user":[{{"text":"{}"}}]}}"#, escaped(text));
    let of_tool = |text: &str| format!(r#"{{"tool":{{"text":"{}"}}}}"#, escaped(text));
    let said = of_user("hello");
    let turn = store.queue_turn(user, chat, None, message, &said).await.unwrap();
    assert!(store.begin_turn(turn, "m").await.unwrap());
    let note = store.stored_context(user, chat, turn).await.unwrap().items.pop().unwrap().id;
    let noted = of_user(&format!("<context>\nMemories:\n{line}\n</context>\n\nhello"));
    store.amend_item(note, &noted).await.unwrap();
    let result = store.append_turn_item(turn, &of_tool(&format!("found:\n{line}\nend"))).await.unwrap();
    let edit = ContextEdit { item: result, item_json: Some(of_tool(&format!("shorter\n{line}"))) };
    store.edit_context(turn, &[edit]).await.unwrap();
    let aside = format!("ol_{}_{turn:?}", item.id);
    store.put_offload(user, chat, &aside, &format!("{line}\nand more"), None).await.unwrap();
    let last = store.append_turn_item(turn, r#"{"assistant":{"text":"done"}}"#).await.unwrap();
    let compaction = Compaction { up_to_item: note, last_item: note, summary: format!("They like:\n{line}") };
    let named_masks = vec![format!("mk_{}", last.0)];
    let summary = NewCompaction {
        compaction,
        tokens_before: 2,
        tokens_after: 1,
        named_masks,
        forgotten_offloads: vec![],
    };
    store.add_compaction(chat, &summary).await.unwrap();
    let mask = Mask {
        id: format!("mk_{}", result.0),
        item: result,
        placeholder: format!("1 line: {line}"),
        size_chars: 9,
    };
    store.add_masks(chat, &[mask]).await.unwrap();
    store.finish_turn(turn, TurnStatus::Done, None).await.unwrap();
}

#[tokio::test]
async fn what_a_chat_showed_of_a_forgotten_memory_is_gone_from_its_items_and_messages() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap().id;
    let mut ids = Vec::new();
    for text in ["secretfact", "openfact"] {
        let item = store.add_memory(ann, &NewMemory { text, ..MEMORY }).await.unwrap();
        show(&store, ann, &chat, &item).await;
        ids.push(item.id);
    }
    // Lists by people and models look the same.
    let list = format!("- #{}: \"it crashes\"\n- #{} core dumps", ids[0], ids[0]);
    for (role, document) in [(MessageRole::User, None), (MessageRole::Assistant, Some(r#"{"kind":"reply"}"#))]
    {
        store.append_message(ann, &chat, role, &list, document).await.unwrap();
    }
    store.forget_memories(ann, &ids[..1]).await.unwrap();
    let newest = store.newest_turn(ann, &chat).await.unwrap().unwrap();
    let context = store.stored_context(ann, &chat, newest).await.unwrap();
    let items = store.turn_items(ann, &chat, newest).await.unwrap().concat();
    let (messages, _) = store.messages(ann, &chat, None, 99).await.unwrap();
    assert_eq!(messages.iter().filter(|message| message.text == list).count(), 2);
    let aside = |at: usize| {
        let (store, chat, id) =
            (&store, &chat, format!("ol_{}_{:?}", ids[at], store::TurnId(newest.0 - 1 + at as i64)));
        async move { store.offload(ann, chat, &id).await.unwrap().unwrap().text }
    };
    let (gone, kept) = (aside(0).await, aside(1).await);
    assert_eq!(gone, format!("- #{} (forgotten)\nand more", ids[0]));
    for shown in [format!("{context:?}"), items, format!("{messages:?}"), gone + &kept] {
        assert!(!shown.contains("secretfact") && shown.contains("openfact"), "{shown}");
    }
}

#[tokio::test]
async fn what_conversations_showed_of_a_forgotten_memory_leaves_no_trace_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open(&path).await.unwrap();
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    let chat = store.create_chat(ann).await.unwrap().id;
    const COUNT: u64 = 50;
    let (mut ids, mut kept) = (Vec::new(), Vec::new());
    for number in 0..COUNT {
        for (start, list) in [("secretfact", &mut ids), ("openfact", &mut kept)] {
            let text = format!("{start}{number}x \"of\" two\n{start}{number}x lines");
            let item = store.add_memory(ann, &NewMemory { text: &text, ..MEMORY }).await.unwrap();
            show(&store, ann, &chat, &item).await;
            store.change_memory(ann, item.id, &to(&format!("{start}{number}x again"))).await.unwrap();
            show(&store, ann, &chat, &store.memory_item(ann, item.id).await.unwrap()).await;
            list.push(item.id);
        }
    }
    // Another user's text with the same id is about another memory.
    let foreign = store.create_chat(bob).await.unwrap().id;
    let theirs = store.add_memory(bob, &NewMemory { text: "bobsfact", ..MEMORY }).await.unwrap();
    show(&store, bob, &foreign, &MemoryItem { id: ids[0], ..theirs }).await;
    let fork = store.fork_chat(ann, &chat, None).await.unwrap().id;
    let newest = store.newest_turn(ann, &fork).await.unwrap().unwrap();
    let before = (bytes_of(&path), store.turn_items(ann, &fork, newest).await.unwrap());
    assert!(count(&before.0, "secretfact") > 1_000);
    assert_eq!(store.forget_memories(bob, &ids).await.unwrap(), 0);
    assert_eq!(store.turn_items(ann, &fork, newest).await.unwrap(), before.1, "bob changes nothing");
    assert_eq!(store.forget_memories(ann, &ids).await.unwrap(), COUNT);
    // The deletion wakes the task that rewrites the file.
    store.deletion().await;
    store.forget_deleted().await.unwrap();

    let bytes = bytes_of(&path);
    assert_eq!(count(&bytes, "secretfact"), 0);
    assert!(count(&bytes, "openfact") >= count(&before.0, "openfact") / 2, "the others are unchanged");
    let bobs = store.newest_turn(bob, &foreign).await.unwrap().unwrap();
    assert!(store.turn_items(bob, &foreign, bobs).await.unwrap()[1].contains("bobsfact"));
    // Lines about other memories are unchanged, byte for byte; only the ids of the forgotten memories are left.
    let after = store.turn_items(ann, &fork, newest).await.unwrap();
    assert_eq!(after.len(), before.1.len());
    for (was, is) in before.1.iter().zip(&after) {
        assert_eq!(was == is, !was.contains("secretfact"), "{was} became {is}");
    }
    assert!(
        after
            .iter()
            .any(|item| *item == format!(r#"{{"tool":{{"text":"found:\n- #{} (forgotten)\nend"}}}}"#, ids[0]))
    );
    let found = async |word: &'static str| {
        let search = MessageSearch {
            words: &[word],
            chat: None,
            from_ms: 0,
            until_ms: i64::MAX,
            before: None,
            limit: 999,
        };
        store.search_messages(ann, &search).await.unwrap().len()
    };
    assert_eq!(
        (found("secretfact7x").await, found("openfact7x").await),
        (0, 8),
        "two notices and two cards, twice"
    );
    // A note that was made before the memory was forgotten, and is recorded afterwards.
    let late = store.stored_context(ann, &fork, newest).await.unwrap().items.pop().unwrap().id;
    let noted = |line: &str| {
        format!(r#"{{"user":[{{"text":"<context>\n{line}\nnext\n</context>\n\n- #999: \"it crashes\""}}]}}"#)
    };
    let line = |id| format!("- #{id} semantic: 'secretfact'");
    for (id, left) in [(ids[3], format!("- #{} (forgotten)", ids[3])), (kept[3], line(kept[3]))] {
        store.amend_item(late, &noted(&line(id))).await.unwrap();
        let recorded = store.turn_items(ann, &fork, newest).await.unwrap().pop().unwrap();
        assert_eq!(recorded, noted(&left), "and what the person said");
    }
    store.amend_item(late, "\"done\"").await.unwrap();
    // The same is true for a line that masks a result, and for a summary.
    let line = format!("1 line: {} \"secretfact\"", memory_mark(ids[3], MemoryKind::Semantic));
    let mask = Mask { id: "mk_late".to_owned(), item: late, placeholder: line.clone(), size_chars: 9 };
    store.add_masks(&fork, &[mask]).await.unwrap();
    let issue = "\n- #999: \"it crashes\"";
    let compaction = Compaction { up_to_item: late, last_item: late, summary: line + issue };
    let named_masks = vec!["mk_late".to_owned()];
    let summary = NewCompaction {
        compaction,
        tokens_before: 2,
        tokens_after: 1,
        named_masks,
        forgotten_offloads: vec![],
    };
    store.add_compaction(&fork, &summary).await.unwrap();
    let left = store.stored_context(ann, &fork, newest).await.unwrap().compaction.unwrap().summary;
    assert_eq!(left, format!("1 line: - #{} (forgotten){issue}", ids[3]));

    let copy = folder.path().join("copy.db");
    store.back_up(&copy).await.unwrap();
    let bytes = bytes_of(&copy);
    assert!(count(&bytes, "secretfact") == 0 && count(&bytes, "openfact") > 0);
}

#[tokio::test]
async fn what_an_agent_of_a_group_remembered_leaves_no_trace_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open(&path).await.unwrap();
    let ann = add_user(&store, "ann").await.id;
    let remembering = async |number: u8| {
        let group = store.create_group(ann, "Work").await.unwrap();
        let draft = AgentDraft {
            handle: "coder",
            runner: "none",
            approval: "ask",
            model: None,
            persona: "",
            tools_json: None,
            folder: None,
        };
        let agent = store.put_group_agent(group, ann, draft).await.unwrap();
        let holder = MemoryHolder::agent(ann, agent);
        for item in 0..50 {
            let text = format!("secretfact{number}x{item} and its words");
            let item = store.add_memory(holder, &NewMemory { text: &text, ..MEMORY }).await.unwrap();
            let later = format!("secretfact{number}x again");
            store.change_memory(holder, item.id, &to(&later)).await.unwrap();
        }
        let agent = store.group_agent(agent).await.unwrap();
        let chat = store.agent_chat(&agent, "@coder", "ask").await.unwrap();
        store.chat_memory(ann, &chat, &format!("secretfact{number}x in a prompt")).await.unwrap();
        for item in store.memory_items(holder).await.unwrap().iter().take(5) {
            show(&store, ann, &chat, item).await;
        }
        (group, agent.id)
    };
    let ((group, agent), (other, _)) = (remembering(1).await, remembering(2).await);
    let found = |number: u8| count(&bytes_of(&path), &format!("secretfact{number}x"));
    assert!(found(1) > 0 && found(2) > 0);
    store.remove_group_agent(group, agent).await.unwrap();
    store.forget_deleted().await.unwrap();
    assert!(found(1) == 0 && found(2) > 0, "{} and {} are left", found(1), found(2));
    store.delete_group(other).await.unwrap();
    store.forget_deleted().await.unwrap();
    assert_eq!(found(2), 0);
}

#[tokio::test]
async fn named_notes_of_an_earlier_version_become_items() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open(&path).await.unwrap();
    let ann = add_user(&store, "ann").await.id;
    store.close().await;
    let mut raw = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    for statement in [
        "DROP TABLE memory_replacements",
        "DROP TABLE memory_revisions",
        "DROP TABLE memory_items",
        "CREATE TABLE memories (user_id BIGINT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, updated_at_ms BIGINT NOT NULL)",
        "INSERT INTO memories VALUES (1, 'tabs', 'likes tabs', 7), (1, 'editor', 'uses vim', 8)",
        "DELETE FROM _sqlx_migrations WHERE version IN (36, 52, 59)",
    ] {
        sqlx::query(AssertSqlSafe(statement)).execute(&mut raw).await.unwrap();
    }
    drop(raw);
    let store = Store::open(&path).await.unwrap();
    let items = store.memory_items(ann).await.unwrap();
    let found: Vec<_> =
        items.iter().map(|item| (item.name.as_str(), item.text.as_str(), item.updated_at_ms)).collect();
    assert_eq!(found, [("editor", "uses vim", 8), ("tabs", "likes tabs", 7)]);
    assert!(items.iter().all(|item| item.source == MemorySource::Note && !item.is_proposed));
}

#[tokio::test]
async fn memories_that_have_ended_take_no_room_and_have_a_limit_of_their_own() {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let add = async |text: &str, is_proposed, supersedes: &[i64]| {
        store.add_memory(ann, &NewMemory { text, is_proposed, supersedes, ..MEMORY }).await
    };
    let first = add("flat 0", false, &[]).await.unwrap().id;
    let second = add("flat 1", false, &[first]).await.unwrap().id;
    let mut newest = second;
    for number in 2..=MEMORY_ENDED_PER_USER + 1 {
        clock.advance(1);
        newest = add(&format!("flat {number}"), false, &[newest]).await.unwrap().id;
    }
    let items = store.memory_items(ann).await.unwrap();
    let ended = items.iter().filter(|item| item.superseded_by.is_some()).count();
    assert_eq!((items.len() - ended, ended), (1, usize::try_from(MEMORY_ENDED_PER_USER).unwrap()));
    assert_eq!(items[0].id, second, "the one that ended first was deleted");
    for number in 1..MEMORY_ITEMS_PER_USER {
        add(&format!("fact {number}"), false, &[]).await.unwrap();
    }
    let is_full = |result: store::Result<_>| {
        let error = result.map(|_: store::MemoryItem| ()).unwrap_err().to_string();
        assert!(error.contains("already 1000 memories"), "{error}");
    };
    is_full(add("one more", false, &[]).await);
    let proposal = add("proposed", true, &[]).await.unwrap().id;
    is_full(store.accept_memory(ann, proposal).await);
    assert!(store.memory_item(ann, proposal).await.unwrap().is_proposed, "it is still a proposal");
    // A memory that ended applies again only if the limit allows it.
    let again = MemoryChange { valid_to_ms: Some(None), text: None, ..to("") };
    is_full(store.change_memory(ann, second, &again).await);
    assert!(store.memory_item(ann, second).await.unwrap().superseded_by.is_some());
    // A memory that replaces another one can be added even at the limit.
    newest = add("flat last", false, &[newest]).await.unwrap().id;
    store.forget_memories(ann, &[newest]).await.unwrap();
    store.change_memory(ann, items[5].id, &again).await.unwrap();
    is_full(store.accept_memory(ann, proposal).await);
}
