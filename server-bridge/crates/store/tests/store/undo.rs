//! Undone turns, earlier states of files, and copies of conversations.

use store::limits::CHECKPOINT_FILE_MAX_BYTES;
use store::{
    Before, Chat, ChatId, Error, Kept, Left, MessageId, MessageRole, NewDelegation, NewSubAgent, PromptCount,
    Spent, Store, Todo, TodoStatus, TurnId, TurnStatus, TurnUsage, User,
};

use crate::support::{DAY_MS, add_user, store};

/// Adds a turn that has ended: a message, and a tool call.
async fn turn(store: &Store, user: &User, chat: &ChatId, text: &str) -> (TurnId, MessageId) {
    let said = store.append_message(user.id, chat, MessageRole::User, text, None).await.unwrap().id;
    let shown =
        store.append_message(user.id, chat, MessageRole::Assistant, "answer", Some("{}")).await.unwrap().id;
    let turn = store.queue_turn(user.id, chat, Some(said), shown, &format!("said {text}")).await.unwrap();
    assert!(store.begin_turn(turn, "m").await.unwrap());
    let usage = TurnUsage { input_tokens: 10, ..TurnUsage::default() };
    let spent = Spent { subscription: "server", model: "model", usage };
    store.append_answer(turn, &format!("answered {text}"), spent, PromptCount::default()).await.unwrap();
    store.append_turn_message(user.id, chat, turn, MessageRole::Assistant, "tool", None).await.unwrap();
    store.finish_turn(turn, TurnStatus::Done, None).await.unwrap();
    (turn, said)
}

async fn items(store: &Store, user: &User, chat: &ChatId) -> Vec<String> {
    store.turn_items(user.id, chat, TurnId(i64::MAX)).await.unwrap()
}

async fn shown(store: &Store, chat: &Chat) -> Vec<(String, bool)> {
    let (messages, _) = store.messages(chat.user, &chat.id, None, 100).await.unwrap();
    messages.into_iter().map(|message| (message.text, message.undone)).collect()
}

#[tokio::test]
async fn what_was_taken_back_is_marked_and_no_part_of_the_conversation() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await;
    let chat = store.create_chat(ann.id).await.unwrap();
    turn(&store, &ann, &chat.id, "one").await;
    store.append_message(ann.id, &chat.id, MessageRole::Notice, "between", None).await.unwrap();
    store.set_chat_cwd(ann.id, &chat.id, "src").await.unwrap();
    let (second, said) = turn(&store, &ann, &chat.id, "two").await;
    store.begin_call(second, "c1", Some(second)).await.unwrap();
    store.set_chat_cwd(ann.id, &chat.id, "elsewhere").await.unwrap();
    let past = store.past_turns(ann.id, &chat.id, 10).await.unwrap();
    let told: Vec<_> = past.iter().map(|turn| (turn.text.as_str(), turn.commands)).collect();
    assert_eq!(told, [("two", 1), ("one", 0)]);
    assert_eq!(store.turn_of_message(ann.id, &chat.id, said).await.unwrap(), Some(second));

    let marked = store.take_back(ann.id, &chat.id, &[second]).await.unwrap();
    let texts: Vec<&str> = marked.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["two", "answer", "tool"]);
    let all = shown(&store, &chat).await;
    let all: Vec<(&str, bool)> = all.iter().map(|(text, undone)| (text.as_str(), *undone)).collect();
    let expected = [("one", false), ("answer", false), ("tool", false), ("between", false)];
    assert_eq!(all[..4], expected);
    assert_eq!(all[4..], [("two", true), ("answer", true), ("tool", true)]);
    assert_eq!(items(&store, &ann, &chat.id).await, ["said one", "answered one"]);
    assert_eq!(store.past_turns(ann.id, &chat.id, 10).await.unwrap().len(), 1);
    assert_eq!(store.chat_cwd(ann.id, &chat.id).await.unwrap(), "src");
    // The usage of the undone turn still counts.
    let taken = store.usage(ann.id, Some(&chat.id), 0).await.unwrap();
    assert_eq!(taken.iter().map(|row| row.usage.input_tokens).sum::<i64>(), 20);
}

/// Adds an ended turn of a sub-agent, for a turn of its user.
async fn errand(store: &Store, user: &User, agent: &ChatId, root: TurnId, text: &str) -> TurnId {
    let card = store.sub_agent(user.id, agent).await.unwrap().unwrap().message.unwrap();
    let new = NewDelegation {
        chat: agent,
        card,
        root,
        text,
        document_json: "{}",
        item_json: text,
        background: None,
    };
    let (_, _, turn) = store.queue_delegated_turn(user.id, new).await.unwrap().unwrap();
    assert!(store.begin_turn(turn, "m").await.unwrap());
    store.finish_turn(turn, TurnStatus::Done, None).await.unwrap();
    turn
}

