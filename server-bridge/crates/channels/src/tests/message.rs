//! The tool `Message`: it reaches the user's own links and nobody else, and waits where a messenger is down.

use serde_json::{Value, json};
use tests::{Reply, ScriptedModel};

use super::limits::own_account;
use super::messenger::{Fault, Messenger};
use super::outages::state;
use super::{World, until};
use crate::limits::WAITING_MAX;
use crate::tools::SentTo;
use api::words::ChannelState;

/// A model that calls the tool with the words that it is told, and then repeats the result.
fn caller() -> ScriptedModel {
    ScriptedModel::start(|asked| match asked.results().last() {
        Some(result) => Reply::Say(format!("result: {result}")),
        None => Reply::Call(vec![(
            "Message",
            serde_json::from_str::<Value>(&asked.last_of_user()).unwrap_or_else(|_| json!({"text": ""})),
        )]),
    })
}

impl World {
    /// Has ada's agent call the tool in a chat of the page; returns what the agent then says.
    async fn calls_message(&self, arguments: &Value) -> String {
        let chat = self.store.create_chat(self.ada.id).await.unwrap().id;
        self.chats.post(&self.ada, &chat, &arguments.to_string()).await.unwrap();
        until("the agent answered", async || {
            let (messages, _) = self.store.messages(self.ada.id, &chat, None, 100).await.unwrap();
            messages
                .into_iter()
                .find(|message| message.text.starts_with("result: "))
                .map(|message| message.text)
        })
        .await
    }
}

fn count(messenger: &Messenger, person: &str, text: &str) -> usize {
    messenger.texts(person).iter().filter(|shown| *shown == text).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_message_reaches_the_links_of_its_user_and_nobody_else() {
    let world = World::new(caller(), Messenger::new()).await;
    let result = world.calls_message(&json!({"text": "nobody is there"})).await;
    assert!(result.contains("not linked with any channel"), "{result}");
    world.link(&world.ada, "ann").await;
    world.link(&world.root, "boss").await;
    let own = own_account(&world).await;
    let result = world.calls_message(&json!({"text": "**all** is done"})).await;
    assert!(result.contains("is being sent to desk, own"), "{result}");
    world.reads("ann", "all is done").await;
    until("the other account sends it", async || (count(&own, "own", "all is done") == 1).then_some(()))
        .await;
    let result = world.calls_message(&json!({"text": "here only", "channel": "own"})).await;
    assert!(result.ends_with("is being sent to own"), "{result}");
    until("it arrives", async || (count(&own, "own", "here only") == 1).then_some(())).await;
    // Neither another channel nor another person can be named.
    for (arguments, why) in [
        (json!({"text": "secret", "channel": "boss"}), "no connected channel of this name"),
        (json!({"text": "secret", "channel": "desk/boss"}), "no connected channel of this name"),
        (json!({"text": "secret", "channel": "desk", "to": "boss"}), "unknown field"),
        (json!({"text": " \n"}), "the text must have"),
    ] {
        let result = world.calls_message(&arguments).await;
        assert!(result.contains(why), "{arguments}: {result}");
    }
    world.rests().await;
    assert!(!world.messenger.texts("boss").iter().any(|text| text.contains("all is done")));
    for (messenger, person) in [(&*world.messenger, "ann"), (&*world.messenger, "boss"), (&*own, "own")] {
        assert!(!messenger.texts(person).iter().any(|text| text.contains("secret")), "{person}");
    }
    assert_eq!(
        (count(&world.messenger, "ann", "all is done"), count(&world.messenger, "ann", "here only")),
        (1, 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_message_waits_for_a_messenger_that_is_down_and_arrives_once() {
    let world = World::new(caller(), Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    let own = own_account(&world).await;
    world.messenger.goes_down(true);
    until("it is down", async || (state(&world).await == ChannelState::Down).then_some(())).await;
    let result = world.calls_message(&json!({"text": "later"})).await;
    assert!(result.contains("is being sent to own; the message waits until desk"), "{result}");
    world.messenger.fails([Fault::TakenUnsaid]);
    world.messenger.goes_down(false);
    world.reads("ann", "later").await;
    world.rests().await;
    assert_eq!((count(&world.messenger, "ann", "later"), count(&own, "own", "later")), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_too_many_messages_wait_an_agents_message_is_refused_and_the_other_channel_still_gets_it() {
    let world = World::new(caller(), Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    world.messenger.goes_away(true);
    for number in 0..WAITING_MAX {
        world.channels.message(&world.ada, &number.to_string(), "").await.unwrap();
    }
    let result = world.calls_message(&json!({"text": "one more"})).await;
    assert!(result.contains("too many messages are already waiting to be sent on desk"), "{result}");
    let own = own_account(&world).await;
    let result = world.calls_message(&json!({"text": "one more"})).await;
    assert!(result.contains("is being sent to own") && result.contains("not sent to desk"), "{result}");
    until("it arrives", async || (count(&own, "own", "one more") == 1).then_some(())).await;
    world.messenger.goes_away(false);
    world.rests().await;
    let texts = world.messenger.texts("ann");
    let numbers: Vec<i64> = texts.iter().filter_map(|text| text.parse().ok()).collect();
    assert!(numbers.into_iter().eq(0..WAITING_MAX), "{texts:?}");
    assert!(!texts.iter().any(|text| text == "one more"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_message_is_sent_by_the_server_process_that_has_the_account() {
    let world = World::new(caller(), Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    // Another process on the same database, which has no accounts.
    let (_chats, elsewhere) = World::served(&world.store, &world._model, world.around.clone());
    let sent = elsewhere.message(&world.ada, "from elsewhere", "").await.unwrap();
    assert_eq!(sent, SentTo { later: vec!["desk".to_owned()], ..SentTo::default() });
    world.reads("ann", "from elsewhere").await;
    world.rests().await;
    assert_eq!(count(&world.messenger, "ann", "from elsewhere"), 1);
    world.put(false).await;
    let refused = elsewhere.message(&world.ada, "to nobody", "").await.unwrap_err();
    assert!(refused.message().contains("no connected channel"), "{refused}");
}
