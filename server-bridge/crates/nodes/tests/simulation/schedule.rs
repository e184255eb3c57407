//! A schedule: the faults and events of nodes, links and homes, step by step.

use std::cell::{Cell, RefCell};
use std::panic;
use std::time::Duration;

use store::limits::NODE_LEASE;
use store::{ChatId, ExecId, RunnerName, UserId};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::check::{self, Command};
use crate::client::{Client, Known, Posted};
use crate::clockwork::{Clockwork, Naps, progress_so_far};
use crate::database::Database;
use crate::house::House;
use crate::job::Script;
use crate::machine::Hand;
use crate::process::{Became, Process, Spare};
use crate::random::Random;

/// The URLs of the nodes.
const URLS: [&str; 3] = ["http://a:1", "http://b:1", "http://c:1"];
/// The names of the users.
const PEOPLE: [&str; 2] = ["ann", "bob"];
/// The machines, numbered from 1: the index of the owner, and the name.
const MACHINES: [(usize, &str); 3] = [(0, "laptop"), (0, "desk"), (1, "laptop")];
/// The number of steps of a schedule before all faults end.
const STEPS: u64 = 28;
/// The maximum number of messages that one person writes.
const MESSAGES: u64 = 6;
/// The longest output of a command, in bytes.
const OUTPUT: u64 = 5_000;
/// The longest output of some commands, in bytes: more than a stream's credit window.
const LONG_OUTPUT: u64 = 1_000_000;
/// The number of steps, of one second each, within which all work must end.
const REST: u64 = 100;

thread_local! {
    /// True once a task of any process of this thread has panicked in the current schedule.
    static HAS_PANICKED: Cell<bool> = const { Cell::new(false) };
    /// The steps so far, for the output of a failure.
    static STORY: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Makes a panic in any task fail its schedule.
pub(crate) fn note_panics() {
    let shown = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !HAS_PANICKED.replace(true) {
            STORY.with_borrow(|story| eprintln!("{}", story.join("\n")));
        }
        shown(info);
    }));
}

/// Adds a line to the story that a failure prints.
pub(crate) fn tell(step: String) {
    STORY.with_borrow_mut(|story| story.push(step));
}

/// Counts of events, for the summary of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Happened {
    pub(crate) exited: u64,
    pub(crate) cancelled: u64,
    pub(crate) lost: u64,
    pub(crate) never_began: u64,
    pub(crate) refused: u64,
    pub(crate) detached: u64,
    pub(crate) gap_bytes: u64,
    pub(crate) messages: u64,
    pub(crate) kills: u64,
    pub(crate) freezes: u64,
    pub(crate) stops: u64,
    pub(crate) moves: u64,
    pub(crate) partitions: u64,
    pub(crate) restarts: u64,
    pub(crate) homes: u64,
}

impl Happened {
    pub(crate) fn add(&mut self, other: Self) {
        self.exited += other.exited;
        self.cancelled += other.cancelled;
        self.lost += other.lost;
        self.never_began += other.never_began;
        self.refused += other.refused;
        self.detached += other.detached;
        self.gap_bytes += other.gap_bytes;
        self.messages += other.messages;
        self.kills += other.kills;
        self.freezes += other.freezes;
        self.stops += other.stops;
        self.moves += other.moves;
        self.partitions += other.partitions;
        self.restarts += other.restarts;
        self.homes += other.homes;
    }
}

/// The state that the schedules of one thread share: the runtime of everything outside the nodes, and the database.
pub(crate) struct Bench {
    world: Clockwork,
    database: Database,
    users: [UserId; PEOPLE.len()],
    /// The number of processes so far, and the spare ones that can be reused.
    processes: u64,
    spares: Vec<Spare>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let world = Clockwork::new();
        let database = Database::new(&world, &PEOPLE);
        let users = PEOPLE.map(|name| world.finish(database.user(name)));
        Self { world, database, users, processes: 0, spares: Vec::new() }
    }

    /// Runs one schedule.
    pub(crate) fn run(&mut self, seed: u64) -> Happened {
        STORY.take();
        HAS_PANICKED.set(false);
        let mut schedule = Schedule::begin(self, Random(seed));
        for _ in 0..STEPS {
            schedule.step();
        }
        schedule.mend();
        let happened = schedule.end();
        self.world.finish(self.database.clear());
        happened
    }
}

