//! Conversations of sub-agents.

use store::{
    ChatId, Error, MessageId, MessageRole, NewDelegation, NewSubAgent, PromptCount, Spent, Store, SubAgent,
    TurnId, TurnStatus, TurnUsage, UserId,
};

use crate::support::{add_user, store};

async fn card(store: &Store, user: UserId, chat: &ChatId) -> store::MessageId {
    store.append_message(user, chat, MessageRole::Assistant, "", None).await.unwrap().id
}

async fn agent(store: &Store, user: UserId, parent: &ChatId, instance: Option<&str>) -> SubAgent {
    let message = card(store, user, parent).await;
    let new = NewSubAgent { parent, message, role: Some("looker"), instance, place: None, tools_json: "[]" };
    store.create_sub_agent(user, new).await.unwrap()
}

#[tokio::test]
async fn a_sub_agent_works_where_its_parent_does_and_is_in_no_list_of_conversations() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let parent = store.create_chat(ann).await.unwrap().id;
    store.bind_chat_runner(ann, &parent, Some("laptop")).await.unwrap();
    store.set_chat_cwd(ann, &parent, "src").await.unwrap();
    let child = agent(&store, ann, &parent, None).await;
    assert_eq!((&child.parent, child.role.as_deref(), child.status), (&parent, Some("looker"), None));
    assert_eq!(store.chat(ann, &child.chat).await.unwrap().runner.as_deref(), Some("laptop"));
    assert_eq!(store.chat_cwd(ann, &child.chat).await.unwrap(), "src");
    let listed: Vec<_> = store.chats(ann, 10).await.unwrap().into_iter().map(|chat| chat.id).collect();
    assert_eq!(listed, std::slice::from_ref(&parent));

    let said = store.append_message(ann, &child.chat, MessageRole::User, "look around", None).await.unwrap();
    let turn = store.queue_turn(ann, &child.chat, None, said.id, "1").await.unwrap();
    let item = store.stored_context(ann, &child.chat, turn).await.unwrap().items[0].id;
    store.amend_item(item, "2").await.unwrap();
    assert_eq!(store.turn_items(ann, &child.chat, turn).await.unwrap(), ["2"]);
    let open = store.open_turns(None).await.unwrap();
    assert!(open.len() == 1 && open[0].parent.as_ref() == Some(&parent));
    let second = agent(&store, ann, &child.chat, None).await;
    let found = store.sub_agents(ann, &parent).await.unwrap();
    assert_eq!((found.len(), found[0].title.as_str()), (1, "look around"), "without theirs");
    assert_eq!(found[0].status, Some(TurnStatus::Queued));
    store.delete_chat(ann, &parent).await.unwrap();
    assert!(store.chat(ann, &child.chat).await.is_err() && store.chat(ann, &second.chat).await.is_err());
    assert!(matches!(store.amend_item(item, "3").await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_name_leads_to_the_same_sub_agent_until_it_was_not_used_for_too_long() {
    let (store, clock) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    let parent = store.create_chat(ann).await.unwrap().id;
    let other = store.create_chat(ann).await.unwrap().id;
    let child = agent(&store, ann, &parent, Some("x")).await;
    let at = child.used_at_ms;
    let called = async |user, parent, name: &'static str, since_ms| {
        store.sub_agent_called(user, parent, name, since_ms).await.unwrap().map(|agent| agent.chat)
    };
    assert_eq!(called(ann, &parent, "x", at).await.as_ref(), Some(&child.chat));
    assert_eq!(called(ann, &parent, "x", at + 1).await, None);
    clock.advance(5);
    let message = card(&store, ann, &parent).await;
    store.use_sub_agent(ann, &child.chat, message).await.unwrap();
    assert_eq!(called(ann, &parent, "x", at + 1).await, Some(child.chat.clone()));
    assert_eq!(store.sub_agent(ann, &child.chat).await.unwrap().unwrap().message, Some(message));
    for (user, parent, name) in [(ann, &parent, "y"), (ann, &other, "x"), (bob, &parent, "x")] {
        assert_eq!(called(user, parent, name, 0).await, None);
    }
    assert_eq!(store.sub_agent(bob, &child.chat).await.unwrap(), None);
    assert!(store.use_sub_agent(bob, &child.chat, message).await.is_err());
    assert!(store.sub_agents(bob, &parent).await.is_err());
    let new =
        NewSubAgent { parent: &parent, message, role: None, instance: None, place: None, tools_json: "[]" };
    assert!(matches!(store.create_sub_agent(bob, new).await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn what_a_sub_agent_takes_is_the_users_chats() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let parent = store.create_chat(ann).await.unwrap().id;
    let child = agent(&store, ann, &parent, None).await.chat;
    let below = agent(&store, ann, &child, None).await.chat;
    for (chat, input_tokens) in [(&parent, 1), (&child, 10), (&below, 100)] {
        let message = card(&store, ann, chat).await;
        let turn = store.queue_turn(ann, chat, None, message, "1").await.unwrap();
        let usage = TurnUsage { input_tokens, ..TurnUsage::default() };
        store
            .append_answer(
                turn,
                "2",
                Spent { subscription: "server", model: "m", usage },
                PromptCount::default(),
            )
            .await
            .unwrap();
    }
    let tokens = async |chat| {
        let rows = store.usage(ann, Some(chat), 0).await.unwrap();
        rows.iter().map(|row| row.usage.input_tokens).sum::<i64>()
    };
    assert_eq!((tokens(&parent).await, tokens(&child).await), (111, 0));
}

/// Gives a sub-agent a task, for the call with this card, and begins its turn.
async fn task(store: &Store, user: UserId, chat: &ChatId, card: MessageId, root: TurnId) -> TurnId {
    let new = NewDelegation {
        chat,
        card,
        root,
        text: "look",
        document_json: "{}",
        item_json: "1",
        background: None,
    };
    let (said, shown, turn) = store.queue_delegated_turn(user, new).await.unwrap().unwrap();
    assert_eq!((said.text.as_str(), shown.text.as_str()), ("look", ""));
    assert!(store.begin_turn(turn, "m").await.unwrap());
    turn
}

#[tokio::test]
async fn a_call_leads_to_the_turn_that_serves_it_also_when_the_sub_agent_was_called_again() {
    let (store, _) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    let parent = store.create_chat(ann).await.unwrap().id;
    let top = card(&store, ann, &parent).await;
    let root = store.queue_turn(ann, &parent, None, top, "1").await.unwrap();
    let child = agent(&store, ann, &parent, Some("x")).await;
    let (first, second) = (child.message.unwrap(), card(&store, ann, &parent).await);
    let called = async |user, card| store.called_sub_agent(user, &parent, card).await.unwrap();
    let made = called(ann, first).await.unwrap();
    assert_eq!(
        (made.agent.chat, made.turn),
        (child.chat.clone(), None),
        "it was created, and not called yet"
    );
    let one = task(&store, ann, &child.chat, first, root).await;
    let turn = called(ann, first).await.unwrap().turn.unwrap();
    assert_eq!((turn.id, turn.status, turn.is_last), (one, TurnStatus::Running, true));
    assert_eq!(called(ann, second).await, None);
    store.finish_turn(one, TurnStatus::Failed, Some("offline")).await.unwrap();
    let two = task(&store, ann, &child.chat, second, root).await;
    let turn = called(ann, first).await.unwrap().turn.unwrap();
    assert_eq!((turn.id, turn.error.as_deref(), turn.is_last), (one, Some("offline"), false));
    let again = called(ann, second).await.unwrap();
    assert_eq!((again.agent.message, again.turn.unwrap().id), (Some(second), two));
    assert_eq!(called(bob, second).await, None);
    let new = NewDelegation {
        chat: &child.chat,
        card: second,
        root,
        text: "mine",
        document_json: "{}",
        item_json: "1",
        background: None,
    };
    assert!(matches!(store.queue_delegated_turn(bob, new).await, Err(Error::NotFound { .. })));
    let unfit = NewDelegation { chat: &parent, ..new };
    assert!(matches!(store.queue_delegated_turn(ann, unfit).await, Err(Error::NotFound { .. })));
    assert_eq!(store.messages(ann, &parent, None, 100).await.unwrap().0.len(), 3, "nothing was added");
}

#[tokio::test]
async fn what_a_sub_agent_gets_done_counts_for_the_turns_above_it() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let parent = store.create_chat(ann).await.unwrap().id;
    let top = card(&store, ann, &parent).await;
    let root = store.queue_turn(ann, &parent, None, top, "1").await.unwrap();
    assert!(store.begin_turn(root, "m").await.unwrap());
    let mut turns = vec![root];
    let mut chat = parent.clone();
    for _ in 0..3 {
        let below = agent(&store, ann, &chat, None).await;
        turns.push(task(&store, ann, &below.chat, below.message.unwrap(), root).await);
        chat = below.chat;
    }
    let beside = agent(&store, ann, &parent, None).await;
    let other = task(&store, ann, &beside.chat, beside.message.unwrap(), root).await;
    let ids = |open: Vec<store::OpenTurn>| open.iter().map(|turn| turn.id).collect::<Vec<_>>();
    let below = ids(store.open_turns_below(ann, &parent).await.unwrap());
    assert_eq!(below, [&turns[1..], &[other]].concat());
    let middle = store.open_turns(None).await.unwrap().into_iter().find(|turn| turn.id == turns[1]).unwrap();
    assert_eq!(ids(store.open_turns_below(ann, &middle.chat).await.unwrap()), turns[2..]);
    assert_eq!((middle.root, middle.card.is_some()), (Some(root), true));
    // Each turn was resumed as many times as is allowed.
    for turn in turns.iter().chain([&other]) {
        while store.resume_turn(*turn).await.unwrap() {}
    }
    let spent = Spent { subscription: "server", model: "m", usage: TurnUsage::default() };
    store.append_answer(turns[3], "2", spent, PromptCount::default()).await.unwrap();
    for turn in &turns {
        assert!(store.resume_turn(*turn).await.unwrap(), "{turn}");
    }
    assert!(!store.resume_turn(other).await.unwrap(), "this turn made no progress");
}
