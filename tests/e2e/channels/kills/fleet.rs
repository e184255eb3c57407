//! The accounts of one messenger on one server, the people who write to them, and the messages between them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use tests::{Habits, Reply, ScriptedModel, Server, eventually};

use super::record::Record;
use crate::channels::journey::{add_as, link_to};
use crate::channels::messenger::Messenger;
use crate::channels::{PATIENCE, channel_of};
use crate::http_tools::OPEN;
use crate::world::World;

/// The time that passes by the clock of a dead server: Feishu repeats a message for the last time after 6 h, other messengers sooner.
const LATE_MS: u64 = 7 * 3_600_000;
/// The interval at which messengers redeliver messages that were not acknowledged.
const REDELIVERS_EVERY: Duration = Duration::from_secs(3);
/// After this many messages to an account whose messenger redelivers nothing, the test waits until they are stored.
const STORED_EVERY: usize = 8;
/// At least this part of the messages arrives on a messenger that redelivers nothing, in percent.
const ARRIVE_PERCENT: usize = 75;

/// The numbers that were answered so far.
#[derive(Debug, Default)]
pub(super) struct Heard {
    answered: BTreeSet<usize>,
    /// The numbers whose messages may be lost, because the bot was not connected.
    excused: BTreeSet<usize>,
    /// All numbers below this one are answered, or excused.
    first: usize,
}

impl Heard {
    /// True if all numbers below this one are answered.
    pub(super) fn all_before(&self, end: usize) -> bool {
        self.first >= end
    }

    /// How many of these are answered, or excused.
    pub(super) fn some_of(&self, batch: &Range<usize>) -> usize {
        batch.clone().filter(|number| self.is_done(*number)).count()
    }

    fn is_done(&self, number: usize) -> bool {
        self.answered.contains(&number) || self.excused.contains(&number)
    }
}

pub(super) struct Fleet<'a> {
    world: World,
    messengers: &'a [Box<dyn Messenger>],
    people: usize,
    heard: Heard,
    /// For each account, how many messages of the bot were read.
    read: Vec<usize>,
    /// For each account, the numbers that are not known to be stored.
    sent: Vec<Vec<usize>>,
    /// The numbers that were sent while the bot was not connected to a messenger that redelivers nothing.
    dropped: BTreeSet<usize>,
    /// The answers that were in progress at a kill, and those of them that were resumed seven hours later.
    torn: BTreeSet<usize>,
    torn_late: BTreeSet<usize>,
    marked: BTreeSet<usize>,
    failed: BTreeMap<usize, String>,
    cuts: usize,
    kills: usize,
    /// The number of messages that were accepted without an answer.
    lost_answers: usize,
    repeated: usize,
    redelivered: Instant,
    summary: String,
}

fn number_of(text: &str) -> Option<usize> {
    text.strip_prefix("echo: ")?.trim().parse().ok()
}

fn name(account: usize) -> String {
    format!("phone{account}")
}

impl<'a> Fleet<'a> {
    /// Starts a server, adds an account for each stand-in, and links this number of people on each.
    pub(super) fn start(messengers: &'a [Box<dyn Messenger>], people: usize) -> Self {
        let forgets = Habits { remembers: false, counts: false, pauses: false };
        let model =
            ScriptedModel::start_with(forgets, |asked| Reply::Say(format!("echo: {}", asked.last_of_user())));
        let world = World::of(model, OPEN, Server::start_in_a_file);
        thread::scope(|scope| {
            for (account, messenger) in messengers.iter().enumerate() {
                let world = &world;
                scope.spawn(move || {
                    add_as(world, &name(account), &**messenger);
                    (0..people).for_each(|person| link_to(world, &name(account), &**messenger, person));
                });
            }
        });
        Self {
            world,
            messengers,
            people,
            heard: Heard::default(),
            read: vec![0; messengers.len()],
            sent: vec![Vec::new(); messengers.len()],
            dropped: BTreeSet::new(),
            torn: BTreeSet::new(),
            torn_late: BTreeSet::new(),
            marked: BTreeSet::new(),
            failed: BTreeMap::new(),
            cuts: 0,
            kills: 0,
            lost_answers: 0,
            repeated: 0,
            redelivered: Instant::now(),
            summary: String::new(),
        }
    }

    fn replays(&self) -> bool {
        self.messengers[0].replays()
    }

