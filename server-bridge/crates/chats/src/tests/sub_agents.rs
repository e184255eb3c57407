//! Sub-agents with a real store: their chats and cards, their questions, their memory, and their machine.

use agent::approval::{Answer, Mode};
use serde_json::{Value, json};
use store::TurnStatus;
use tests::{Asked, Reply, ScriptedModel};

use super::talk::Talk;
use super::*;

fn agent(task: &str) -> (&'static str, Value) {
    ("SubAgent", json!({"task": task}))
}

fn is_child(asked: &Asked) -> bool {
    asked.system().contains("You are a sub-agent")
}

/// The tool results in the model's last request.
fn results(model: &ScriptedModel) -> Vec<String> {
    model.asked().pop().unwrap().results()
}

/// Waits until this many sub-agents of a chat are done.
async fn done(talk: &Talk, count: usize) {
    talk.until("a sub-agent is done", async || {
        let cards = talk.cards("SubAgent").await;
        (cards.iter().filter(|card| card["agent"]["status"] == "done").count() >= count).then_some(())
    })
    .await;
}

#[tokio::test]
async fn sub_agents_of_one_answer_work_at_once_three_at_a_time() {
    let (began, mut beginnings) = mpsc::unbounded_channel();
    let (mut at_work, mut most) = (0_usize, 0);
    let model = ScriptedModel::start(move |asked| {
        if !is_child(asked) {
            return match asked.results().is_empty() {
                true => Reply::Call(["a", "b", "c", "d"].map(agent).to_vec()),
                false => Reply::Say(asked.results().join(" | ")),
            };
        }
        let task = asked.last_of_user();
        if asked.results().is_empty() {
            at_work += 1;
            most = most.max(at_work);
            began.send(task.clone()).unwrap();
            let command = if task == "d" { "exit:0" } else { "wait" };
            return Reply::Call(vec![("Shell", json!({"command": command}))]);
        }
        at_work -= 1;
        Reply::Say(format!("{task} is done, {most} at once at most"))
    });
    let bench = Bench::played(&model).await;
    let mut runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Full).await;
    let answer = talk.post("all of it").await.messages[1].id;
    // The first three run at the same time, and the fourth waits for one of them.
    for _ in 0..3 {
        assert_eq!(runner.started.recv().await.unwrap(), "wait");
    }
    runner.release();
    assert_eq!(runner.started.recv().await.unwrap(), "exit:0");
    for count in [2, 3] {
        done(&talk, count).await;
        runner.release();
    }
    let answer = talk.ended(answer).await;
    assert_eq!(answer["agent"]["status"], "done", "{answer}");
    let said = talk.messages().await.pop().unwrap()["text"].as_str().unwrap().to_owned();
    for task in ["a is done", "b is done", "c is done", "d is done, 3 at once at most"] {
        assert!(said.contains(task), "{said}");
    }
    let mut first: Vec<String> = std::iter::from_fn(|| beginnings.try_recv().ok()).collect();
    assert_eq!(first.pop().as_deref(), Some("d"), "it waited for one of the others");
    each_has_a_chat_that_its_card_leads_to(&bench, &talk).await;
}

