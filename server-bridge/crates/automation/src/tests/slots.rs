//! Schedules in twenty time zones for up to a year: each slot gets one row, and exactly one run or a stated skip, although the server is killed again and
//! again, is down for minutes or days, and its clock is set back. `SANDBRIDGE_SLOT_DAYS` sets the number of days; `scripts/soak` runs a year.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use api::automation::{AutomationDraft, AutomationPut};
use api::words::{AutomationChats, MissedSlots};
use jiff::Timestamp;
use store::{JobRun, MessageRole, Name, RunState, Store, TurnStatus, User};
use tests::random::{Random, count};
use tokio::time::timeout;

use super::zones::{Scheduled, all};
use super::{Running, World};
use crate::limits::{MISSED_ALL_RUNS, MISSED_ONCE_MS, ON_TIME_MS};

/// In six of the zones, the clocks change in the first days.
const BEGIN: &str = "2026-03-27T12:00:00Z";
const FEW_DAYS: u64 = 9;
const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
/// The rows are read this often, in milliseconds of the test's clock: before the server removes them.
const READ_EVERY_MS: i64 = 5 * DAY_MS;
/// The latest moment at which a server is killed after its clock was set.
const KILLED_WITHIN_US: u64 = 30_000;
/// How long the connections of a killed server may take to close.
const CLOSED_WITHIN: Duration = Duration::from_millis(100);
/// How long a server may take for everything that has come due.
const PATIENCE: Duration = Duration::from_secs(60);

/// What must have happened with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Run,
    Missed,
}

/// The fates of all slots, computed from the times at which a server could notice them.
struct Fates {
    jobs: Vec<Scheduled>,
    /// For each job, its slots in their order, and the number of those whose fate is known.
    slots: Vec<(Vec<i64>, usize)>,
    known: HashMap<(usize, i64), Fate>,
}

impl Fates {
    fn new(jobs: Vec<Scheduled>, begin_ms: i64, end_ms: i64) -> Self {
        let slots = jobs.iter().map(|job| (job.times.slots(begin_ms, end_ms), 0)).collect();
        Self { jobs, slots, known: HashMap::new() }
    }

    /// The next slot of any job.
    fn next(&self) -> Option<i64> {
        self.slots.iter().filter_map(|(slots, known)| slots.get(*known)).min().copied()
    }

    /// A server notices all slots up to this time.
    fn noticed(&mut self, now_ms: i64) {
        for (job, (slots, known)) in self.slots.iter_mut().enumerate() {
            let come: Vec<i64> = slots[*known..].iter().copied().take_while(|slot| *slot <= now_ms).collect();
            *known += come.len();
            for (place, slot) in come.iter().enumerate() {
                let (late_ms, from_the_newest) = (now_ms - slot, come.len() - place);
                let is_run = late_ms <= ON_TIME_MS
                    || match self.jobs[job].missed {
                        MissedSlots::Skip => false,
                        MissedSlots::All => from_the_newest <= MISSED_ALL_RUNS,
                        _ => from_the_newest == 1 && late_ms <= MISSED_ONCE_MS,
                    };
                self.known.insert((job, *slot), if is_run { Fate::Run } else { Fate::Missed });
            }
        }
    }
}

/// The rows that were read so far, by job and slot.
#[derive(Default)]
struct Rows(BTreeMap<(usize, i64), JobRun>);

impl Rows {
    /// Reads the rows of all jobs, and checks that no slot got another row since.
    async fn read(&mut self, store: &Store, ada: &User, jobs: &[Scheduled]) {
        for (place, job) in jobs.iter().enumerate() {
            for run in store.job_runs(ada.id, &job.name, None, 1_000).await.unwrap() {
                let slot = run.slot.parse().unwrap();
                if let Some(before) = self.0.insert((place, slot), run.clone()) {
                    assert_eq!(before.id, run.id, "two rows for {} of {}", shown(slot), job.name);
                }
            }
        }
    }
}

fn shown(ms: i64) -> String {
    Timestamp::from_millisecond(ms).unwrap().to_string()
}

/// The work that a killed server left, for each step that it can be killed before.
#[derive(Debug, Default)]
struct Left {
    kills: usize,
    slots: usize,
    without_chat: usize,
    with_chat: usize,
    turns: usize,
}

impl Left {
    async fn note(&mut self, store: &Store, ada: &User) {
        self.kills += 1;
        self.slots += usize::from(!store.due_jobs(store.now_ms(), 1).await.unwrap().is_empty());
        let due = store.due_runs(0, 100).await.unwrap();
        self.without_chat += usize::from(due.iter().any(|run| run.run_chat_id.is_none()));
        self.with_chat += usize::from(due.iter().any(|run| run.run_chat_id.is_some()));
        let is_open =
            |run: &JobRun| matches!(run.turn_status, Some(TurnStatus::Queued | TurnStatus::Running));
        self.turns += usize::from(store.newest_runs(ada.id).await.unwrap().iter().any(is_open));
    }
}

async fn begin(running: &Running, jobs: &[Scheduled]) -> User {
    let ada = running.store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap();
    for job in jobs {
        let chats = if job.has_one_chat { AutomationChats::One } else { AutomationChats::Each };
        let automation = AutomationDraft {
            text: format!("What is new? ({})", job.name),
            schedule: Some(job.times.schedule()),
            chats: Some(chats),
            missed: Some(job.missed.clone()),
            ..AutomationDraft::default()
        };
        let put = AutomationPut { automation, ..AutomationPut::default() };
        running.automations.put(&ada, &job.name, put).await.unwrap();
    }
    ada
}