struct Schedule<'a> {
    bench: &'a mut Bench,
    random: Random,
    house: House,
    processes: [Option<Process>; URLS.len()],
    hands: Vec<Hand>,
    machines: Vec<JoinHandle<()>>,
    commands: Vec<(Command, JoinHandle<Known>)>,
    chats: Vec<(UserId, ChatId, JoinHandle<Posted>)>,
    calm: CancellationToken,
    happened: Happened,
}

impl<'a> Schedule<'a> {
    fn begin(bench: &'a mut Bench, mut random: Random) -> Self {
        let house = House::new();
        let mut hands = Vec::new();
        let urls = || URLS.map(str::to_owned).to_vec();
        for (number, (owner, name)) in (1..).zip(MACHINES) {
            let name = RunnerName::parse(name).unwrap();
            let adding = bench.database.store.add_runner(bench.users[owner], &name);
            let token = bench.world.finish(adding).unwrap().token.into_exposed();
            hands.push(Hand::new(number, token, random.fork()));
        }
        let machines =
            hands.iter().map(|hand| bench.world.spawn(hand.clone().run(house.clone(), urls()))).collect();
        let calm = CancellationToken::new();
        let mut schedule = Self {
            house,
            processes: [const { None }; URLS.len()],
            hands,
            machines,
            commands: Vec::new(),
            chats: Vec::new(),
            calm,
            happened: Happened::default(),
            bench,
            random,
        };
        for slot in 0..URLS.len() {
            schedule.start(slot);
        }
        schedule.settle();
        schedule.clients();
        schedule
    }

    fn clients(&mut self) {
        for number in 0..3 + self.random.below(3) {
            let machine = self.random.place(MACHINES.len());
            let (owner, name) = MACHINES[machine];
            let code = if self.random.is_one_in(2) { 0 } else { self.random.below(100) as i32 };
            let longest = if self.random.is_one_in(16) { LONG_OUTPUT } else { OUTPUT };
            let length = self.random.below(longest);
            let script = Script { machine: machine as u64 + 1, seed: number, length, code };
            let (id, is_detached) = (ExecId::random(), self.random.is_one_in(4));
            let client = self.client(self.bench.users[owner]);
            let running = client.run(id.clone(), name.to_owned(), script, is_detached);
            let running = self.bench.world.spawn(running);
            self.commands.push((Command { id, place: name.to_owned(), script }, running));
        }
        for user in self.bench.users {
            let chat = self.bench.world.finish(self.bench.database.store.create_chat(user)).unwrap().id;
            let (client, messages) = (self.client(user), self.random.below(MESSAGES));
            let posting = self.bench.world.spawn(client.post(chat.clone(), messages, format!("user {user}")));
            self.chats.push((user, chat, posting));
        }
    }

    fn client(&mut self, user: UserId) -> Client {
        let (house, urls) = (self.house.clone(), URLS.map(str::to_owned).to_vec());
        Client { house, urls, user, random: self.random.fork(), calm: self.calm.clone() }
    }

    fn step(&mut self) {
        let slot = self.random.place(URLS.len());
        match self.random.below(21) {
            0..=6 => {}
            7..=9 => self.cut(),
            10 if self.random.is_one_in(2) => self.restart(),
            10 | 11 => self.cut(),
            12 | 13 => self.give_up(),
            14 => self.kill(slot),
            19 => self.outlive(slot),
            15 => self.start(slot),
            16 => self.freeze(slot),
            17 => self.thaw(slot),
            18 => self.part(slot),
            _ => self.stop(slot),
        }
        if self.random.is_one_in(4) {
            self.outlive(slot);
        }
        let longest = if self.random.is_one_in(6) { 3_000 } else { 500 };
        let time = Duration::from_millis(1 + self.random.below(longest));
        self.pass(time);
    }

