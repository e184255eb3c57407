//! Seeded schedules of leases and claims, on both databases, compared with a model.
//!
//! Processes start, freeze past their leases, continue, drain, leave and are replaced at their URLs; homes are claimed, released and moved. After
//! each step, the database must agree with the model. On PostgreSQL, each process also tries a change, which must succeed only for the process that
//! is the home under the fence that it knows.
//!
//! `SANDBRIDGE_SCHEDULES` sets the number of schedules, by default [`SCHEDULES`]. A failure prints the command that repeats the schedule.

use std::sync::Arc;
use std::time::Duration;

use store::{Claim, Error, ExecId, Membership, NewNode, NodeId, Renewal, Store, UserId};

use crate::nodes::{OVER, node};
use crate::support::{add_user, store};

/// The number of schedules in an ordinary run.
const SCHEDULES: u64 = 60;
/// The number of steps of one schedule.
const STEPS: usize = 40;
/// A lease longer than any schedule.
const LEASE: Duration = Duration::from_secs(3_600);
/// The URLs of the nodes; several processes may believe that they are the node at the same URL.
const URLS: [&str; 3] = ["http://a:1", "http://b:1", "http://c:1"];

/// The pseudo-random generator SplitMix64.
struct Random(u64);

impl Random {
    /// A number from 0 to `below - 1`.
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    }
}

/// Prints the command that repeats a failed schedule.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let test = "claims::one_node_is_the_home_whatever_its_processes_believe";
            eprintln!("SANDBRIDGE_SEED={} cargo nextest run --workspace -E 'test({test})'", self.0);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    Draining,
    Gone,
}

/// The expected row of a node.
#[derive(Clone, Debug)]
struct Row {
    id: NodeId,
    state: State,
    is_leased: bool,
}

impl Row {
    fn is_live(&self) -> bool {
        self.state != State::Gone && self.is_leased
    }
}

/// A process, which may have been replaced without noticing.
struct Process {
    new: NewNode,
    member: Arc<Membership>,
    /// The process's own store.
    store: Store,
}

/// The expected home of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Home {
    node: Option<NodeId>,
    fence: i64,
}

/// The expected state of the database.
struct Model {
    rows: [Option<Row>; URLS.len()],
    homes: Vec<(UserId, Home)>,
}

impl Model {
    fn row(&mut self, id: &NodeId) -> Option<&mut Row> {
        self.rows.iter_mut().flatten().find(|row| row.id == *id)
    }

    /// The URL of a live node.
    fn live_url(&self, id: Option<&NodeId>) -> Option<&'static str> {
        let is_it = |row: &Option<Row>| row.as_ref().is_some_and(|row| Some(&row.id) == id && row.is_live());
        self.rows.iter().position(is_it).map(|place| URLS[place])
    }

    fn join(&mut self, place: usize, id: &NodeId) -> bool {
        let is_taken = self.rows[place].as_ref().is_some_and(|row| row.id != *id && row.is_live());
        if !is_taken {
            self.rows[place] = Some(Row { id: id.clone(), state: State::Up, is_leased: true });
        }
        !is_taken
    }

    /// Claims a home in the model; `None` if the node is considered dead.
    fn claim(&mut self, user: usize, id: &NodeId) -> Option<Claim> {
        if self.row(id).is_none_or(|row| row.state == State::Gone) {
            return None;
        }
        let home = self.homes[user].1.clone();
        if home.node.as_ref() == Some(id) {
            return Some(Claim::Home(home.fence));
        }
        if let Some(url) = self.live_url(home.node.as_ref()) {
            return Some(Claim::Elsewhere(url.to_owned()));
        }
        if let Some(dead) = home.node.as_ref().and_then(|dead| self.row(dead)) {
            dead.state = State::Gone;
        }
        let fence = home.fence + 1;
        self.homes[user].1 = Home { node: Some(id.clone()), fence };
        Some(Claim::Home(fence))
    }
}

struct Schedule<'a> {
    store: &'a Store,
    model: &'a mut Model,
    processes: Vec<(usize, Process)>,
    random: Random,
}