#[tokio::test]
async fn what_sub_agents_did_in_a_turn_is_taken_back_with_it() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await;
    let chat = store.create_chat(ann.id).await.unwrap().id;
    let (first, message) = turn(&store, &ann, &chat, "one").await;
    let made = async |parent: &ChatId, instance| {
        let new = NewSubAgent {
            parent,
            message,
            role: None,
            instance: Some(instance),
            place: None,
            tools_json: "[]",
        };
        store.create_sub_agent(ann.id, new).await.unwrap().chat
    };
    let called = async |parent: &ChatId, name| {
        store.sub_agent_called(ann.id, parent, name, 0).await.unwrap().map(|agent| agent.chat)
    };
    let child = made(&chat, "x").await;
    errand(&store, &ann, &child, first, "task").await;
    let (second, _) = turn(&store, &ann, &chat, "two").await;
    errand(&store, &ann, &child, second, "again").await;
    let (below, later) = (made(&child, "y").await, made(&chat, "z").await);
    errand(&store, &ann, &below, second, "deep").await;
    errand(&store, &ann, &later, second, "late").await;
    store.set_chat_cwd(ann.id, &child, "elsewhere").await.unwrap();

    let marked = store.take_back(ann.id, &chat, &[second]).await.unwrap();
    let texts: Vec<&str> =
        marked.iter().map(|message| message.text.as_str()).filter(|text| !text.is_empty()).collect();
    assert_eq!(texts, ["two", "answer", "tool", "again", "deep", "late"]);
    assert_eq!(items(&store, &ann, &child).await, ["task"], "it has only its earlier items");
    assert_eq!(store.chat_cwd(ann.id, &child).await.unwrap(), "");
    assert_eq!(called(&chat, "x").await, Some(child.clone()));
    assert_eq!((called(&child, "y").await, called(&chat, "z").await), (None, None), "they lost their names");
}

#[tokio::test]
async fn what_was_to_be_done_before_a_turn_is_to_be_done_again() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await;
    let chat = store.create_chat(ann.id).await.unwrap().id;
    let to_do = |words: &[&str]| -> Vec<Todo> {
        words.iter().map(|word| Todo { content: (*word).to_owned(), status: TodoStatus::Pending }).collect()
    };
    let mut turns = Vec::new();
    for lists in [&[&["a"][..], &["a", "b"]][..], &[], &[&[], &["c"]]] {
        let shown = store.append_message(ann.id, &chat, MessageRole::Assistant, "", None).await.unwrap().id;
        let turn = store.queue_turn(ann.id, &chat, None, shown, "x").await.unwrap();
        store.begin_turn(turn, "m").await.unwrap();
        for list in lists {
            store.set_todos(ann.id, &chat, &to_do(list)).await.unwrap();
        }
        store.finish_turn(turn, TurnStatus::Done, None).await.unwrap();
        turns.push(turn);
    }
    let now = async || store.todos(ann.id, &chat).await.unwrap();
    assert_eq!(now().await, to_do(&["c"]));
    let part = store.fork_chat(ann.id, &chat, Some(turns[1])).await.unwrap().id;
    assert_eq!(store.todos(ann.id, &part).await.unwrap(), to_do(&["a", "b"]));
    let past = store.past_turns(ann.id, &part, 9).await.unwrap();
    store.take_back(ann.id, &part, &[past[0].id, past[1].id]).await.unwrap();
    assert_eq!(store.todos(ann.id, &part).await.unwrap(), [], "a fork also restores its earlier task list");
    store.take_back(ann.id, &chat, &[turns[2]]).await.unwrap();
    assert_eq!(now().await, to_do(&["a", "b"]));
    store.take_back(ann.id, &chat, &[turns[1]]).await.unwrap();
    assert_eq!(now().await, to_do(&["a", "b"]), "this turn changed nothing");
    store.take_back(ann.id, &chat, &[turns[0]]).await.unwrap();
    assert_eq!(now().await, []);
}