    fn cut(&mut self) {
        let hand = self.random.place(self.hands.len());
        tell(format!("the link of machine {} is cut", hand + 1));
        self.hands[hand].cut();
    }

    fn restart(&mut self) {
        let hand = self.random.place(self.hands.len());
        tell(format!("the runner of machine {} ends, and another one begins", hand + 1));
        self.hands[hand].restart();
        self.happened.restarts += 1;
    }

    /// Makes a node give up a home.
    fn give_up(&mut self) {
        let user = self.bench.users[self.random.place(PEOPLE.len())];
        for process in self.processes.iter().flatten() {
            if !process.is_frozen()
                && let Some(node) = process.node()
                && node.nodes.users().contains(&user)
            {
                tell(format!("{} gives up the home of user {user}", node.url));
                process.spawn(|node| async move {
                    let _released = node.nodes.release(user).await;
                });
                self.happened.moves += 1;
            }
        }
    }

    fn kill(&mut self, slot: usize) {
        let Some(process) = self.processes[slot].take() else { return };
        tell(format!("{} is killed", URLS[slot]));
        // The process is killed at an arbitrary point of its work.
        let mut naps = Naps::new();
        for _ in 0..self.random.below(8) {
            process.turn();
            naps.nap();
        }
        process.kill();
        self.happened.kills += 1;
    }

    /// Lets the lease of a frozen or dead node expire. The other nodes keep their leases, as if they had just renewed them.
    fn outlive(&mut self, slot: usize) {
        match &mut self.processes[slot] {
            Some(process) if process.is_frozen() => process.advance(NODE_LEASE),
            Some(_) => return,
            None => {}
        }
        tell(format!("the lease of {} is over", URLS[slot]));
        self.bench.world.finish(self.bench.database.end_lease(URLS[slot]));
    }

    fn start(&mut self, slot: usize) {
        if self.processes[slot].is_some() {
            return;
        }
        tell(format!("a process starts at {}", URLS[slot]));
        let bench = &mut *self.bench;
        let spare = bench.spares.pop().unwrap_or_else(|| {
            bench.processes += 1;
            Spare::new(&bench.database, bench.processes)
        });
        self.processes[slot] = Some(Process::start(spare, URLS[slot], &self.house));
    }

    fn freeze(&mut self, slot: usize) {
        // A node frozen during a change would hold its lock until PostgreSQL's own timeout, which takes seconds of real time.
        self.settle();
        if let Some(process) = &mut self.processes[slot]
            && !process.is_frozen()
        {
            tell(format!("{} freezes", URLS[slot]));
            process.freeze();
            self.happened.freezes += 1;
        }
    }

    fn thaw(&mut self, slot: usize) {
        if let Some(process) = &mut self.processes[slot] {
            tell(format!("{} goes on", URLS[slot]));
            process.thaw();
        }
    }

    fn part(&mut self, slot: usize) {
        let other = (slot + 1) % URLS.len();
        let are_parted = !self.house.are_parted(URLS[slot], URLS[other]);
        tell(format!("{} and {}: parted {are_parted}", URLS[slot], URLS[other]));
        self.house.part(URLS[slot], URLS[other], are_parted);
        self.happened.partitions += u64::from(are_parted);
    }

    fn stop(&mut self, slot: usize) {
        let drains = self.random.is_one_in(2);
        if let Some(process) = &mut self.processes[slot] {
            tell(format!("{} is stopped", URLS[slot]));
            process.stop(drains);
            self.happened.stops += 1;
        }
    }