    /// Sends these numbers. In the middle, the connections of these accounts end, and one message of each account is accepted without an answer.
    pub(super) fn say(&mut self, batch: Range<usize>, cut: &BTreeSet<usize>, hangs: bool) {
        let middle = batch.start + batch.len() / 2;
        for number in batch {
            if number == middle {
                self.disturb(cut, hangs);
            }
            self.say_one(number);
        }
        (0..self.messengers.len()).for_each(|account| self.store(account));
    }

    fn disturb(&mut self, cut: &BTreeSet<usize>, hangs: bool) {
        for (account, messenger) in self.messengers.iter().enumerate() {
            let is_cut = cut.contains(&account);
            // On messengers that redeliver nothing, messages and answers share a connection, which ends with the lost answer.
            if self.replays() || (is_cut && self.kills % 2 == 1) {
                if hangs && account == 0 {
                    messenger.hang()
                } else {
                    messenger.fail()
                }
                self.lost_answers += 1;
            }
            if is_cut && (self.replays() || self.kills.is_multiple_of(2)) {
                self.store(account);
                messenger.cut();
            }
            self.cuts += usize::from(is_cut);
        }
    }

    fn say_one(&mut self, number: usize) {
        let accounts = self.messengers.len();
        let (account, person) = (number % accounts, number / accounts % self.people);
        let messenger = &self.messengers[account];
        let is_dropped = !messenger.replays() && !messenger.is_connected();
        messenger.say(person, &number.to_string());
        if is_dropped {
            self.dropped.insert(number);
            self.heard.excused.insert(number);
            eventually("the account is connected again", PATIENCE * 2, || {
                messenger.is_connected().then_some(())
            });
        } else {
            self.sent[account].push(number);
        }
        if self.sent[account].len() >= STORED_EVERY {
            self.store(account);
        }
    }

    /// Waits until an account's messages are stored, on messengers that redeliver nothing. If the connection ends before, they may be lost.
    fn store(&mut self, account: usize) {
        let is_stored = self.messengers[account].is_stored();
        let sent = std::mem::take(&mut self.sent[account]);
        if !is_stored {
            self.heard.excused.extend(sent);
        }
    }

    fn listen(&mut self) {
        for (messenger, read) in self.messengers.iter().zip(&mut self.read) {
            let said = messenger.said_after(*read);
            self.heard.answered.extend(said.iter().filter_map(|said| number_of(&said.text)));
            // A draft is changed when the answer is complete.
            *read += said.iter().position(|said| said.text.ends_with('…')).unwrap_or(said.len());
        }
        while self.heard.is_done(self.heard.first) {
            self.heard.first += 1;
        }
        if self.redelivered.elapsed() > REDELIVERS_EVERY {
            self.messengers.iter().for_each(|messenger| messenger.redeliver());
            self.redelivered = Instant::now();
        }
    }

    /// Waits, as long as answers arrive.
    pub(super) fn waits(&mut self, what: &str, is_done: impl Fn(&Heard) -> bool) {
        self.listen();
        while !is_done(&self.heard) {
            let before = self.heard.answered.len();
            eventually(what, PATIENCE * 2, || {
                self.listen();
                (self.heard.answered.len() > before || is_done(&self.heard)).then_some(())
            });
        }
    }

    /// Kills the server and starts it again; if `is_late`, seven hours later by its clock.
    pub(super) fn kill(&mut self, is_late: bool) {
        self.world.server.kill();
        self.kills += 1;
        if is_late {
            self.messengers.iter().for_each(|messenger| messenger.forget_keys());
        }
        let record = Record::read(&self.world.server, if is_late { LATE_MS } else { 0 });
        if is_late {
            self.torn_late.extend(&record.sending);
        }
        self.note(record);
        self.world.restart(OPEN);
    }

    /// Old rows are removed after eight days by the clock, so each record is noted.
    fn note(&mut self, record: Record) {
        self.torn.extend(record.sending);
        self.marked.extend(record.marked);
        self.failed.extend(record.failed);
    }

    /// Delivers the last messages again.
    pub(super) fn repeat(&mut self, count: usize) {
        let each = count.div_ceil(self.messengers.len());
        for messenger in self.messengers {
            eventually("the account is connected", PATIENCE, || messenger.is_connected().then_some(()));
            messenger.repeat(each);
        }
        self.repeated += count;
    }

