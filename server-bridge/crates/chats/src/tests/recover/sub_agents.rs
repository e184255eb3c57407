//! Sub-agents across a restart: they are resumed, and their parents get their answers.

use agent::approval::{Answer, Mode};
use serde_json::{Value, json};
use store::TurnStatus;
use tests::{Asked, Gate, Reply, ScriptedModel};

use super::super::talk::{Talk, answered_by};
use super::*;
use crate::models::Provider;

/// A command that writes before and after it is released.
const COMMAND: &str = "out:before wait out:after";

fn agent(task: &str) -> (&'static str, Value) {
    ("SubAgent", json!({"task": task}))
}

fn shell(command: &str) -> Reply {
    Reply::Call(vec![("Shell", json!({"command": command}))])
}

pub(super) fn is_child(asked: &Asked) -> bool {
    asked.system().contains("You are a sub-agent")
}

/// The number of sub-agents' requests to the model so far.
fn of_children(model: &ScriptedModel) -> usize {
    model.asked().iter().filter(|asked| is_child(asked)).count()
}

/// A server whose chats a scripted model answers, and its machine.
pub(super) struct RecoveryTest {
    directory: tempfile::TempDir,
    pub(super) life: Life,
    pub(super) runner: ScriptedRunner,
    answer: MessageId,
}

impl RecoveryTest {
    /// Posts a message in a chat of this mode.
    pub(super) async fn begin(model: &ScriptedModel, mode: Mode) -> Self {
        Self::begin_after(model, mode, async |_| {}).await
    }

    /// Like [`Self::begin`], after a change in the database.
    pub(super) async fn begin_after(model: &ScriptedModel, mode: Mode, change: impl AsyncFn(&Bench)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let models = answered_by(model, Provider::OpenAi);
        let life = Life::begin_with(&directory.path().join("database"), models).await;
        let (user, chat) = (&life.bench.user, &life.bench.chat.id);
        life.bench.service.set_approval(user, chat, mode).await.unwrap();
        change(&life.bench).await;
        let runner = life.bench.connect("laptop").await;
        let answer = life.post("begin").await;
        Self { directory, life, runner, answer }
    }

    /// Kills the server, and starts another one on the same database, which resumes the work.
    pub(super) async fn next(self, model: &ScriptedModel, mode: Mode) -> Next {
        self.next_after(model, mode, async |_| {}).await
    }

    /// Like [`Self::next`], with a change in the database before the restart.
    pub(super) async fn next_after(
        self,
        model: &ScriptedModel,
        mode: Mode,
        change: impl AsyncFn(&Bench),
    ) -> Next {
        let mut next = self.next_away(model, mode, change).await;
        next.bench.take_over(&mut next.runner, "laptop").await;
        next
    }

    /// Like [`Self::next_after`], but the machine stays offline.
    pub(super) async fn next_away(
        self,
        model: &ScriptedModel,
        mode: Mode,
        change: impl AsyncFn(&Bench),
    ) -> Next {
        let Self { directory, life, runner, answer } = self;
        life.kill(&runner).await;
        let store = Store::open(&directory.path().join("database")).await.unwrap();
        let bench = Bench::with_models(store, answered_by(model, Provider::OpenAi)).await;
        change(&bench).await;
        let talk = bench.talk(mode).await;
        bench.service.recover().await.unwrap();
        Next { _directory: directory, bench, talk, runner, answer }
    }
}

impl RecoveryTest {
    /// Waits for the card that asks the user about this subject.
    pub(super) async fn asking(&self, hint: &str) -> Value {
        self.life.bench.talk(Mode::Ask).await.asking(hint).await
    }
}

/// The server after the restart.
pub(super) struct Next {
    _directory: tempfile::TempDir,
    pub(super) bench: Bench,
    pub(super) talk: Talk,
    pub(super) runner: ScriptedRunner,
    pub(super) answer: MessageId,
}

