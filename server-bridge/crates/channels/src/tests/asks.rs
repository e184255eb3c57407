//! Questions, and the people who may answer them.

use std::sync::atomic::{AtomicUsize, Ordering};

use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Failure, ForSubAgents, Live, Outcome, Rules, ToolContext, Typed, TypedTool};
use chats::ChatService;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tests::{Reply, ScriptedModel};
use tokio::sync::Semaphore;

use super::World;
use super::messenger::Messenger;
use super::until;

/// How many times the tool below has run.
pub(super) static DONE: AtomicUsize = AtomicUsize::new(0);

/// A tool that needs approval.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Danger {
    what: String,
}

impl TypedTool for Danger {
    type Services = ();

    const NAME: &'static str = "Danger";
    const DESCRIPTION: &'static str = "Does something.";
    const RULES: Rules = Rules::of(Access::External).for_sub_agents(ForSubAgents::Named).without_machine();

    fn hint(&self) -> &str {
        &self.what
    }

    async fn look(&self, _ground: Option<&Ground>) -> Result<Looked, Failure> {
        Ok(Looked::words("does something".to_owned(), vec![part("what", &self.what)]))
    }

    async fn run(&self, (): &(), _: &ToolContext<'_>, _live: Live<'_>) -> Result<Outcome, Failure> {
        DONE.fetch_add(usize::from(self.what == "counted"), Ordering::SeqCst);
        Ok(Outcome::done("it was done"))
    }
}

/// The permits for which the tool below waits.
static RELEASES: Semaphore = Semaphore::const_new(0);

/// A tool that waits for a permit, and needs no approval.
#[derive(Debug, Deserialize, JsonSchema)]
struct Waits {}

impl TypedTool for Waits {
    type Services = ();

    const NAME: &'static str = "Waits";
    const DESCRIPTION: &'static str = "Waits.";
    const RULES: Rules = Rules::of(Access::Read).without_machine();

    fn hint(&self) -> &str {
        ""
    }

    async fn look(&self, _ground: Option<&Ground>) -> Result<Looked, Failure> {
        Ok(Looked::words("waits".to_owned(), Vec::new()))
    }

    async fn run(&self, (): &(), _: &ToolContext<'_>, _live: Live<'_>) -> Result<Outcome, Failure> {
        RELEASES.acquire().await.unwrap().forget();
        Ok(Outcome::done("it waited"))
    }
}

/// Offers the tools `Waits` and `Danger`.
pub(super) fn offer(chats: &ChatService) {
    chats.tools().put(Typed::<Waits>::new(()));
    chats.tools().put(Typed::<Danger>::new(()));
}

