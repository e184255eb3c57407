//! Sub-agents: turns below a turn.

use records::TurnStatus;

use super::fakes::{Does, Fake};
use super::model::{Step, calls, says, text, took};
use super::world::{World, words};
use crate::approval::{Access, Answer, Mode};
use crate::limits::SUB_AGENT_DEPTH;
use crate::tool::{ForSubAgents, Rules};

/// The text before a sub-agent's task: the note is empty in these tests.
const NO_NOTE: &str = "<context>\n\n</context>\n\n";

/// A chat whose agent makes these calls of sub-agents, which answer according to their task.
fn world(first: &'static [(&str, &str)], child: impl Fn(&str, usize) -> Vec<Step> + Send + 'static) -> World {
    let world = World::by(move |request, _| {
        let asked = words(&request.messages[0]);
        match asked.strip_prefix(NO_NOTE) {
            Some(task) => child(task, request.messages.len()),
            None if request.messages.len() == 1 => calls(first),
            None => says("thanks"),
        }
    });
    let log = world.log.clone();
    let world = world.with(Fake::delegates(&log)).with(Fake::reads(&log, "Look", Does::Echo(10)));
    world.with(Fake::new(&log, "Write", Rules::of(Access::Web), Does::TellsContext))
}

#[tokio::test(start_paused = true)]
async fn a_sub_agents_last_words_are_the_result_and_its_steps_are_on_its_card() {
    let world = world(&[("SubAgent", r#"{"task":"find it"}"#)], |_, said| match said {
        1 => calls(&[("Look", r#"{"x":"here"}"#)]),
        _ => says("found it"),
    });
    let end = world.run("go").await;
    assert_eq!((end.status, world.chat.results()), (TurnStatus::Done, vec!["found it".to_owned()]));
    world.log.came(&[
        "card 2 SubAgent find it delegates 0",
        ">begin one",
        ">card 4 Look here runs",
        "card 2 SubAgent find it delegates 1 Look here",
        ">end Done",
        "SubAgent ends",
    ]);
    assert!(world.chat.shown(2).ends_with(" 1 steps"), "{}", world.chat.shown(2));
}

#[tokio::test(start_paused = true)]
async fn sub_agents_of_one_answer_work_side_by_side_three_at_a_time() {
    const FOUR: &[(&str, &str)] = &[("SubAgent", r#"{"task":"work"}"#); 4];
    let world =
        world(FOUR, |_, _| vec![text("did it"), Step::Pause(1_000), super::model::ended(llm::Stop::End)]);
    let begun = tokio::time::Instant::now();
    world.run("go").await;
    assert_eq!(begun.elapsed().as_secs(), 2);
    assert_eq!(world.chat.results(), ["did it"; 4]);
    assert_eq!((world.log.count("SubAgent begins  (3"), world.log.count("SubAgent begins  (4")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_that_did_not_finish_is_told_with_why_and_what_it_said_last() {
    let world = world(&[("SubAgent", r#"{"task":"work"}"#)], |_, _| {
        vec![text("half of it"), super::model::ended(llm::Stop::Refused)]
    });
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    let result = &world.chat.results()[0];
    assert!(
        result.contains("did not finish: the model refused") && result.contains("half of it"),
        "{result}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_sub_agent_with_its_parent() {
    let world = world(&[("SubAgent", r#"{"task":"work"}"#)], |_, _| vec![text("on it"), Step::Hang]);
    let turn = world.begin("go");
    world.wait(1_000).await;
    world.cancelled.cancel();
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Cancelled);
    world.log.came(&[">end Cancelled", "SubAgent ends", "result of SubAgent", "end Cancelled"]);
    assert!(world.chat.results()[0].contains("the user stopped it"));
}

#[tokio::test(start_paused = true)]
async fn a_name_is_called_once_at_a_time_and_again_later() {
    let world = world(
        &[
            ("SubAgent", r#"{"task":"work","instance":"x"}"#),
            ("SubAgent", r#"{"task":"work","instance":"x"}"#),
        ],
        |_, _| vec![Step::Pause(100), text("first"), super::model::ended(llm::Stop::End)],
    );
    world.run("go").await;
    let results = world.chat.results();
    assert_eq!(results[0], "first");
    assert!(results[1].contains("is already at work"), "{results:?}");
    assert_eq!(world.log.count("sub-agent with"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_that_waited_too_long_is_another_one_and_its_parent_is_told_so() {
    const CALL: &[(&str, &str)] = &[("SubAgent", r#"{"task":"work","instance":"x"}"#)];
    let world = World::by(|request, _| match words(&request.messages[0]).starts_with(NO_NOTE) {
        true => says(&format!("{} so far", request.messages.len())),
        false if words(request.messages.last().unwrap()).ends_with("so far") => says("thanks"),
        false => calls(CALL),
    });
    let log = world.log.clone();
    let world = world.with(Fake::delegates(&log)).with(Fake::reads(&log, "Look", Does::Echo(1)));
    for text in ["one", "two"] {
        world.run(text).await;
    }
    world.set(|settings| settings.is_closed = true);
    world.run("three").await;
    let results = world.chat.results();
    assert_eq!(results[..2], ["1 so far", "3 so far"], "it remembers");
    assert!(
        results[2].starts_with("(The earlier sub-agent \"x\" was closed") && results[2].ends_with("1 so far")
    );
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_a_sub_agents_call_is_told_and_none_is_made() {
    for (arguments, why) in [
        (r#"{"task":" "}"#, "the task is empty"),
        (r#"{"task":"x","instance":""}"#, "must have 1 to 64 characters"),
        (r#"{"task":"x","instance":"a\nb"}"#, "on one line"),
        (r#"{"task":"x","model":"huge"}"#, "not a model for a sub-agent"),
        (r#"{"task":"x","tools":["Fly"]}"#, "a sub-agent cannot have the tool"),
    ] {
        let world = World::new(vec![calls(&[("SubAgent", arguments)])]);
        let log = world.log.clone();
        let world = world.with(Fake::delegates(&log)).with(Fake::reads(&log, "Look", Does::Echo(1)));
        assert_eq!(world.run("go").await.status, TurnStatus::Done);
        assert!(world.chat.results()[0].contains(why), "{arguments}: {:?}", world.chat.results());
        assert_eq!(world.log.count("sub-agent with"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_role_needs_a_machine_to_be_read_from() {
    let world = world(&[("SubAgent", r#"{"task":"x","role":"scribe"}"#)], |_, _| says("done"));
    let end = world.run("go").await;
    assert!(end.error.unwrap().contains("there is no machine"));
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_has_what_it_was_given_and_no_other_tool() {
    let world = world(&[("SubAgent", r#"{"task":"x","tools":["Look"]}"#)], |_, said| match said {
        1 => calls(&[("Write", "{}")]),
        _ => says("I could not"),
    });
    world.run("go").await;
    world.log.came(&[r#"sub-agent with ["Look"]"#, ">card 4 Write  Failed"]);
    let child = world
        .asked()
        .into_iter()
        .find(|request| words(&request.messages[0]) == format!("{NO_NOTE}x"))
        .unwrap();
    assert_eq!(child.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["Look"]);
}

#[tokio::test(start_paused = true)]
async fn tools_only_get_fewer_from_sub_agent_to_sub_agent() {
    let world = World::by(|request, _| {
        let first = words(&request.messages[0]);
        let task = first.strip_prefix(NO_NOTE);
        match (task, request.messages.len()) {
            (None, 1) => calls(&[
                ("SubAgent", r#"{"task":"one","tools":["SubAgent","Look","Write"]}"#),
                ("SubAgent", r#"{"task":"x","tools":["Keep"]}"#),
            ]),
            (Some("one"), 1) => calls(&[
                ("SubAgent", r#"{"task":"x","tools":["Write","Find"]}"#),
                ("SubAgent", r#"{"task":"two","tools":["SubAgent","Look"]}"#),
            ]),
            _ => says(&request.messages.iter().map(|message| words(message)).collect::<Vec<_>>().join(" / ")),
        }
    });
    let log = world.log.clone();
    let keep = Rules::of(Access::Remember).for_sub_agents(ForSubAgents::Never);
    let world = world.with(Fake::delegates(&log)).with(Fake::new(&log, "Keep", keep, Does::Echo(1)));
    let world =
        world.with(Fake::reads(&log, "Look", Does::Echo(1))).with(Fake::reads(&log, "Find", Does::Echo(1)));
    let world = world.with(Fake::new(&log, "Write", Rules::of(Access::Web), Does::Echo(1)));
    world.run("go").await;
    let tools = |task: &str| {
        let asked = world.asked();
        let is_told = |request: &&llm::Request| words(&request.messages[0]) == format!("{NO_NOTE}{task}");
        let request = asked.iter().find(is_told).unwrap();
        let mut names: Vec<String> = request.tools.iter().map(|tool| tool.name.clone()).collect();
        names.sort();
        names
    };
    assert_eq!(
        (tools("one"), tools("two")),
        (vec!["Look".into(), "SubAgent".into(), "Write".into()], vec!["Look".into(), "SubAgent".into()])
    );
    let results = world.chat.results();
    assert!(results[0].contains("cannot have the tool \"Find\" here; it can have"), "{results:?}");
    assert!(results[1].contains("cannot have the tool \"Keep\""), "{results:?}");
    assert_eq!(world.log.count(">sub-agent with"), 1, "one was made where the tools fit");
}

#[tokio::test(start_paused = true)]
async fn others_are_answered_while_a_sub_agent_waits_for_its_user() {
    let world = world(&[("SubAgent", r#"{"task":"x"}"#)], |_, said| match said {
        1 => calls(&[("Write", r#"{"x":"a"}"#)]),
        _ => says("written"),
    })
    .mode(Mode::Ask);
    let turn = world.begin("go");
    world.wait(100).await;
    let place = world.take_place();
    world.allow(Answer::Allow).await;
    world.wait(1_000).await;
    assert!(!turn.is_finished() && world.log.count("Write begins") == 0, "the place is another's");
    drop(place);
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done);
    assert_eq!(world.chat.results(), ["written"]);
}

#[tokio::test(start_paused = true)]
async fn sub_agents_go_so_deep_and_the_last_one_cannot_call_another() {
    let world = World::by(|request, _| {
        let can_call = request.tools.iter().any(|tool| tool.name == "SubAgent");
        match (request.messages.len(), can_call) {
            (1, true) => calls(&[("SubAgent", r#"{"task":"deeper","tools":["SubAgent","Look"]}"#)]),
            (1, false) => says("at the bottom"),
            _ => says(&words(request.messages.last().unwrap())),
        }
    });
    let log = world.log.clone();
    let world = world.with(Fake::delegates(&log)).with(Fake::reads(&log, "Look", Does::Echo(1)));
    assert_eq!(world.run("go").await.words.as_deref(), Some("at the bottom"));
    let deepest = ">".repeat(SUB_AGENT_DEPTH);
    assert_eq!(
        (world.log.count(&format!("{deepest}begin")), world.log.count(&format!("{deepest}>"))),
        (1, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_asks_in_its_users_chat_and_says_who_it_is() {
    let world = world(&[("SubAgent", r#"{"task":"x","instance":"scribe"}"#)], |_, said| match said {
        1 => calls(&[("Write", r#"{"x":"a"}"#)]),
        _ => says("written"),
    })
    .mode(Mode::Ask);
    let turn = world.begin("go");
    let asked_with = world.allow(Answer::Allow).await;
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done);
    assert_eq!(world.chat.results(), ["written"]);
    // The sub-agent's own card only shows that it is running; the question is in the user's chat.
    let card = format!("card {asked_with} Write a by scribe");
    world.log.came(&[
        ">card 4 Write a runs",
        &format!(">ask with {asked_with}"),
        &format!("{card} asks"),
        &format!("tell {asked_with}"),
        ">tell 4",
        &format!("{card} settled Done"),
        "Write begins a",
    ]);
}

#[tokio::test(start_paused = true)]
async fn a_sub_agents_model_is_of_the_tier_that_was_named_and_its_cost_is_its_own() {
    let world =
        world(&[("SubAgent", r#"{"task":"x","model":"swift"}"#)], |_, _| took(100, 1, says("done it")));
    let end = world.run("go").await;
    world.log.came(&[">chain of swift", ">answer of one for 1100", ">end Done"]);
    assert_eq!(end.cost.cost_micros, 0, "the parent's own requests took nothing");
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_whose_chat_was_deleted_is_told_and_the_parent_goes_on() {
    let world = world(&[("SubAgent", r#"{"task":"x"}"#)], |_, _| says("done"));
    world.breaks("run");
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    assert!(world.chat.results()[0].contains("the sub-agent's conversation was deleted in the meantime"));
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_on_another_machine_says_where_it_worked_and_what_became_of_its_worktree() {
    let world =
        world(&[("SubAgent", r#"{"task":"x","on":"gpu-box","worktree":"yes","instance":"a"}"#)], |_, _| {
            says("done it")
        });
    assert_eq!(world.run("go").await.status, TurnStatus::Done);
    let results = world.chat.results();
    assert_eq!(results, ["(It worked on gpu-box.)\n(Its worktree is gone.)\n\ndone it"]);
    world.set(|settings| assert_eq!(settings.agents["a"].place.as_deref(), Some("gpu-box")));
}

#[tokio::test(start_paused = true)]
async fn its_parents_own_machine_is_no_other_one_and_an_unknown_one_gets_no_sub_agent() {
    let world = world(
        &[("SubAgent", r#"{"task":"x","on":"nowhere"}"#), ("SubAgent", r#"{"task":"x","on":"laptop"}"#)],
        |_, _| says("done it"),
    );
    world.run("go").await;
    let results = world.chat.results();
    assert!(results[0].contains("you have no machine nowhere") && results[1] == "done it", "{results:?}");
    assert_eq!(world.log.count("sub-agent with"), 1);
}
