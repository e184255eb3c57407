//! The settings of a chat as buttons or numbers: a press counts once, for the person who asked, and only for the chat at that time.

use store::{ChatId, RunnerName};

use super::messenger::{Messenger, Shown};
use super::{World, echo, until};

/// A world in which the person `ann` is linked to ada, has two runners, and has asked for the settings.
async fn asked(messenger: Messenger) -> World {
    let world = World::new(echo(), messenger).await;
    world.link(&world.ada, "ann").await;
    for name in ["desktop", "laptop"] {
        world.store.add_runner(world.ada.id, &RunnerName::parse(name).unwrap()).await.unwrap();
    }
    world.messenger.says("ann", "ann", "/settings");
    world.reads("ann", "Approval mode: ").await;
    world
}

impl World {
    /// Ada's chat in a conversation.
    async fn chat_in(&self, conversation: &str) -> ChatId {
        let account = self.store.channel(self.root.id, "desk").await.unwrap();
        self.store.channel_chat(account.id, conversation, self.ada.id).await.unwrap()
    }

    async fn runner(&self) -> Option<String> {
        self.store.chat(self.ada.id, &self.chat_in("ann").await).await.unwrap().runner
    }

    async fn mode(&self, conversation: &str) -> String {
        self.store.approval(self.ada.id, &self.chat_in(conversation).await).await.unwrap()
    }

    /// Presses the button with this label; returns the text that is shown to the person.
    async fn press(&self, person: &str, shown: &Shown, label: &str) -> String {
        let before = self.messenger.press_answers().len();
        let token = &shown.buttons.iter().find(|button| button.label == label).unwrap().token;
        self.messenger.presses(person, shown, token);
        until("the outcome of the press is shown", async || {
            self.messenger.press_answers().get(before).cloned()
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runner_model_and_mode_are_chosen_by_buttons_each_once() {
    let world = asked(Messenger::new()).await;
    let runner = world.reads("ann", "Runner: auto").await;
    let labels: Vec<&str> = runner.buttons.iter().map(|button| button.label.as_str()).collect();
    assert!(labels.starts_with(&["desktop", "laptop"]) && labels.ends_with(&["auto"]), "{labels:?}");
    let model = world.reads("ann", "Model: default").await;
    assert!(model.buttons.iter().any(|button| button.label == "balance"), "{model:?}");
    assert_eq!(world.press("ann", &runner, "desktop").await, "desktop");
    assert_eq!(world.runner().await.as_deref(), Some("desktop"));
    let outcome = world.reads("ann", "go to desktop now").await;
    assert!(outcome.id == runner.id && outcome.buttons.is_empty(), "{outcome:?}");
    assert!(world.press("ann", &runner, "laptop").await.contains("no longer waits"));
    assert_eq!(world.runner().await.as_deref(), Some("desktop"), "one of its choices is taken");
    let mode = world.reads("ann", "Approval mode: ").await;
    assert_eq!(mode.buttons.len(), 4, "{mode:?}");
    assert_eq!(world.press("ann", &mode, "plan").await, "plan");
    assert_eq!(world.mode("ann").await, "plan");
    assert_eq!(world.press("ann", &model, "balance").await, "balance");
    let chosen = world.store.chat_model(world.ada.id, &world.chat_in("ann").await).await.unwrap();
    assert!(chosen.is_some_and(|model| model.ends_with("balance")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_is_changed_by_nobody_else_and_in_no_other_chat() {
    let world = World::new(echo(), Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    world.link(&world.root, "boss").await;
    world.messenger.says("boss", "group", "/group on");
    world.reads("group", "This group is on").await;
    world.messenger.says("ann", "group", "/settings");
    let mode = world.reads("group", "Approval mode: ").await;
    let before = world.mode("group").await;
    for person in ["boss", "stranger"] {
        assert!(world.press(person, &mode, "full").await.contains("somebody else"), "{person}");
    }
    assert_eq!(world.mode("group").await, before);
    // The conversation continues with another chat, so the buttons for the earlier chat do nothing.
    let chat = world.chat_in("group").await;
    world.messenger.says("ann", "group", "/new");
    until("it is another chat", async || (world.chat_in("group").await != chat).then_some(())).await;
    assert!(world.press("ann", &mode, "full").await.contains("no longer waits"));
    assert_eq!(world.mode("group").await, before);
    assert_eq!(world.store.approval(world.ada.id, &chat).await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_are_no_buttons_a_number_chooses() {
    let world = asked(Messenger::without_buttons()).await;
    let mode = world.reads("ann", "Approval mode: ").await;
    let line = mode.text.lines().find(|line| line.ends_with(" plan")).unwrap();
    world.messenger.says("ann", "ann", line.split(' ').next().unwrap());
    world.reads("ann", "This chat is in plan mode now.").await;
    assert_eq!(world.mode("ann").await, "plan");
    world.rests().await;
    assert!(!world.messenger.texts("ann").iter().any(|text| text.starts_with("echo: ")));
}