#[tokio::test]
async fn a_turn_under_way_and_another_users_are_out_of_reach() {
    let (store, _) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await, add_user(&store, "bob").await);
    let chat = store.create_chat(ann.id).await.unwrap();
    let (done, _) = turn(&store, &ann, &chat.id, "one").await;
    let message = store.append_message(ann.id, &chat.id, MessageRole::Assistant, "", None).await.unwrap().id;
    let queued = store.queue_turn(ann.id, &chat.id, None, message, "x").await.unwrap();
    assert_eq!(store.past_turns(ann.id, &chat.id, 10).await.unwrap().len(), 1);
    store.begin_turn(queued, "m").await.unwrap();
    assert_eq!(store.past_turns(ann.id, &chat.id, 10).await.unwrap()[0].id, done);
    let not_found = |error: Error| assert!(matches!(error, Error::NotFound { .. }), "{error}");
    not_found(store.past_turns(bob.id, &chat.id, 1).await.unwrap_err());
    not_found(store.take_back(bob.id, &chat.id, &[done]).await.unwrap_err());
    not_found(store.checkpoints(bob.id, &chat.id, done).await.unwrap_err());
    not_found(store.checkpoint_content(bob.id, &chat.id, "00").await.unwrap_err());
    not_found(store.fork_chat(bob.id, &chat.id, None).await.unwrap_err());
    not_found(store.turn_of_message(bob.id, &chat.id, message).await.unwrap_err());
    not_found(store.messages_after(bob.id, &chat.id, MessageId(0), 1).await.unwrap_err());
    let kept = store.keep_checkpoint(bob.id, &chat.id, done, "laptop", "a", Before::Absent).await;
    not_found(kept.unwrap_err());
}

#[tokio::test]
async fn a_file_is_kept_as_it_was_first_and_once() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await;
    let chat = store.create_chat(ann.id).await.unwrap();
    let (first, _) = turn(&store, &ann, &chat.id, "one").await;
    let (second, _) = turn(&store, &ann, &chat.id, "two").await;
    let keep = async |turn, path: &str, before| {
        store.keep_checkpoint(ann.id, &chat.id, turn, "laptop", path, before).await
    };
    let content = |content| Before::Content { mode: 0o755, content };
    assert_eq!(store.checkpoint(first, "laptop", "a").await.unwrap(), None);
    keep(first, "a", content(b"old")).await.unwrap();
    keep(first, "a", content(b"later")).await.unwrap();
    keep(first, "b", Before::Absent).await.unwrap();
    keep(second, "a", content(b"old")).await.unwrap();
    assert_eq!(store.checkpoint(first, "laptop", "a").await.unwrap(), Some(Left::Unchanged));
    assert_eq!(store.checkpoint(first, "other", "a").await.unwrap(), None);
    store.leave_checkpoint(first, "laptop", "a", &Left::Unknown).await.unwrap();
    store.leave_checkpoint(first, "laptop", "b", &Left::Content("ab".to_owned())).await.unwrap();
    let all = store.checkpoints(ann.id, &chat.id, first).await.unwrap();
    let told: Vec<_> =
        all.iter().map(|file| (file.turn, file.path.as_str(), file.kept, file.left())).collect();
    assert_eq!(
        told,
        [
            (second, "a", Kept::Content, Left::Unchanged),
            (first, "b", Kept::Absent, Left::Content("ab".to_owned())),
            (first, "a", Kept::Content, Left::Unknown),
        ]
    );
    assert_eq!((all[0].mode, &all[0].sha256), (Some(0o755), &all[2].sha256));
    let old = all[0].sha256.clone().unwrap();
    assert_eq!(store.checkpoint_content(ann.id, &chat.id, &old).await.unwrap().unwrap(), b"old");
    store.take_back(ann.id, &chat.id, &[second]).await.unwrap();
    assert_eq!(store.checkpoints(ann.id, &chat.id, first).await.unwrap().len(), 2);
    assert!(
        store.checkpoint_content(ann.id, &chat.id, &old).await.unwrap().is_some(),
        "the first turn still refers to it"
    );
    store.take_back(ann.id, &chat.id, &[first]).await.unwrap();
    assert_eq!(store.checkpoint_content(ann.id, &chat.id, &old).await.unwrap(), None);
    let long = vec![0; CHECKPOINT_FILE_MAX_BYTES + 1];
    assert!(matches!(keep(second, "c", content(&long)).await, Err(Error::Invalid { .. })));
}

#[tokio::test]
async fn too_much_and_too_old_is_dropped_and_says_so() {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await;
    let chat = store.create_chat(ann.id).await.unwrap();
    let (turn, _) = turn(&store, &ann, &chat.id, "one").await;
    for number in 0..17_u8 {
        let content = vec![number; CHECKPOINT_FILE_MAX_BYTES];
        let before = Before::Content { mode: 0o644, content: &content };
        store.keep_checkpoint(ann.id, &chat.id, turn, "laptop", &number.to_string(), before).await.unwrap();
    }
    let all = store.checkpoints(ann.id, &chat.id, turn).await.unwrap();
    let dropped: Vec<&str> =
        all.iter().filter(|file| file.kept == Kept::Dropped).map(|file| file.path.as_str()).collect();
    assert_eq!(dropped, ["0"], "16 of 16 MiB fit");
    clock.advance(29 * DAY_MS);
    store.purge_expired().await.unwrap();
    let kept = async || {
        let all = store.checkpoints(ann.id, &chat.id, turn).await.unwrap();
        all.iter().filter(|file| file.kept == Kept::Content).count()
    };
    assert_eq!(kept().await, 16);
    clock.advance(DAY_MS);
    store.purge_expired().await.unwrap();
    assert_eq!(kept().await, 0);
    let sha256 = all[0].sha256.clone().unwrap();
    assert_eq!(store.checkpoint_content(ann.id, &chat.id, &sha256).await.unwrap(), None);
}