impl Next {
    /// The status and the text of the complete answer. Checks that, afterwards, nothing is in progress and no question is open.
    pub(super) async fn told(&self) -> (String, String) {
        let shown = self.talk.ended(self.answer).await;
        let (user, store) = (self.bench.user.id, &self.bench.store);
        self.talk
            .until("no turn is open", async || {
                store.open_turns(Some(user)).await.unwrap().is_empty().then_some(())
            })
            .await;
        let mut chats = vec![self.talk.id.clone()];
        while let Some(chat) = chats.pop() {
            for message in self.talk.messages_of(&chat).await {
                let status = message["agent"]["status"].as_str().unwrap_or_default();
                assert!(!["asking", "running", "queued"].contains(&status), "{message}");
            }
            let below = store.sub_agents(user, &chat).await.unwrap();
            chats.extend(below.into_iter().map(|agent| agent.chat));
        }
        let last = self.talk.messages().await.pop().unwrap();
        (
            shown["agent"]["status"].as_str().unwrap().to_owned(),
            last["text"].as_str().unwrap_or_default().to_owned(),
        )
    }

    async fn statuses(&self) -> Vec<Option<TurnStatus>> {
        let agents = self.bench.store.sub_agents(self.bench.user.id, &self.talk.id).await.unwrap();
        agents.into_iter().map(|agent| agent.status).collect()
    }
}

/// A parent that calls one sub-agent and repeats its answer; the sub-agent runs a command and repeats its output.
fn one_command(asked: &Asked) -> Reply {
    match (is_child(asked), asked.results().len()) {
        (false, 0) => Reply::Call(vec![agent("work")]),
        (true, 0) => shell(COMMAND),
        _ => Reply::Say(format!("it says {}", asked.results().join(" | "))),
    }
}

#[tokio::test]
async fn a_command_of_a_sub_agent_runs_once_and_the_parent_gets_its_answer() {
    let model = ScriptedModel::start(one_command);
    let mut test = RecoveryTest::begin(&model, Mode::Full).await;
    assert_eq!(test.runner.started.recv().await.unwrap(), COMMAND);
    let mut next = test.next(&model, Mode::Full).await;
    next.runner.release();
    let (status, text) = next.told().await;
    assert!(status == "done" && text.contains("it says it says ") && text.contains("beforeafter"), "{text}");
    assert!(next.runner.started.try_recv().is_err(), "it ran once");
    assert_eq!((model.asked().len(), of_children(&model)), (4, 2), "no answer was asked for twice");
    assert_eq!(next.statuses().await, [Some(TurnStatus::Done)]);
    let card = next.talk.cards("SubAgent").await.pop().unwrap();
    assert_eq!((&card["agent"]["status"], &card["agent"]["sub_agent"]["steps"]), (&json!("done"), &json!(1)));
    let child = &next.bench.store.sub_agents(next.bench.user.id, &next.talk.id).await.unwrap()[0].chat;
    let own = next.talk.messages_of(child).await;
    assert_eq!(own.iter().filter(|message| message["role"] == "user").count(), 1, "it got its task once");
}

#[tokio::test]
async fn a_sub_agent_that_waited_for_its_model_asks_again_and_nothing_before_that_is_repeated() {
    let mut hung = false;
    let model = ScriptedModel::start(move |asked| match (is_child(asked), asked.results().len()) {
        (false, 0) => Reply::Call(vec![agent("work")]),
        (true, 0) => shell("append:log:x"),
        (true, _) if !std::mem::replace(&mut hung, true) => Reply::Hang("I was about".to_owned()),
        (true, _) => Reply::Say("found it".to_owned()),
        (false, _) => Reply::Say(asked.results().join(" | ")),
    });
    let test = RecoveryTest::begin(&model, Mode::Full).await;
    until("the sub-agent asks its model", async || of_children(&model) == 2).await;
    let next = test.next(&model, Mode::Full).await;
    assert_eq!(next.told().await, ("done".to_owned(), "found it".to_owned()));
    assert_eq!(next.runner.files.content("log").unwrap(), "x");
    assert_eq!(of_children(&model), 3);
}