    /// Waits until everything is answered, and checks each message.
    pub(super) fn ends(&mut self, count: usize) {
        self.waits("all are answered", |heard| heard.all_before(count));
        // Two more messages to each account: before the second is answered, all repeated messages were handled.
        let accounts = self.messengers.len();
        let end = count + 2 * accounts;
        for last in [count..count + accounts, count + accounts..end] {
            last.clone().for_each(|number| self.say_one(number));
            self.waits("the last messages are answered", |heard| heard.all_before(last.end));
        }
        let record = eventually("nothing waits", PATIENCE, || {
            let record = Record::read(&self.world.server, 0);
            (record.waiting == 0).then_some(record)
        });
        let posted = record.posted.clone();
        self.note(record);
        self.check_posted(&posted, end);
        self.check_answered(&posted);
    }

    fn check_posted(&self, posted: &[usize], end: usize) {
        assert!(posted.windows(2).all(|pair| pair[0] < pair[1]), "posted twice: {posted:?}");
        let posted: BTreeSet<usize> = posted.iter().copied().collect();
        let lost = (0..end).filter(|number| !posted.contains(number) && !self.heard.excused.contains(number));
        assert_eq!(lost.collect::<Vec<_>>(), Vec::<usize>::new(), "lost");
        if self.replays() {
            assert!(self.heard.excused.is_empty(), "{:?}", self.heard.excused);
            return;
        }
        let arrived = 100 * posted.len() / end;
        assert!(arrived >= ARRIVE_PERCENT, "only {arrived} % of the messages arrived");
        for account in 0..self.messengers.len() {
            let status = channel_of(&self.world, &name(account));
            assert!(status["gap"].as_str().unwrap().contains("are lost"), "{status}");
        }
    }

    /// Each message that was posted is answered once; twice only if the answer is marked, and its first try had no known outcome.
    fn check_answered(&mut self, posted: &[usize]) {
        let mut copies = BTreeMap::<usize, usize>::new();
        let said = self.messengers.iter().flat_map(|messenger| messenger.said());
        said.filter_map(|said| number_of(&said.text))
            .for_each(|number| *copies.entry(number).or_default() += 1);
        let lost: Vec<_> = posted.iter().filter(|number| !copies.contains_key(number)).collect();
        assert!(lost.is_empty(), "not answered: {lost:?}; given up: {:?}", self.failed);
        let allowed = |number: &usize| 1 + usize::from(self.marked.contains(number));
        let doubled: Vec<_> = copies.iter().filter(|(number, copies)| **copies > allowed(number)).collect();
        assert!(doubled.is_empty(), "answered twice without a mark: {doubled:?}");
        let unmarked: Vec<_> =
            self.failed.iter().filter(|(number, _)| !self.marked.contains(number)).collect();
        assert!(unmarked.is_empty(), "given up without a mark: {unmarked:?}");
        if self.messengers[0].has_keys() {
            let is_twice = |(number, copies): (&usize, &usize)| (*copies > 1).then_some(*number);
            let twice: BTreeSet<usize> = copies.iter().filter_map(is_twice).collect();
            assert!(twice.is_subset(&self.torn_late), "{twice:?} of {:?}", self.torn_late);
            assert!(self.marked.is_subset(&self.torn), "{:?} of {:?}", self.marked, self.torn);
        } else {
            // When a connection ends, each conversation may be waiting for the answer to a message.
            let most = self.torn.len() + self.lost_answers + self.cuts * self.people;
            assert!(self.marked.len() <= most, "{} marked, of {most}: {:?}", self.marked.len(), self.marked);
        }
        let twice = copies.values().filter(|copies| **copies > 1).count();
        self.summary = format!(
            "{} posted ({} sent without a connection, {} around a cut), {} answered, {twice} of them twice, {} marked, {} given up after they arrived; \
             {} cuts, {} kills, {} answers lost, {} repeated; {} accounts, {} people each",
            posted.len(),
            self.dropped.len(),
            self.heard.excused.len() - self.dropped.len(),
            copies.len(),
            self.marked.len(),
            self.failed.len(),
            self.cuts,
            self.kills,
            self.lost_answers,
            self.repeated,
            self.messengers.len(),
            self.people,
        );
    }

    /// The numbers of the run.
    pub(super) fn summary(&self) -> &str {
        &self.summary
    }
}