impl Schedule<'_> {
    /// Starts a new process at one of the URLs.
    async fn start(&mut self) {
        let place = self.random.below(URLS.len());
        let new = node(URLS[place], LEASE);
        let member = Arc::new(Membership::new(new.id.clone()));
        let store = self.store.clone().of_node(Arc::clone(&member));
        self.processes.push((place, Process { new, member, store }));
        self.join(self.processes.len() - 1).await;
    }

    async fn join(&mut self, number: usize) {
        let (place, process) = &self.processes[number];
        match self.store.join_node(&process.new).await {
            Ok(()) => assert!(self.model.join(*place, &process.new.id)),
            Err(Error::NodeUrlInUse { .. }) => assert!(!self.model.join(*place, &process.new.id)),
            Err(error) => panic!("{error}"),
        }
    }

    async fn renew(&mut self, number: usize, lease: Duration) {
        let id = &self.processes[number].1.new.id;
        let expected = match self.model.row(id) {
            Some(row) if row.state != State::Gone => {
                row.is_leased = lease == LEASE;
                Renewal::Kept { is_draining: row.state == State::Draining }
            }
            Some(_) | None => Renewal::Gone,
        };
        assert_eq!(self.store.renew_node(id, lease).await.unwrap(), expected);
    }

    async fn claim(&mut self, number: usize, user: usize) {
        let process = &self.processes[number].1;
        let owner = self.model.homes[user].0;
        let claimed = match self.store.claim_home(owner, &process.new.id).await {
            Ok(claim) => Some(claim),
            Err(Error::Fenced) => None,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(claimed, self.model.claim(user, &process.new.id));
        if let Some(Claim::Home(fence)) = claimed {
            process.member.settled(owner, fence);
        }
    }

    async fn release(&mut self, number: usize, user: usize) {
        let id = &self.processes[number].1.new.id;
        let (owner, home) = &mut self.model.homes[user];
        let is_home = home.node.as_ref() == Some(id);
        assert_eq!(self.store.release_home(*owner, id).await.unwrap(), is_home);
        if is_home {
            home.node = None;
        }
    }

    async fn transfer(&mut self, from: usize, to: usize, user: usize) {
        let [from, to] = [from, to].map(|number| self.processes[number].1.new.id.clone());
        let takes = self.model.row(&to).is_some_and(|row| row.state == State::Up && row.is_leased);
        let (owner, home) = &mut self.model.homes[user];
        let expected = (takes && home.node.as_ref() == Some(&from)).then_some(home.fence + 1);
        assert_eq!(self.store.move_home(*owner, &from, &to).await.unwrap(), expected);
        if let Some(fence) = expected {
            *home = Home { node: Some(to), fence };
        }
    }

    async fn drain(&mut self, number: usize) {
        let id = &self.processes[number].1.new.id;
        self.store.drain_node(id).await.unwrap();
        if let Some(row) = self.model.row(id).filter(|row| row.state == State::Up) {
            row.state = State::Draining;
        }
    }

    async fn leave(&mut self, number: usize) {
        let id = self.processes[number].1.new.id.clone();
        self.store.leave_node(&id).await.unwrap();
        if let Some(row) = self.model.row(&id) {
            row.state = State::Gone;
        }
        for (_, home) in &mut self.model.homes {
            if home.node.as_ref() == Some(&id) {
                home.node = None;
            }
        }
    }

    /// Tries a change by each process: it must succeed only at the home, under the current fence.
    async fn change(&self, user: usize) {
        let (owner, home) = &self.model.homes[user];
        for (_, process) in &self.processes {
            let is_home = home.node.as_ref() == Some(&process.new.id)
                && process.member.fence(*owner) == Some(home.fence);
            // There is no such exec; only the right to write is tested.
            match process.store.detach_exec(*owner, &ExecId::random()).await {
                Ok(_) => assert!(is_home, "a process that is not the home changed something"),
                Err(Error::Fenced) => assert!(!is_home, "the home was refused"),
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Compares the database with the model for one process and one user.
    async fn check(&self, number: usize, user: usize) {
        let (owner, home) = &self.model.homes[user];
        let url = self.model.live_url(home.node.as_ref()).map(str::to_owned);
        assert_eq!(self.store.home_url(*owner).await.unwrap(), url);
        let id = &self.processes[number].1.new.id;
        let homes = self.model.homes.iter().filter(|(_, home)| home.node.as_ref() == Some(id));
        let homes: Vec<_> = homes.map(|(owner, home)| (*owner, home.fence)).collect();
        assert_eq!(self.store.homes_of(id).await.unwrap(), homes);
    }

    async fn step(&mut self) {
        let count = self.processes.len();
        let (number, other) = (self.random.below(count), self.random.below(count));
        let user = self.random.below(self.model.homes.len());
        match self.random.below(16) {
            0 => self.start().await,
            1 => self.join(number).await,
            2 | 3 => self.renew(number, LEASE).await,
            4 | 5 => self.renew(number, OVER).await,
            6 => self.release(number, user).await,
            7 => self.transfer(number, other, user).await,
            8 => self.drain(number).await,
            9 if self.random.below(2) == 0 => self.leave(number).await,
            _ => self.claim(number, user).await,
        }
        if testkit::postgres::is_wanted() && self.random.below(2) == 0 {
            self.change(user).await;
        }
        self.check(number, user).await;
    }
}

#[tokio::test]
async fn one_node_is_the_home_whatever_its_processes_believe() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seeds = match number("SANDBRIDGE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SANDBRIDGE_SCHEDULES").unwrap_or(SCHEDULES),
    };
    let (store, _) = store().await;
    let mut model = Model { rows: [const { None }; URLS.len()], homes: Vec::new() };
    for name in ["ann", "bob"] {
        let user = add_user(&store, name).await.id;
        model.homes.push((user, Home::default()));
    }
    for seed in seeds {
        let _seed = Seed(seed);
        let (processes, random) = (Vec::new(), Random(seed));
        let mut schedule = Schedule { store: &store, model: &mut model, processes, random };
        schedule.start().await;
        for _ in 0..STEPS {
            schedule.step().await;
        }
        for number in 0..schedule.processes.len() {
            for user in 0..schedule.model.homes.len() {
                schedule.check(number, user).await;
            }
            schedule.leave(number).await;
        }
    }
}