#[tokio::test]
async fn a_fork_holds_what_was_said_and_goes_on_by_itself() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await;
    let chat = store.create_chat(ann.id).await.unwrap();
    store.bind_chat_runner(ann.id, &chat.id, Some("laptop")).await.unwrap();
    store.set_approval(ann.id, &chat.id, "auto-edit").await.unwrap();
    store.allow_for_good(ann.id, &chat.id, "Shell", "make", "here").await.unwrap();
    store.put_offload(ann.id, &chat.id, "ol_1", "long", None).await.unwrap();
    let (first, _) = turn(&store, &ann, &chat.id, "one").await;
    let (undone, _) = turn(&store, &ann, &chat.id, "undone").await;
    store.take_back(ann.id, &chat.id, &[undone]).await.unwrap();
    store.append_message(ann.id, &chat.id, MessageRole::Notice, "between", None).await.unwrap();
    store.set_chat_cwd(ann.id, &chat.id, "src").await.unwrap();
    turn(&store, &ann, &chat.id, "two").await;
    store.append_message(ann.id, &chat.id, MessageRole::Notice, "behind", None).await.unwrap();

    let all = store.fork_chat(ann.id, &chat.id, None).await.unwrap();
    let texts =
        async |chat: &Chat| shown(&store, chat).await.into_iter().map(|(text, _)| text).collect::<Vec<_>>();
    let one = ["one", "answer", "tool", "between"];
    assert_eq!(texts(&all).await, [&one[..], &["two", "answer", "tool", "behind"]].concat());
    assert_eq!((all.title.as_str(), all.runner.as_deref()), ("one (fork)", Some("laptop")));
    assert_eq!(items(&store, &ann, &all.id).await, ["said one", "answered one", "said two", "answered two"]);
    assert_eq!(store.approval(ann.id, &all.id).await.unwrap(), "auto-edit");
    assert!(!store.is_allowed(ann.id, &all.id, "Shell", "make").await.unwrap(), "it asks again");
    assert_eq!(store.offload(ann.id, &all.id, "ol_1").await.unwrap().unwrap().text, "long");
    assert_eq!(store.chat_cwd(ann.id, &all.id).await.unwrap(), "src");
    assert_eq!(store.usage(ann.id, Some(&all.id), 0).await.unwrap(), [], "paid for once");

    let part = store
        .fork_chat(
            ann.id,
            &all.id,
            store.past_turns(ann.id, &all.id, 9).await.unwrap().pop().map(|turn| turn.id),
        )
        .await
        .unwrap();
    assert_eq!(texts(&part).await, one);
    assert_eq!(part.title, "one (fork)");
    let past = store.past_turns(ann.id, &part.id, 9).await.unwrap();
    assert_eq!((past.len(), past[0].text.as_str()), (1, "one"));
    store.take_back(ann.id, &part.id, &[past[0].id]).await.unwrap();
    assert_eq!(shown(&store, &part).await[0], ("one".to_owned(), true));
    assert!(items(&store, &ann, &part.id).await.is_empty());
    assert_eq!(items(&store, &ann, &chat.id).await.len(), 4, "the original is unchanged");
    assert!(store.past_turns(ann.id, &chat.id, 9).await.unwrap().iter().any(|turn| turn.id == first));
    store.delete_chat(ann.id, &chat.id).await.unwrap();
    assert_eq!(texts(&all).await.len(), 8);
}

#[tokio::test]
async fn messages_are_read_forwards_page_by_page() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await;
    let chat = store.create_chat(ann.id).await.unwrap();
    for number in 0..5 {
        store.append_message(ann.id, &chat.id, MessageRole::Notice, &number.to_string(), None).await.unwrap();
    }
    let mut read = Vec::new();
    let mut after = MessageId(0);
    loop {
        let (page, more) = store.messages_after(ann.id, &chat.id, after, 2).await.unwrap();
        after = page.last().unwrap().id;
        read.extend(page.into_iter().map(|message| message.text));
        if !more {
            break;
        }
    }
    assert_eq!(read, ["0", "1", "2", "3", "4"]);
}