#[tokio::test]
async fn a_sub_agents_sub_agent_goes_on_too() {
    let model = ScriptedModel::start(|asked| {
        let deeper = json!({"task": "deeper", "tools": ["Shell"]});
        match (is_child(asked), asked.last_of_user().as_str(), asked.results().len()) {
            (false, _, 0) => {
                Reply::Call(vec![("SubAgent", json!({"task": "work", "tools": ["SubAgent", "Shell"]}))])
            }
            (true, "work", 0) => Reply::Call(vec![("SubAgent", deeper)]),
            (true, "deeper", 0) => shell(COMMAND),
            _ => Reply::Say(format!("it says {}", asked.results().join(" | "))),
        }
    });
    let mut test = RecoveryTest::begin(&model, Mode::Full).await;
    assert_eq!(test.runner.started.recv().await.unwrap(), COMMAND);
    let mut next = test.next(&model, Mode::Full).await;
    next.runner.release();
    let (status, text) = next.told().await;
    assert!(status == "done" && text.contains("it says it says it says "), "{text}");
    assert!(text.contains("beforeafter") && next.runner.started.try_recv().is_err(), "{text}");
    assert_eq!(model.asked().len(), 6);
}

#[tokio::test]
async fn one_that_had_ended_beside_another_is_not_called_again() {
    let model = ScriptedModel::start(|asked| {
        let scribe = json!({"task": "quick", "instance": "x"});
        match (is_child(asked), asked.last_of_user().as_str(), asked.results().len()) {
            (false, _, 0) => Reply::Call(vec![("SubAgent", scribe), agent("slow")]),
            (true, "quick", _) => Reply::Say("quick is done".to_owned()),
            (true, _, 0) => shell(COMMAND),
            (true, ..) => Reply::Say("slow is done".to_owned()),
            (false, ..) => Reply::Say(asked.results().join(" | ")),
        }
    });
    let mut test = RecoveryTest::begin(&model, Mode::Full).await;
    test.runner.started.recv().await.unwrap();
    let (user, chat) = (test.life.bench.user.id, test.life.bench.chat.id.clone());
    let store = test.life.bench.store.clone();
    until("the quick one is done", async || {
        let agents = store.sub_agents(user, &chat).await.unwrap();
        agents.iter().any(|agent| agent.status == Some(TurnStatus::Done))
    })
    .await;
    let next = test.next(&model, Mode::Full).await;
    next.runner.release();
    assert_eq!(next.told().await, ("done".to_owned(), "quick is done | slow is done".to_owned()));
    assert_eq!(of_children(&model), 3);
}