/// Checks that each sub-agent has its own chat, which is in no list, and a card that leads to it.
async fn each_has_a_chat_that_its_card_leads_to(bench: &Bench, talk: &Talk) {
    let (service, user) = (&talk.service, &talk.user);
    let (cards, agents) =
        (talk.cards("SubAgent").await, service.sub_agents(user.id, &talk.id).await.unwrap());
    assert_eq!((cards.len(), agents.len()), (4, 4));
    for card in &cards {
        // They began concurrently, in any order.
        let id = MessageId(card["id"].as_i64().unwrap());
        let agent = agents.iter().find(|agent| agent.message == Some(id)).unwrap();
        assert_eq!((&card["agent"]["status"], agent.status), (&json!("done"), Some(TurnStatus::Done)));
        let shown = &card["agent"]["sub_agent"];
        assert_eq!(
            (&shown["chat_id"], &shown["steps"]),
            (&json!(agent.chat.to_string()), &json!(1)),
            "{card}"
        );
        assert_eq!(shown["usage"]["input_tokens"], 200, "{card}");
        assert!(shown["doing"].as_str().is_none_or(|doing| doing.starts_with("Shell ")), "{card}");
        let own = talk.messages_of(&agent.chat).await;
        assert_eq!((&own[0]["role"], &own[0]["text"]), (&json!("user"), &json!(agent.title)));
        assert!(own.iter().any(|message| message["agent"]["tool"] == "Shell"), "{own:?}");
    }
    let found = service.find(user.id, crate::Find::default()).await.unwrap();
    assert_eq!(found.iter().map(|found| &found.chat.id).collect::<Vec<_>>(), [&talk.id]);
    let child = &agents[0].chat;
    assert_eq!(service.post(user, child, "hello").await.unwrap_err().kind(), "invalid");
    let eve = bench.somebody("eve").await;
    let page = || service.messages(eve.id, child, crate::Page::Last, None);
    assert_eq!(service.sub_agents(eve.id, &talk.id).await.unwrap_err().kind(), "not_found");
    assert_eq!(page().await.err().unwrap().kind(), "not_found");
    service.delete(user, &talk.id).await.unwrap();
    let gone = service.messages(user.id, child, crate::Page::Last, None).await;
    assert_eq!(gone.err().unwrap().kind(), "not_found");
}

#[tokio::test]
async fn what_a_sub_agent_asks_is_asked_in_the_users_chat() {
    let run = |word: &str| ("Shell", json!({"command": format!("append:log:{word}")}));
    let model = ScriptedModel::start(move |asked| match (is_child(asked), asked.results().len()) {
        (false, 0) => Reply::Call(vec![("SubAgent", json!({"task": "write", "instance": "scribe"}))]),
        (true, 0) => Reply::Call(vec![
            run("ran"),
            run("ran"),
            ("FileCreate", json!({"path": "new", "content": "x"})),
            run("more"),
        ]),
        _ => Reply::Say(asked.results().join(" / ")),
    });
    let bench = Bench::played(&model).await;
    let runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Ask).await;
    let work = talk.post("begin").await.messages[1].id;
    let first = talk.asking("append:log:ran").await;
    assert_eq!(first["agent"]["asked_by"], "scribe");
    let detail = first["agent"]["detail"].as_str().unwrap();
    assert!(detail.starts_with("The sub-agent scribe asks for this:\nruns a command\nmachine: "), "{detail}");
    assert!(detail.contains("\ncommand:\n  | append:log:ran\n"), "{detail}");
    assert_eq!(runner.files.content("log"), None);
    assert_eq!(talk.approve(&first, Answer::AllowForGood).await, None);
    // The same call is not asked about again: a permission for good applies to the chat.
    let file = talk.asking("new").await;
    assert_eq!(runner.files.content("log").unwrap(), "ranran");
    assert_eq!(talk.approve(&file, Answer::Deny).await, None);
    // The mode of the user's chat applies, at any moment.
    let last = talk.asking("append:log:more").await;
    talk.set_mode(Mode::Plan).await;
    assert_eq!(talk.approve(&last, Answer::Allow).await, None);
    assert_eq!(talk.ended(work).await["agent"]["status"], "done");
    assert_eq!(runner.files.content("new"), None);
    assert_eq!(runner.files.content("log").unwrap(), "ranran", "plan mode holds for what was begun before");
    let told = results(&model);
    assert!(told[0].contains("does not allow this"), "{told:?}");
    let messages = talk.messages().await;
    let its = messages.iter().filter(|message| message["agent"]["asked_by"] == "scribe");
    let statuses: Vec<&Value> = its.map(|message| &message["agent"]["status"]).collect();
    assert_eq!(statuses, ["done", "denied", "done"]);
}

