//! Conversations of sub-agents.

use store::{
    ChatId, Error, MessageRole, NewSubAgent, PromptCount, Spent, Store, SubAgent, TurnStatus, TurnUsage,
    UserId,
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
    assert!(open.len() == 1 && open[0].is_sub_agents);
    let second = agent(&store, ann, &child.chat, None).await;
    let found = store.sub_agents(ann, &parent).await.unwrap();
    assert_eq!((found.len(), found[0].title.as_str()), (1, "look around"), "its own, not theirs");
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
