//! A window that fills: how the server reacts, and what the user sees.

mod long;

use std::sync::atomic::{AtomicBool, Ordering};

use agent::approval::Mode;
use tests::{Asked, Reply, ScriptedModel};

use super::talk::{Talk, answered_by};
use super::*;
use crate::models::{Provider, Tier, TierModel};

/// The beginning of the request for a summary.
const SUMMARY: &str = "The conversation so far has become long.";

fn is_for_summary(asked: &Asked) -> bool {
    asked.last_of_user().starts_with(SUMMARY)
}

/// A model that gives an answer, not a summary, that is long enough for a summary to be worthwhile.
fn greets(asked: &Asked) -> Reply {
    Reply::Say(format!("{} {}", asked.last_of_user(), "to you too ".repeat(100)))
}

async fn greeted(talk: &Talk) {
    for number in 0..10 {
        assert_eq!(talk.say(&format!("hello {number}")).await["agent"]["status"], "done");
    }
}

#[tokio::test]
async fn a_user_compresses_and_sees_what_fills_the_window_and_a_failing_provider_changes_nothing() {
    let is_down = Arc::new(AtomicBool::new(true));
    let its_down = Arc::clone(&is_down);
    let model = ScriptedModel::start(move |asked| match is_for_summary(asked) {
        true if its_down.load(Ordering::SeqCst) => Reply::Refuse(401, "{}".to_owned()),
        true => Reply::Say("they greeted each other".to_owned()),
        false => greets(asked),
    });
    let bench = Bench::asking(answered_by(&model, Provider::Anthropic)).await;
    let talk = bench.talk(Mode::Full).await;
    assert!(talk.told("/context").await.contains("Nothing has been sent"));
    talk.post("/compress").await;
    talk.notice("nothing has been said yet").await;
    greeted(&talk).await;
    talk.post("/compress").await;
    talk.notice("refused the key").await;
    is_down.store(false, Ordering::SeqCst);
    talk.say("all is as it was").await;
    let before = model.asked().pop().unwrap();
    assert!(before.raw.contains("hello 0"), "nothing was changed");
    talk.post("/compress").await;
    talk.notice("was compressed: about").await;
    talk.say("and now").await;
    let after = model.asked().pop().unwrap();
    assert!(after.raw.contains("they greeted each other") && !after.raw.contains("hello 0"), "{}", after.raw);
    assert!(after.raw.contains("all is as it was") && after.raw.len() < before.raw.len());
    let context = talk.told("/context").await;
    assert!(
        context.contains("a summary of earlier messages") && context.contains("of 200,000 tokens"),
        "{context}"
    );
}

#[tokio::test]
async fn a_model_that_stands_in_writes_the_summary_too() {
    let model = ScriptedModel::start(|asked| match is_for_summary(asked) {
        true if asked.body["model"] == "scripted" => Reply::Refuse(402, "{}".to_owned()),
        true => Reply::Say("they greeted each other".to_owned()),
        false => greets(asked),
    });
    let mut models = answered_by(&model, Provider::OpenAi);
    let (subscription, _) = models.server.as_mut().unwrap();
    subscription.models.insert(Tier::Swift, TierModel { name: "small".to_owned(), ..TierModel::default() });
    subscription.fallback = Some("swift".to_owned());
    let bench = Bench::asking(models).await;
    let talk = bench.talk(Mode::Full).await;
    greeted(&talk).await;
    talk.post("/compress").await;
    talk.notice("small answers instead").await;
    talk.notice("was compressed: about").await;
    talk.say("and now").await;
    let after = model.asked().pop().unwrap();
    assert!(
        after.raw.contains("they greeted each other") && after.body["model"] == "scripted",
        "{}",
        after.raw
    );
}