/// What happens next.
enum Step {
    /// The clock goes on to the next slot, and somewhat further.
    GoesOn(i64),
    /// The server is killed, and another one starts at this time.
    IsDown(i64),
    /// The clock is set back to this time.
    SetBack(i64),
}

/// What happens after `now_ms`, before `end_ms`; the next slot is at `next_ms`.
fn step(random: &mut Random, now_ms: i64, next_ms: i64, end_ms: i64) -> Step {
    let chance = random.within(0..200);
    let mut minutes_ms = |range| random.within(range) as i64 * MINUTE_MS;
    match chance {
        // Slots after the end would get rows too.
        0..3 => Step::IsDown((next_ms + minutes_ms(2..90)).min(end_ms)),
        3..5 => Step::IsDown((next_ms + minutes_ms(90..60 * 60)).min(end_ms)),
        5..8 => Step::SetBack(now_ms - minutes_ms(1..48 * 60)),
        _ => Step::GoesOn((next_ms.max(now_ms) + random.within(0..30_000) as i64).min(end_ms)),
    }
}

#[test]
fn each_slot_of_many_zones_has_one_row_and_one_run_or_a_stated_skip_in_spite_of_kills() {
    let days = count("SANDBRIDGE_SLOT_DAYS", FEW_DAYS) as i64;
    let mut random = Random::seeded();
    let begin_ms = BEGIN.parse::<Timestamp>().unwrap().as_millisecond();
    let world = World::new(begin_ms);
    let end_ms = begin_ms + days * DAY_MS;
    let mut fates = Fates::new(all(), begin_ms, end_ms);
    let (mut rows, mut left) = (Rows::default(), Left::default());
    let ada = {
        let machine = World::machine();
        machine.block_on(async { begin(&world.serve().await, &fates.jobs).await })
    };
    let (mut is_over, mut read_ms, mut dead) = (false, begin_ms, None::<Store>);
    while !is_over {
        let machine = World::machine();
        let store = machine.block_on(async {
            if let Some(dead) = dead.take() {
                // A killed process leaves no file open.
                let _ = timeout(CLOSED_WITHIN, dead.close()).await;
                let store = world.store().await;
                left.note(&store, &ada).await;
                store.close().await;
            }
            let running = world.serve().await;
            loop {
                // Half of the servers that are killed die while they work on what has come due.
                let dies = random.within(0..4) == 0;
                let patience =
                    if dies { Duration::from_micros(random.within(0..KILLED_WITHIN_US)) } else { PATIENCE };
                running.automations.look();
                let settled = timeout(patience, running.settle()).await.is_ok();
                if dies {
                    return running.store.clone();
                }
                assert!(settled, "not all is done at {}", shown(world.now_ms()));
                if world.now_ms() - read_ms > READ_EVERY_MS {
                    read_ms = world.now_ms();
                    rows.read(&running.store, &ada, &fates.jobs).await;
                }
                let Some(next_ms) = fates.next() else {
                    is_over = true;
                    rows.read(&running.store, &ada, &fates.jobs).await;
                    return running.store.clone();
                };
                match step(&mut random, world.now_ms(), next_ms, end_ms) {
                    Step::GoesOn(now_ms) => {
                        world.set_clock(now_ms);
                        fates.noticed(now_ms);
                    }
                    Step::SetBack(now_ms) => world.set_clock(now_ms),
                    Step::IsDown(now_ms) => {
                        world.set_clock(now_ms);
                        fates.noticed(now_ms);
                        return running.store.clone();
                    }
                }
            }
        });
        dead = Some(store);
    }
    println!("{days} days: {} slots; {left:?}", fates.known.len());
    let runs = check(&fates, &rows);
    World::machine().block_on(async { check_messages(&world.store().await, &ada, &rows, runs).await });
}

/// Checks each slot's row; returns the number of runs.
fn check(fates: &Fates, rows: &Rows) -> usize {
    for ((job, slot), fate) in &fates.known {
        let name = format!("{} of {:?}", shown(*slot), fates.jobs[*job]);
        let run = rows.0.get(&(*job, *slot)).unwrap_or_else(|| panic!("no row for {name}"));
        let found = match run.state {
            RunState::Posted => Fate::Run,
            RunState::Skipped if run.note.contains("the server was not running") => Fate::Missed,
            _ => panic!("{name}: {run:?}"),
        };
        assert_eq!(found, *fate, "{name}: {run:?}");
        assert_eq!((run.due_ms, run.times), (*slot, 1), "{name}");
        assert_eq!(run.message.is_some() && run.chat.is_some(), found == Fate::Run, "{name}: {run:?}");
    }
    let others: Vec<_> = rows.0.keys().filter(|key| !fates.known.contains_key(key)).collect();
    assert!(others.is_empty(), "rows for {others:?}");
    rows.0.values().filter(|run| run.state == RunState::Posted).count()
}

/// Checks that each run posted one message, and that nothing else was posted.
async fn check_messages(store: &Store, ada: &User, rows: &Rows, runs: usize) {
    let chats: HashSet<_> = rows.0.values().filter_map(|run| run.chat.clone()).collect();
    let posted: HashSet<_> = rows.0.values().filter_map(|run| run.message).collect();
    assert_eq!(posted.len(), runs, "two runs have one message");
    let mut said = HashSet::new();
    for chat in &chats {
        let (mut before, mut has_older) = (None, true);
        while has_older {
            let messages;
            (messages, has_older) = store.messages(ada.id, chat, before, 1_000).await.unwrap();
            before = messages.first().map(|message| message.id);
            let of_user = messages.iter().filter(|message| message.role == MessageRole::User);
            said.extend(of_user.map(|message| message.id));
        }
    }
    assert_eq!(said, posted, "what was posted");
}