/// A model that calls the sub-agent `x` as instructed; the sub-agent remembers a number and repeats it.
fn names_one(asked: &Asked) -> Reply {
    let (said, results) = (asked.last_of_user(), asked.results());
    if is_child(asked) {
        return match (said.as_str(), results.len()) {
            ("the number is 7", 0) => Reply::Call(vec![("Cd", json!({"path": "src"}))]),
            ("the number is 7", _) => Reply::Say("noted".to_owned()),
            (_, 1) => Reply::Call(vec![("Shell", json!({"command": "pwd"}))]),
            _ => {
                let knows = asked.raw.contains("the number is 7");
                Reply::Say(format!("knows: {knows}, in {}", results[results.len() - 1]))
            }
        };
    }
    let again = ("SubAgent", json!({"task": "again", "instance": "x"}));
    match (said.as_str(), results.len()) {
        ("first", 0) => Reply::Call(vec![(
            "SubAgent",
            json!({"task": "the number is 7", "instance": "x", "role": "looker"}),
        )]),
        ("second", 1) => Reply::Call(vec![("SubAgent", json!({"task": "which number?", "instance": "x"}))]),
        ("second", 2) => Reply::Call(vec![
            ("SubAgent", json!({"task": "who?", "instance": "x", "role": "other"})),
            ("SubAgent", json!({"task": "who?", "role": "nobody"})),
        ]),
        ("twice", 4) => Reply::Call(vec![again.clone(), again]),
        _ => Reply::Say(results.join(" | ")),
    }
}

#[tokio::test]
async fn a_sub_agent_with_a_name_remembers_and_keeps_its_role_and_its_directory() {
    let model = ScriptedModel::start(names_one);
    let bench = Bench::played(&model).await;
    let runner = bench.connect("laptop").await;
    runner.files.write("src/a", "");
    runner.files.write(
        ".sandbridge/agents/looker.md",
        "---\nname: looker\ndescription: Looks and tells\ntools: Read, Cd, Shell\n---\nYou only look.\n",
    );
    runner.files.write(".sandbridge/agents/notes.txt", "no role");
    let talk = bench.talk(Mode::Full).await;
    for word in ["first", "second"] {
        assert_eq!(talk.say(word).await["agent"]["status"], "done");
    }
    let told = results(&model);
    assert!(told[0].contains("noted"), "{told:?}");
    assert!(told[1].contains("knows: true, in ") && told[1].contains("/src"), "{told:?}");
    assert!(told[2].contains("has the role looker"), "{told:?}");
    assert!(told[3].contains("there is no role \"nobody\""), "{told:?}");
    assert_eq!(talk.say("twice").await["agent"]["status"], "done");
    let told = results(&model);
    assert_eq!(told.iter().filter(|result| result.contains("is already at work")).count(), 1, "{told:?}");
    let agents = talk.service.sub_agents(talk.user.id, &talk.id).await.unwrap();
    assert_eq!(agents.len(), 1, "all calls are one sub-agent's");
    let child = model.asked().into_iter().find(is_child).unwrap();
    assert_eq!(child.tools(), ["Shell", "Read", "Cd"]);
    assert!(child.system().contains("# Your role\n\nYou only look."));
    let parent = &model.asked()[0];
    assert!(parent.system().contains("- looker: Looks and tells") && !parent.system().contains("notes"));
}

#[tokio::test]
async fn a_sub_agent_knows_in_a_fork_what_it_knew_and_forgets_what_is_taken_back() {
    let model = ScriptedModel::start(|asked| {
        if is_child(asked) {
            return Reply::Say(format!("knows: {}", asked.raw.contains("the number is 7")));
        }
        let call = |task: &str| Reply::Call(vec![("SubAgent", json!({"task": task, "instance": "x"}))]);
        match (asked.last_of_user().as_str(), asked.results().len()) {
            ("first", 0) => call("the number is 7"),
            ("second", 1) | ("third", 0) => call("which number?"),
            _ => Reply::Say(asked.results().pop().unwrap_or_default()),
        }
    });
    let bench = Bench::played(&model).await;
    let talk = bench.talk(Mode::Full).await;
    let last = || results(&model).pop().unwrap();
    assert_eq!(talk.say("first").await["agent"]["status"], "done");
    let fork = talk.service.fork(&talk.user, &talk.id, None).await.unwrap();
    let fork = Talk::open(&bench, &talk.user, fork.id, Mode::Full).await;
    assert_eq!(talk.undo().await.unwrap().text, "first");
    assert_eq!(fork.say("second").await["agent"]["status"], "done");
    assert!(last().contains("knows: true"), "{}", last());
    assert_eq!(talk.say("third").await["agent"]["status"], "done");
    assert!(last().contains("knows: false"), "{}", last());
}