pub(super) fn dangerous(what: String) -> ScriptedModel {
    ScriptedModel::start(move |asked| match asked.results().last() {
        Some(result) => Reply::Say(format!("result: {result}")),
        None => Reply::Call(vec![("Danger", json!({"what": what}))]),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_counts_once_for_the_one_who_was_asked_and_its_message_shows_the_outcome() {
    let world = World::new(dangerous("counted".to_owned()), Messenger::new()).await;
    world.chats.tools().put(Typed::<Danger>::new(()));
    world.link(&world.ada, "ann").await;
    world.link(&world.root, "boss").await;
    world.messenger.says("ann", "ann", "do it");
    let ask = world.reads("ann", "Danger needs your approval").await;
    assert!(ask.text.contains("counted"), "{ask:?}");
    let allow = ask.buttons.iter().find(|button| button.label == "Allow").unwrap().token.clone();
    assert!(allow.len() == 32 && ask.buttons.iter().any(|button| button.label == "Deny"));
    // In a group that is off, presses are ignored.
    world.messenger.presses("boss", &ask, &allow);
    world.rests().await;
    assert!(world.messenger.press_answers().is_empty());
    let account = world.store.channel(world.root.id, "desk").await.unwrap();
    world.store.set_channel_group(&account, "ann", true).await.unwrap();
    // Another person presses with the right token, from another conversation and as if from the same one.
    world.messenger.presses(
        "boss",
        &super::messenger::Shown { to: "boss".to_owned(), ..ask.clone() },
        &allow,
    );
    world.messenger.presses("boss", &ask, &allow);
    world.messenger.presses("mallory", &ask, &allow);
    world.messenger.presses(
        "ann",
        &super::messenger::Shown { id: "other".to_owned(), ..ask.clone() },
        &allow,
    );
    world.messenger.presses("ann", &ask, "0123456789abcdef0123456789abcdef");
    world.rests().await;
    assert_eq!(DONE.load(Ordering::SeqCst), 0);
    let refused = world.messenger.press_answers();
    assert_eq!(refused.iter().filter(|text| text.contains("for somebody else")).count(), 2, "{refused:?}");
    world.messenger.presses("ann", &ask, &allow);
    world.messenger.presses("ann", &ask, &allow);
    world.reads("ann", "result: it was done").await;
    let shown = world.reads("ann", "→ Allow").await;
    assert!(shown.id == ask.id && shown.buttons.is_empty(), "{shown:?}");
    world.rests().await;
    assert_eq!(DONE.load(Ordering::SeqCst), 1);
    assert!(world.messenger.press_answers().last().unwrap().contains("already answered"));
    let audit = world.store.audit(100, None).await.unwrap();
    let entry = audit.iter().find(|entry| entry.action == "approval").unwrap();
    assert!(entry.user.as_deref() == Some("ada") && entry.target.contains("(fake)"), "{entry:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_by_a_number_where_there_are_no_buttons_and_by_words_where_it_wants_them() {
    let model = ScriptedModel::start(|asked| match asked.results().len() {
        0 => Reply::Call(vec![("Danger", json!({"what": "x"}))]),
        1 => Reply::Call(vec![("AskUser", json!({"question": "Which colour?", "options": ["red", "blue"]}))]),
        2 => Reply::Call(vec![("AskUser", json!({"question": "And why?", "options": ["a", "b"]}))]),
        _ => Reply::Say(format!("results: {:?}", asked.results())),
    });
    let world = World::new(model, Messenger::without_buttons()).await;
    world.chats.tools().put(Typed::<Danger>::new(()));
    world.link(&world.ada, "ann").await;
    world.messenger.says("ann", "ann", "ask me");
    let ask = world.reads("ann", "Answer with a number:").await;
    assert!(ask.text.contains("\n1 Allow\n") && ask.buttons.is_empty(), "{ask:?}");
    world.rests().await;
    world.messenger.says("ann", "ann", "1");
    let ask = world.reads("ann", "Which colour?").await;
    assert!(ask.text.contains("3 red") && ask.text.contains("4 blue"), "the numbers go on: {ask:?}");
    world.rests().await;
    world.messenger.says("ann", "ann", "1");
    world.reads("ann", "already answered").await;
    world.messenger.says("ann", "ann", "4");
    world.reads("ann", "And why?").await;
    world.rests().await;
    world.messenger.says("ann", "ann", "because of the sky");
    let results = world.reads("ann", "results:").await.text;
    for wanted in ["it was done", "blue", "because of the sky"] {
        assert!(results.contains(wanted), "{results}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_a_server_that_stopped_is_answered_in_the_next_one_with_the_same_buttons() {
    let mut world = World::new(dangerous("after the restart".to_owned()), Messenger::new()).await;
    world.chats.tools().put(Typed::<Danger>::new(()));
    world.link(&world.ada, "ann").await;
    world.messenger.says("ann", "ann", "do it");
    let ask = world.reads("ann", "Danger needs your approval").await;
    let allow = ask.buttons[0].token.clone();
    world.restart().await;
    // A press counts once the question has been asked again; an earlier press is told so, and does not use up the question.
    until("the press counts", async || {
        world.messenger.presses("ann", &ask, &allow);
        world.rests().await;
        let answers = world.messenger.press_answers();
        (!answers.last().unwrap().contains("will ask this again")).then_some(())
    })
    .await;
    let result = world.reads("ann", "result:").await;
    assert!(result.text.contains("it was done"), "{result:?}");
    assert_eq!(
        world.messenger.texts("ann").iter().filter(|text| text.contains("needs your approval")).count(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_long_to_be_read_is_not_allowed_by_a_button() {
    let world = World::new(dangerous("long ".repeat(1_000)), Messenger::new()).await;
    world.chats.tools().put(Typed::<Danger>::new(()));
    world.link(&world.ada, "ann").await;
    world.messenger.says("ann", "ann", "do it");
    let ask = world.reads("ann", "too long to be shown here").await;
    assert!(ask.buttons.is_empty() && ask.text.contains("/#/chats/"), "{ask:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_sub_agent_in_the_background_asks_after_the_answer_is_asked_where_its_chat_is_held_and_once() {
    let model = ScriptedModel::start(|asked| {
        let results = asked.results();
        if asked.system().contains("You are a sub-agent") {
            return match results.len() {
                0 => Reply::Call(vec![("Waits", json!({}))]),
                1 => Reply::Call(vec![("Danger", json!({"what": "below"}))]),
                _ => Reply::Say(format!("it says: {}", results[1])),
            };
        }
        let told = asked.last_of_user();
        match (results.len(), told.contains("have ended")) {
            (0, _) => Reply::Call(vec![(
                "SubAgent",
                json!({"task": "look", "background": true, "tools": ["Waits", "Danger"]}),
            )]),
            (_, false) => Reply::Say("I go on".to_owned()),
            (_, true) => Reply::Say("I heard of it".to_owned()),
        }
    });
    let mut world = World::new(model, Messenger::new()).await;
    offer(&world.chats);
    world.link(&world.ada, "ann").await;
    world.messenger.says("ann", "ann", "begin");
    world.reads("ann", "I go on").await;
    world.rests().await;
    until("the answer was sent", async || {
        world.store.complete_answers(0, 1).await.unwrap().is_empty().then_some(())
    })
    .await;
    RELEASES.add_permits(1);
    let ask = world.reads("ann", "Danger needs your approval").await;
    // After the restart, the question is asked again in a new message, and the first message is settled.
    world.restart().await;
    world.reads("ann", "no longer waits").await;
    let again = until("it is asked again", async || {
        let shown = world.messenger.shown("ann");
        let is_new = |shown: &super::messenger::Shown| {
            shown.id != ask.id && shown.text.contains("needs your approval")
        };
        shown.into_iter().rfind(is_new)
    })
    .await;
    let allow = again.buttons.iter().find(|button| button.label == "Allow").unwrap().token.clone();
    world.messenger.presses("ann", &again, &allow);
    world.messenger.presses("ann", &again, &allow);
    world.reads("ann", "I heard of it").await;
    world.rests().await;
    let texts = world.messenger.texts("ann");
    assert_eq!(texts.iter().filter(|text| text.contains("needs your approval")).count(), 2, "{texts:#?}");
    let shown = world.reads("ann", "→ Allow").await;
    assert!(shown.id == again.id && shown.buttons.is_empty(), "{shown:?}");
}