#[tokio::test]
async fn what_a_sub_agent_asked_is_asked_again_in_the_users_chat() {
    let model = ScriptedModel::start(|asked| match (is_child(asked), asked.results().len()) {
        (false, 0) => Reply::Call(vec![("SubAgent", json!({"task": "write", "instance": "scribe"}))]),
        (true, 0) => shell("append:log:ran"),
        _ => Reply::Say(format!("it says {}", asked.results().join(" | "))),
    });
    let test = RecoveryTest::begin(&model, Mode::Ask).await;
    let (user, chat) = (test.life.bench.user.id, test.life.bench.chat.id.clone());
    let store = test.life.bench.store.clone();
    let before = async || {
        let (messages, _) = store.messages(user, &chat, None, 100).await.unwrap();
        let asks = |document: &str| document.contains(r#""status":"asking""#);
        messages.into_iter().find(|message| message.document_json.as_deref().is_some_and(asks))
    };
    until("it asks", async || before().await.is_some()).await;
    let before = before().await.unwrap().id.0;
    let next = test.next(&model, Mode::Ask).await;
    let asks = |message: &&Value| message["agent"]["status"] == "asking" && message["id"] != json!(before);
    let card = next.talk.sees("it asks again", |messages| messages.iter().find(asks).cloned()).await;
    assert_eq!(card["agent"]["asked_by"], "scribe");
    assert_eq!(next.runner.files.content("log"), None);
    assert_eq!(next.talk.approve(&card, Answer::Allow).await, None);
    assert_eq!(next.told().await.0, "done");
    assert_eq!(next.runner.files.content("log").unwrap(), "ran");
    assert_eq!(model.asked().len(), 4);
}

#[tokio::test]
async fn a_sub_agent_ends_with_a_parent_that_does_not_go_on() {
    for is_stopped in [false, true] {
        let model = ScriptedModel::start(one_command);
        let mut test = RecoveryTest::begin(&model, Mode::Full).await;
        test.runner.started.recv().await.unwrap();
        let next = test
            .next_after(&model, Mode::Full, async |bench| {
                let (store, user) = (&bench.store, bench.user.id);
                if is_stopped {
                    return store.cancel_turn(user, &bench.chat.id).await.unwrap();
                }
                let open = store.open_turns(Some(user)).await.unwrap();
                let top = open.iter().find(|turn| turn.parent.is_none()).unwrap();
                while store.resume_turn(top.id).await.unwrap() {}
            })
            .await;
        let (status, _) = next.told().await;
        assert_eq!(status, if is_stopped { "cancelled" } else { "interrupted" });
        let its = if is_stopped { TurnStatus::Cancelled } else { TurnStatus::Interrupted };
        assert_eq!(next.statuses().await, [Some(its)]);
        assert_eq!(model.asked().len(), 2, "nobody is asked any more");
    }
}

#[tokio::test]
async fn a_sub_agent_that_was_stopped_or_was_cut_off_too_often_is_told_to_its_parent() {
    for is_stopped in [false, true] {
        let model = ScriptedModel::start(one_command);
        let mut test = RecoveryTest::begin(&model, Mode::Full).await;
        test.runner.started.recv().await.unwrap();
        let next = test
            .next_after(&model, Mode::Full, async |bench| {
                let (store, user) = (&bench.store, bench.user.id);
                let open = store.open_turns(Some(user)).await.unwrap();
                let child = open.iter().find(|turn| turn.parent.is_some()).unwrap();
                if is_stopped {
                    return store.cancel_turn(user, &child.chat).await.unwrap();
                }
                while store.resume_turn(child.id).await.unwrap() {}
            })
            .await;
        let (status, text) = next.told().await;
        let why =
            if is_stopped { "the user stopped it" } else { "the server was stopped during this answer" };
        assert!(status == "done" && text.contains("did not finish") && text.contains(why), "{text}");
        let its = if is_stopped { TurnStatus::Cancelled } else { TurnStatus::Interrupted };
        assert_eq!(next.statuses().await, [Some(its)]);
        assert_eq!(model.asked().len(), 3, "its parent's model is told");
    }
}

#[tokio::test]
async fn a_stop_after_the_restart_reaches_the_sub_agent_and_its_parent() {
    for is_child in [false, true] {
        let model = ScriptedModel::start(one_command);
        let mut test = RecoveryTest::begin(&model, Mode::Full).await;
        test.runner.started.recv().await.unwrap();
        let next = test.next(&model, Mode::Full).await;
        let (user, store) = (&next.bench.user, &next.bench.store);
        let child = store.sub_agents(user.id, &next.talk.id).await.unwrap()[0].chat.clone();
        let chat = if is_child { &child } else { &next.talk.id };
        let stopped = next.bench.service.cancel(user.id, chat).await.unwrap();
        assert!(stopped <= 1, "{stopped}");
        let (status, text) = next.told().await;
        assert_eq!(next.statuses().await, [Some(TurnStatus::Cancelled)]);
        match is_child {
            true => assert!(status == "done" && text.contains("the user stopped it"), "{text}"),
            false => assert_eq!(status, "cancelled"),
        }
    }
}

#[tokio::test]
async fn a_message_of_a_person_to_a_sub_agent_is_answered_by_it_alone_after_a_restart() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = ScriptedModel::start(move |asked| match (is_child(asked), asked.last_of_user().as_str()) {
        (true, text) if text.ends_with("still there?") => Reply::Held("I am".to_owned(), held.clone()),
        (true, _) => Reply::Say("noted".to_owned()),
        (false, _) if asked.results().is_empty() => {
            Reply::Call(vec![("SubAgent", json!({"task": "work", "instance": "x"}))])
        }
        _ => Reply::Say("so be it".to_owned()),
    });
    let mut test = RecoveryTest::begin(&model, Mode::Full).await;
    let (user, store) = (test.life.bench.user.id, test.life.bench.store.clone());
    until("it has its name", async || store.open_turns(Some(user)).await.unwrap().is_empty()).await;
    test.answer = test.life.post("/agent x still there?").await;
    until("the sub-agent asks its model", async || of_children(&model) == 2).await;
    let asked = model.asked().len();
    let next = test.next(&model, Mode::Full).await;
    gate.open();
    let shown = next.talk.ended(next.answer).await;
    assert_eq!((&shown["agent"]["status"], &shown["text"]), (&json!("done"), &json!("I am")));
    assert_eq!(model.asked().len(), asked + 1, "the sub-agent's model, and no other");
}
