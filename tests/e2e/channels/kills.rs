//! Checks for lost and duplicated messages while the server is killed, connections end, answers to requests are lost, and messengers deliver messages
//! again after hours.
//!
//! ```text
//!   for each kill: messages arrive ─▶ a connection ends, a message is accepted without an answer ─▶ earlier messages are answered
//!                  ─▶ the server is killed ─▶ its clock goes on by seven hours ─▶ it starts ─▶ the messages arrive once more
//! ```
//! A message is a number; its answer contains the number.

mod fleet;
mod record;

use std::collections::BTreeSet;
use std::ops::Range;

use super::{EACH, Start, on_each_in_turn};
use fleet::Fleet;

/// The maximum number of messages on one account of OneBot, which may send one message in 500 ms.
const ONEBOT_MESSAGES: usize = 1_000;
/// The most conversations with one account of OneBot: while one of them sends, the others wait.
const ONEBOT_PEOPLE: usize = 2;
/// A run with more messages than this has a messenger to itself.
const SMALL: usize = 1_000;
/// One in this many kills comes after a request that is never answered, in long runs: the server waits 30 s for its answer.
const HANGS_EVERY: usize = 10;

/// The numbers of a run on one messenger.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    /// The number of messages to the bot, each of which is answered.
    messages: usize,
    /// The number of kills.
    kills: usize,
    /// The number of times that a connection ends.
    cuts: usize,
}

impl Numbers {
    /// The numbers that `scripts/soak` sets, or smaller ones.
    fn read() -> Self {
        let number = |name: &str, otherwise| {
            let set = std::env::var(format!("SANDBRIDGE_CHANNEL_{name}"));
            set.ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
        };
        Self { messages: number("MESSAGES", 24), kills: number("KILLS", 2), cuts: number("CUTS", 2) }
    }

    /// The number of accounts. Between two kills, a connection ends at most once: after three short ones in a row, the server pauses for a minute.
    fn accounts(self, messenger: &str) -> usize {
        let by_pace = if messenger == "onebot" { self.messages.div_ceil(ONEBOT_MESSAGES) } else { 1 };
        self.cuts.div_ceil(self.kills).max(by_pace)
    }

    /// The number of people who write to one account. The slowest messenger accepts one message in 3 s for each conversation.
    fn people(self, messenger: &str) -> usize {
        let people = (self.messages / 150).clamp(4, 64).div_ceil(self.accounts(messenger));
        if messenger == "onebot" { people.min(ONEBOT_PEOPLE) } else { people }
    }

    /// The messages before a kill.
    fn batch(self, kill: usize) -> Range<usize> {
        self.messages * kill / self.kills..self.messages * (kill + 1) / self.kills
    }

    /// The accounts whose connections end before a kill.
    fn cut(self, kill: usize, accounts: usize) -> BTreeSet<usize> {
        let ends = self.cuts * kill / self.kills..self.cuts * (kill + 1) / self.kills;
        ends.map(|end| end % accounts).collect()
    }
}

fn killed(name: &str, start: Start, numbers: Numbers) {
    let stand_ins = start(numbers.accounts(name));
    let mut fleet = Fleet::start(&stand_ins, numbers.people(name));
    for kill in 0..numbers.kills {
        let batch = numbers.batch(kill);
        let hangs = kill % HANGS_EVERY == HANGS_EVERY - 1;
        fleet.say(batch.clone(), &numbers.cut(kill, stand_ins.len()), hangs);
        // At most one kill hits a message, so that no answer is interrupted too many times, and none is tried twice without a known outcome and
        // without having arrived. The kills come at different moments: after an eighth of the batch, after a quarter, …
        let part = (batch.len() * (kill % 4 + 1) / 8).max(1);
        fleet.waits("earlier messages are answered, and some of the new ones", |heard| {
            heard.all_before(batch.start) && heard.some_of(&batch) >= part
        });
        // Some messengers keep keys for less than seven hours, so every other restart is at once.
        fleet.kill(kill % 2 == 0);
        fleet.repeat(batch.len());
    }
    fleet.ends(numbers.messages);
    println!("{name}: {}", fleet.summary());
}

#[test]
fn a_killed_server_loses_no_message_and_marks_duplicates_on_each_messenger() {
    let numbers = Numbers::read();
    let at_once = if numbers.messages > SMALL { 1 } else { EACH.len() };
    on_each_in_turn(at_once, move |name, start| killed(name, start, numbers));
}
