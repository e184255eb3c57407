//! Drafts: an answer is shown in one message while the model writes it, within each messenger's rate limit, and is complete in the end,
//! even if the server dies.

use std::thread;
use std::time::Duration;

use tests::platforms::slack::Slack;
use tests::platforms::telegram::Telegram;
use tests::{Reply, eventually};

use super::journey::{add, connected, link};
use super::messenger::Messenger;
use super::{PATIENCE, Start, channel, on_each, several};
use crate::http_tools::OPEN;
use crate::world::World;

/// The messengers whose messages can be edited.
const EDITING: &[&str] = &["discord", "feishu", "matrix", "slack", "telegram"];
/// The number of numbered words in an answer, and the time that each word takes.
const WORDS: usize = 90;
const WORD: Duration = Duration::from_millis(100);

fn text() -> String {
    (0..WORDS).map(|number| format!("w{number:03} ")).collect::<String>().trim_end().to_owned()
}

/// The bot's messages that begin like the answer, or that report an interrupted one.
fn answers(messenger: &dyn Messenger) -> Vec<String> {
    let said = messenger.said().into_iter().map(|said| said.text.trim().to_owned());
    said.filter(|text| text.starts_with("w000") || text.contains('⚠')).collect()
}

fn is_draft(text: &str) -> bool {
    text.ends_with('…')
}

fn drafted(messenger: &dyn Messenger) {
    let mut world = World::with(|_| Reply::Slowly(text(), WORD), OPEN);
    add(&world, messenger);
    link(&world, messenger, 0);
    let edits = EDITING.contains(&messenger.kind());
    messenger.say(0, "write");
    if edits {
        eventually("a draft is shown", PATIENCE, || {
            answers(messenger).last().is_some_and(|text| is_draft(text)).then_some(())
        });
    }
    eventually("the answer is complete", PATIENCE, || {
        (answers(messenger).last() == Some(&text())).then_some(())
    });
    assert_eq!(answers(messenger), [text()], "in one message");
    assert_eq!(messenger.refused(), Vec::<String>::new());
    if !edits {
        return;
    }
    messenger.say(0, "write again");
    eventually("a draft is shown", PATIENCE, || {
        answers(messenger).last().is_some_and(|text| is_draft(text)).then_some(())
    });
    // If the server dies before it knows that a draft was accepted, the draft remains on messengers without idempotency
    // keys.
    eventually("the draft is on record", PATIENCE, || (channel(&world)["waiting"] == 0).then_some(()));
    world.kill_and_restart(OPEN);
    connected(&world);
    eventually("the draft is replaced by the ended answer", PATIENCE, || {
        let answers = answers(messenger);
        (answers.len() > 1 && !answers.iter().any(|text| is_draft(text))).then_some(())
    });
}

#[test]
fn an_answer_grows_in_place_and_no_draft_remains_after_a_kill_on_each_messenger() {
    on_each(drafted);
}

/// Tests messengers that refuse requests that come too fast.
#[test]
fn growing_answers_stay_within_the_messengers_rate_limits() {
    let strict: [Start; 2] = [|count| several(count, Telegram::start), |count| several(count, Slack::start)];
    thread::scope(|scope| {
        for start in strict {
            scope.spawn(move || hurried(&*start(1)[0]));
        }
    });
}

fn hurried(messenger: &dyn Messenger) {
    const PEOPLE: usize = 3;
    let world = World::with(|_| Reply::Slowly(text(), WORD), OPEN);
    add(&world, messenger);
    (0..PEOPLE).for_each(|person| link(&world, messenger, person));
    (0..PEOPLE).for_each(|person| messenger.say(person, "write"));
    let mut drafts = 0;
    eventually("all answers are complete", PATIENCE * 2, || {
        let answers = answers(messenger);
        drafts = drafts.max(answers.iter().filter(|text| is_draft(text)).count());
        (answers.iter().filter(|said| **said == text()).count() == PEOPLE).then_some(())
    });
    assert!(drafts > 0, "{} showed no draft", messenger.kind());
    assert_eq!(answers(messenger).len(), PEOPLE, "each answer is in one message");
    assert_eq!(messenger.refused(), Vec::<String>::new());
}
