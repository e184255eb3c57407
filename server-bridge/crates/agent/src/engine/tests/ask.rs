//! Asking and answering.

use llm::{Assistant, Error, Message, Stop, ToolCall, ToolResult};
use records::TurnStatus;
use serde_json::json;

use super::fakes::{Does, Fake};
use super::model::{Step, calls, ended, fails, says, text, took};
use super::world::{World, words};
use crate::limits::TURN_ITERATIONS;

#[tokio::test(start_paused = true)]
async fn an_answer_without_calls_ends_the_turn() {
    let world = World::new(vec![says("hello")]);
    let end = world.run("hi").await;
    assert_eq!((end.status, end.words.as_deref()), (TurnStatus::Done, Some("hello")));
    assert_eq!(world.chat.shown(1), "Done: hello");
    assert_eq!(world.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_turn_is_begun_on_record_before_the_model_is_asked_and_its_end_before_it_is_shown() {
    let world = World::new(vec![says("hello")]);
    world.run("hi").await;
    world.log.came(&[
        "begin one",
        "reply 1 Running",
        "stream 1 Text hello",
        "answer of one",
        "end Done",
        "reply 1 Done",
    ]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_on_record_before_its_calls_run_and_their_results_before_the_model_is_asked_again() {
    let world = World::new(vec![calls(&[("Look", r#"{"x":"a"}"#)])]);
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Look", Does::Echo(5)));
    world.run("look").await;
    world.log.came(&["answer of one", "Look begins a", "Look ends a", "result of Look", "answer of one"]);
    assert_eq!(world.told()[2], "Look of a");
}

#[tokio::test(start_paused = true)]
async fn what_the_model_says_is_shown_as_it_comes() {
    let answer = vec![text("one "), Step::Pause(500), text("two"), ended(Stop::End)];
    let world = World::new(vec![answer]);
    let turn = world.begin("hi");
    world.wait(100).await;
    world.log.came(&["stream 1 Text one"]);
    assert_eq!(world.log.count("stream 1 Text two"), 0);
    assert_eq!(turn.await.unwrap().unwrap().words.as_deref(), Some("one two"));
}

#[tokio::test(start_paused = true)]
async fn thoughts_are_shown_beside_the_answer_and_carry_whose_they_are() {
    let thought = Step::Delta(llm::Delta::Reasoning("hm".to_owned()));
    let world = World::new(vec![vec![thought, text("yes"), ended(Stop::End)]]);
    world.run("hi").await;
    assert_eq!(world.chat.shown(1), "Done: yes [hm]");
    let said = world.chat.said();
    let Message::Assistant(said) = &said[1] else { panic!("{said:?}") };
    assert_eq!((said.text.as_str(), said.reasoning[0].origin.as_str()), ("yes", "server/one"));
}

#[tokio::test(start_paused = true)]
async fn a_later_answer_of_a_turn_has_a_message_of_its_own() {
    let mut first = vec![text("I look")];
    first.extend(calls(&[("Look", "{}")]));
    let world = World::new(vec![first, says("there it is")]);
    let log = world.log.clone();
    let end = world.with(Fake::reads(&log, "Look", Does::Echo(1)));
    end.run("look").await;
    assert_eq!(end.chat.shown(1), "Done: I look", "the first one stands for the turn");
    assert_eq!(end.chat.shown(3), "Done: there it is");
}

#[tokio::test(start_paused = true)]
async fn parts_that_stay_are_the_system_prompt_and_those_that_change_a_note_before_the_message() {
    let world = World::new(vec![]);
    world.run("one").await;
    let request = &world.asked()[0];
    let system: Vec<&str> = request.system.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(system, ["first", "second"], "in the order of their keys, and none that has nothing to say");
    assert_eq!(words(&request.messages[0]), "<context>\nhere\n</context>\n\none");
    world.log.came(&["begin one", "amended", "answer of one"]);
    world.run("two").await;
    assert_eq!(world.told()[2], "two", "it is not said twice");
}

#[tokio::test(start_paused = true)]
async fn the_next_turn_goes_on_with_what_was_said() {
    let world = World::new(vec![says("blue"), says("I said blue")]);
    world.run("a colour?").await;
    world.run("what did you say?").await;
    assert_eq!(world.told()[1..], ["blue".to_owned(), "what did you say?".to_owned()]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_passes_is_tried_again_and_what_came_before_it_is_void() {
    let broken = vec![text("half"), Step::Break(Error::Interrupted)];
    let world = World::new(vec![broken, says("whole")]);
    let end = world.run("hi").await;
    assert_eq!((end.status, end.words.as_deref()), (TurnStatus::Done, Some("whole")));
    world.log.came(&[
        "stream 1 Text half",
        "reply 1 Running: ",
        "notice ⚠️ the answer broke off",
        "stream 1 Text whole",
    ]);
    assert_eq!(world.chat.said().len(), 2, "half an answer is not kept");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_empty_is_asked_for_again() {
    let world = World::new(vec![vec![ended(Stop::End)], says("now")]);
    assert_eq!(world.run("hi").await.words.as_deref(), Some("now"));
    assert_eq!(world.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_answer_is_asked_as_often_as_was_set_and_no_more() {
    let world = World::by(|_, _| fails(Error::Network("no route".to_owned())));
    let end = world.run("hi").await;
    assert_eq!(end.status, TurnStatus::Failed);
    assert!(end.error.unwrap().contains("no route"));
    assert_eq!((world.asked().len(), world.log.count("notice ⚠️")), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn another_model_stands_in_for_the_rest_of_the_turn() {
    let world = World::by(|request, _| match request.model.as_str() {
        "one" => fails(Error::Quota("used up".to_owned())),
        _ if request.messages.len() == 1 => calls(&[("Look", "{}")]),
        _ => says("I am two"),
    });
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Look", Does::Echo(1)));
    let (one, two) = (world.played.setup("one", 100_000), world.played.setup("two", 50_000));
    world.set(|settings| settings.chain = Ok(vec![one, two]));
    let end = world.run("hi").await;
    assert_eq!(end.words.as_deref(), Some("I am two"));
    let models: Vec<String> = world.asked().iter().map(|request| request.model.clone()).collect();
    assert_eq!(models, ["one", "two", "two"], "the first one is not asked again");
    world.log.came(&[
        "notice ⚠️ server/one: the provider reports that the account has no credit left",
        "answer of two",
    ]);
}

#[tokio::test(start_paused = true)]
async fn the_last_model_that_could_stand_in_says_why_there_is_no_answer() {
    let world = World::by(|request, _| fails(Error::Quota(format!("{} is used up", request.model))));
    let chain = ["one", "two", "three"].map(|name| world.played.setup(name, 100_000));
    world.set(|settings| settings.chain = Ok(chain.into()));
    let end = world.run("hi").await;
    assert!(end.error.unwrap().contains("three is used up"));
    assert_eq!((world.asked().len(), world.log.count("notice")), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn what_the_user_has_to_mend_is_told_and_no_other_model_is_asked() {
    let world = World::by(|_, _| fails(Error::Key("no such key".to_owned())));
    let chain = ["one", "two"].map(|name| world.played.setup(name, 100_000));
    world.set(|settings| settings.chain = Ok(chain.into()));
    let end = world.run("hi").await;
    assert!(end.error.unwrap().contains("check the key"));
    assert_eq!(world.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn after_what_a_provider_does_wrong_the_chat_goes_on_with_what_was_said() {
    let world = World::by(|request, _| match words(request.messages.last().unwrap()).as_str() {
        last if last.ends_with("first") => fails(Error::Key("no such key".to_owned())),
        last if last.ends_with("third") => says("whole"),
        // The second request, and the summary that would make room.
        _ => fails(Error::InputTooLong("too many tokens".to_owned())),
    });
    for (said, why) in [("first", "refused the key"), ("second", "too long")] {
        let end = world.run(said).await;
        assert_eq!(end.status, TurnStatus::Failed);
        assert!(end.error.as_ref().unwrap().contains(why), "{end:?}");
    }
    assert_eq!(world.run("third").await.words.as_deref(), Some("whole"));
    let told = world.told().join("\n");
    assert!(["first", "second", "third"].iter().all(|said| told.contains(said)), "{told}");
}

#[tokio::test(start_paused = true)]
async fn without_a_model_the_turn_ends_and_says_why() {
    let world = World::new(vec![]);
    world.set(|settings| settings.chain = Err("no model is set up".to_owned()));
    let end = world.run("hi").await;
    assert_eq!((end.status, end.error.as_deref()), (TurnStatus::Failed, Some("no model is set up")));
    assert_eq!((world.asked().len(), world.log.count("begin")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_and_an_answer_that_is_too_long_end_the_turn_with_what_was_said() {
    for (stop, why) in [(Stop::Refused, "refused to"), (Stop::MaxTokens, "cut off at its maximum length")] {
        let world = World::new(vec![vec![text("well"), ended(stop)]]);
        let end = world.run("hi").await;
        assert_eq!((end.status, end.words.as_deref()), (TurnStatus::Failed, Some("well")));
        assert!(end.error.unwrap().contains(why));
        assert_eq!(world.chat.said().len(), 2, "it is kept");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_ends_is_stopped_after_its_rounds_and_may_go_on() {
    let world = World::by(|_, number| match number < TURN_ITERATIONS {
        true => calls(&[("Look", "{}")]),
        false => says("there"),
    });
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Look", Does::Echo(1)));
    let end = world.run("go").await;
    assert_eq!(end.status, TurnStatus::Failed);
    assert!(end.error.unwrap().contains("the model stopped after 100 rounds; send any message"));
    assert_eq!((world.asked().len(), world.log.count("result of Look")), (TURN_ITERATIONS, TURN_ITERATIONS));
    assert_eq!(world.run("on").await.words.as_deref(), Some("there"));
}

#[tokio::test(start_paused = true)]
async fn all_requests_of_a_turn_are_added_up_and_each_is_on_record_with_its_answer() {
    let world = World::new(vec![took(1_000, 10, calls(&[("Look", "{}")])), took(2_000, 20, says("done"))]);
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Look", Does::Echo(1)));
    let end = world.run("go").await;
    assert_eq!((end.cost.usage.input_tokens, end.cost.usage.output_tokens), (3_000, 30));
    assert_eq!(end.cost.cost_micros, 3_000 * 10 + 30 * 100);
    world.log.came(&["answer of one for 11000", "answer of one for 22000"]);
}

#[tokio::test(start_paused = true)]
async fn tools_are_told_in_their_order_and_one_that_is_gone_stays_declared() {
    let world = World::new(vec![calls(&[("Old", "{}")]), says("ok"), says("again")]);
    let log = world.log.clone();
    let world =
        world.with(Fake::reads(&log, "Old", Does::Echo(1))).with(Fake::reads(&log, "Look", Does::Echo(1)));
    world.run("one").await;
    assert!(world.tools.remove("Old"));
    world.run("two").await;
    let tools = |number: usize| -> Vec<String> {
        world.asked()[number].tools.iter().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!((tools(0), tools(2)), (vec!["Old".into(), "Look".into()], vec!["Look".into(), "Old".into()]));
}

#[tokio::test(start_paused = true)]
async fn a_model_is_not_shown_what_another_one_thought() {
    let world = World::new(vec![says("hello")]);
    let thought = |origin: &str| llm::Reasoning { origin: origin.to_owned(), ..llm::Reasoning::default() };
    let reasoning = ["mine/other", "server/one"].map(thought).to_vec();
    let said = Assistant { reasoning, text: "earlier".to_owned(), ..Assistant::default() };
    world.before(vec![Message::user("hi"), Message::Assistant(said)]);
    world.run("again").await;
    let asked = world.asked();
    let Message::Assistant(said) = &*asked[0].messages[1] else { panic!("no answer") };
    let origins: Vec<&str> = said.reasoning.iter().map(|thought| thought.origin.as_str()).collect();
    assert_eq!(origins, ["server/one"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_an_earlier_server_did_not_finish_has_a_result_that_says_so_and_is_not_run_again() {
    let world = World::new(vec![says("I look first")]);
    let log = world.log.clone();
    let world = world.with(Fake::reads(&log, "Look", Does::Echo(1)));
    let call = |id: &str| ToolCall { id: id.to_owned(), name: "Look".to_owned(), arguments: "{}".to_owned() };
    let said = Assistant { tool_calls: vec![call("1"), call("2"), call("3")], ..Assistant::default() };
    let result = ToolResult { call_id: "1".to_owned(), content: vec!["seen".into()], is_error: false };
    world.before(vec![Message::user("go"), Message::Assistant(said), Message::Tool(result)]);
    world.had_begun("2");
    world.run("and now?").await;
    let told = world.told();
    assert_eq!(told[2], "seen");
    assert!(told[3].contains("It is not known whether it took effect"), "it was begun: {}", told[3]);
    assert!(told[4].contains("before it changed anything"), "it was not: {}", told[4]);
    assert_eq!(world.log.count("Look begins"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_turn_waits_for_answers_of_others_says_so_and_begins_when_one_ends() {
    let world = World::new(vec![says("hello")]);
    let place = world.take_place();
    let turn = world.begin("hi");
    world.wait(1_000).await;
    assert_eq!((world.asked().len(), world.chat.shown(1).as_str()), (0, "Queued waits: "));
    world.log.came(&["reply 1 Queued waits", "notice ⏳ Other answers are under way"]);
    drop(place);
    assert_eq!(turn.await.unwrap().unwrap().status, TurnStatus::Done);
    world.log.came(&["notice ⏳", "begin one"]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_was_ended_elsewhere_asks_nothing() {
    let world = World::new(vec![]);
    world.end_elsewhere();
    let end = world.run("hi").await;
    assert_eq!(end.error.as_deref(), Some("the turn was ended elsewhere"));
    assert!(world.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_changed_meanwhile_is_told_at_the_end_of_a_request_and_not_kept() {
    let world = World::new(vec![says("I see")]);
    world.set(|settings| settings.news = Some("a file changed".to_owned()));
    world.run("hi").await;
    assert_eq!(world.asked()[0].reminder.as_deref(), Some("a file changed"));
    let kept = json!(world.chat.said()).to_string();
    assert!(!kept.contains("a file changed"), "{kept}");
}