    /// Advances time in several steps.
    fn pass(&mut self, time: Duration) {
        tell(format!("{} ms pass", time.as_millis()));
        self.bench.world.finish(self.bench.database.advance(time));
        let parts = 1 + self.random.below(4) as u32;
        for _ in 0..parts {
            self.bench.world.advance(time / parts);
            for process in self.processes.iter_mut().flatten() {
                process.advance(time / parts);
                process.work();
            }
            self.settle();
        }
    }

    /// Drives all processes until none has work that is ready.
    fn settle(&mut self) {
        let mut quiet = 0;
        while quiet < 2 {
            let before = progress_so_far();
            let mut is_quiet = true;
            self.bench.world.turn();
            for slot in 0..URLS.len() {
                if let Some(process) = &self.processes[slot] {
                    is_quiet &= !process.work();
                }
                self.follow(slot);
            }
            assert!(!HAS_PANICKED.get(), "a task panicked");
            quiet = if is_quiet && progress_so_far() == before { quiet + 1 } else { 0 };
        }
        let ended = self.machines.iter().any(JoinHandle::is_finished);
        assert!(!ended, "a machine gave up");
    }

    fn follow(&mut self, slot: usize) {
        let Some(process) = self.processes[slot].take() else { return };
        let Bench { world, database, spares, .. } = &mut *self.bench;
        match process.follow(world, database) {
            Became::Same(process) => self.processes[slot] = Some(process),
            Became::Ended(spare) => spares.push(spare),
            Became::Refused => {}
        }
    }

    /// Ends all faults, and waits until nothing is in progress any more.
    fn mend(&mut self) {
        tell("all faults have ended".to_owned());
        self.calm.cancel();
        self.hands.iter().for_each(Hand::calm);
        for (one, other) in [(0, 1), (1, 2), (2, 0)] {
            self.house.part(URLS[one], URLS[other], false);
        }
        for slot in 0..URLS.len() {
            self.outlive(slot);
            self.thaw(slot);
        }
        for _ in 0..REST {
            for slot in 0..URLS.len() {
                self.start(slot);
            }
            self.pass(Duration::from_secs(1));
            let are_done = self.commands.iter().all(|(_, running)| running.is_finished())
                && self.chats.iter().all(|(_, _, posting)| posting.is_finished());
            if are_done && !self.bench.world.finish(self.bench.database.is_anything_running()) {
                return;
            }
        }
        let open: Vec<_> = self.commands.iter().filter(|(_, running)| !running.is_finished()).collect();
        let open: Vec<_> = open.into_iter().map(|(command, _)| command.id.to_string()).collect();
        for process in self.processes.iter().flatten() {
            tell(process.describe(&self.bench.users));
        }
        tell(self.bench.world.finish(self.bench.database.describe()));
        panic!("work is still in progress after {REST} s; clients still wait for {open:?}");
    }

    /// Checks the invariants, and stops the remaining processes.
    fn end(mut self) -> Happened {
        let Bench { world, database, .. } = &mut *self.bench;
        let strays = world.finish(database.strays());
        assert!(strays.is_empty(), "{strays:#?}");
        let happened = &mut self.happened;
        for (command, running) in self.commands.drain(..) {
            let known = world.finish(running).unwrap();
            happened.detached += u64::from(known == Known::Detached);
            world.finish(check::command(database, &self.hands, &command, &known, happened));
        }
        for (user, chat, posting) in self.chats.drain(..) {
            let posted = world.finish(posting).unwrap();
            world.finish(check::messages(database, user, &chat, &posted, happened));
        }
        happened.homes += world.finish(database.changes_of_homes());
        self.machines.drain(..).for_each(|machine| machine.abort());
        for _ in 0..REST {
            self.processes.iter_mut().flatten().for_each(|process| process.stop(false));
            self.pass(Duration::from_secs(1));
            if self.processes.iter().all(Option::is_none) {
                return self.happened;
            }
        }
        panic!("a node does not stop within {REST} s")
    }
}
