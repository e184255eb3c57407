//! Two servers that were given the same bot by mistake.

use tests::eventually;
use tests::platforms::telegram::Telegram;

use super::journey::{add, connected, link};
use super::messenger::Messenger;
use super::{PATIENCE, channel, reads, text};
use crate::http_tools::OPEN;
use crate::world::World;

#[test]
fn two_servers_with_one_telegram_bot_say_so_without_a_busy_loop_and_one_goes_on_alone() {
    /// The most polls that two servers may make while they take turns once.
    const POLLS_MAX: usize = 4;
    let world = || World::with(|asked| tests::Reply::Say(format!("echo: {}", asked.last_of_user())), OPEN);
    let (ours, theirs, telegram) = (world(), world(), Telegram::start());
    telegram.unhurried();
    add(&ours, &telegram);
    link(&ours, &telegram, 0);
    add(&theirs, &telegram);
    let shown = eventually("it is shown", PATIENCE, || {
        Some(channel(&ours)).filter(|channel| channel["state"] == "down")
    });
    let why = shown["last_error"].as_str().unwrap();
    assert!(why.starts_with("another program polls with this token"), "{shown}");
    let listed = ours.run(&["channel", "list"]).stdout;
    assert!(listed.contains("down"), "{listed}");
    let polls = telegram.polls();
    eventually("the other one is interrupted", PATIENCE, || {
        (channel(&theirs)["state"] == "down").then_some(())
    });
    assert!(telegram.polls() - polls <= POLLS_MAX, "{} polls", telegram.polls() - polls);
    theirs.run(&["channel", "remove", "phone"]);
    connected(&ours);
    Messenger::say(&telegram, 0, "hello");
    reads(&telegram, "echo: hello");
    let echoes = telegram.messages().into_iter().filter(|message| text(message).starts_with("echo: "));
    assert_eq!(echoes.count(), 1);
}
