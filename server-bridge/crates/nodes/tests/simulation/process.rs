//! A node's process, which the schedule starts, freezes, stops and kills.

use std::sync::Arc;
use std::time::{Duration, Instant};

use store::{Error, Store, UserId};
use tokio::task::JoinHandle;

use crate::clockwork::{Clockwork, Naps};
use crate::database::Database;
use crate::house::House;
use crate::node::Node;

/// How long the database may take to respond.
const PATIENCE: Duration = Duration::from_secs(60);

/// The state of a process.
enum State {
    /// The process waits for its predecessor's lease to end.
    Joining(JoinHandle<Result<Arc<Node>, Error>>),
    Up(Arc<Node>),
    /// The process is shutting down.
    Stopping(JoinHandle<()>),
}

/// A process, and the time since it was frozen.
pub(crate) struct Process {
    clockwork: Clockwork,
    number: u64,
    store: Store,
    state: State,
    frozen: Option<Duration>,
}

/// A process without a node: a new one, or one whose node has shut down. The process's connections to the database are open.
pub(crate) struct Spare {
    clockwork: Clockwork,
    number: u64,
    store: Store,
}

impl Spare {
    pub(crate) fn new(database: &Database, number: u64) -> Self {
        let clockwork = Clockwork::new();
        let store = clockwork.finish(Store::at_as_node(&database.url_of(number))).unwrap();
        Self { clockwork, number, store }
    }
}

/// The outcome of a process.
pub(crate) enum Became {
    Same(Process),
    /// The process has shut down.
    Ended(Spare),
    /// Another process has taken its URL.
    Refused,
}

impl Process {
    /// Starts a process for a node at this URL.
    pub(crate) fn start(spare: Spare, url: &str, house: &House) -> Self {
        let Spare { clockwork, number, store } = spare;
        let joining = clockwork.spawn(Node::join(store.clone(), url.to_owned(), house.clone()));
        Self { clockwork, number, store, state: State::Joining(joining), frozen: None }
    }

    /// Returns the process's node, if that is a member of the cluster.
    pub(crate) fn node(&self) -> Option<&Arc<Node>> {
        match &self.state {
            State::Up(node) => Some(node),
            State::Joining(_) | State::Stopping(_) => None,
        }
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Returns true while the process waits for the database.
    pub(crate) fn is_busy(&self) -> bool {
        !self.is_frozen() && self.store.pools().iter().any(|pool| pool.in_use > 0)
    }

    /// Runs the tasks that are ready, unless the process is frozen.
    pub(crate) fn turn(&self) {
        if !self.is_frozen() {
            self.clockwork.turn();
        }
    }

    /// Like [`Self::turn`], but also waits for the database's responses, so that their speed does not decide the order of events. Returns true if the
    /// process waited for the database.
    pub(crate) fn work(&self) -> bool {
        let (begun, mut naps) = (Instant::now(), Naps::new());
        self.turn();
        let is_busy = self.is_busy();
        while self.is_busy() {
            assert!(begun.elapsed() < PATIENCE, "the database does not answer");
            naps.nap();
            self.turn();
        }
        is_busy
    }

    pub(crate) fn advance(&mut self, time: Duration) {
        match &mut self.frozen {
            Some(missed) => *missed += time,
            None => self.clockwork.advance(time),
        }
    }

    pub(crate) fn freeze(&mut self) {
        self.frozen.get_or_insert_default();
    }

    /// Ends the freeze: the clock advances by the time that passed meanwhile.
    pub(crate) fn thaw(&mut self) {
        if let Some(missed) = self.frozen.take() {
            self.clockwork.advance(missed);
            self.work();
        }
    }

    /// Begins to shut down.
    pub(crate) fn stop(&mut self, drains: bool) {
        if let State::Up(node) = &self.state {
            let stopping = self.clockwork.spawn(Arc::clone(node).shut_down(drains));
            self.state = State::Stopping(stopping);
        }
    }

    /// Spawns work on the node.
    pub(crate) fn spawn<F: Future<Output = ()> + Send + 'static>(&self, work: impl FnOnce(Arc<Node>) -> F) {
        if let State::Up(node) = &self.state {
            self.clockwork.spawn(work(Arc::clone(node)));
        }
    }

    /// Checks whether the process joined, ended or was replaced. `world` drives the schedule's own connection.
    pub(crate) fn follow(mut self, world: &Clockwork, database: &mut Database) -> Became {
        if self.is_frozen() {
            return Became::Same(self);
        }
        match &mut self.state {
            State::Joining(joining) if joining.is_finished() => {
                match self.clockwork.finish(joining).unwrap() {
                    Ok(node) => {
                        world.finish(database.introduce(self.number, node.nodes.id()));
                        self.clockwork.spawn(Arc::clone(&node).run());
                        self.state = State::Up(node);
                    }
                    Err(Error::NodeUrlInUse { .. }) => {
                        self.kill();
                        return Became::Refused;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            State::Up(node) if node.lost.is_cancelled() => self.stop(false),
            State::Stopping(stopping) if stopping.is_finished() => {
                let Self { clockwork, number, store, .. } = self;
                return Became::Ended(Spare { clockwork, number, store });
            }
            State::Joining(_) | State::Up(_) | State::Stopping(_) => {}
        }
        Became::Same(self)
    }

    /// Describes the node's view of leases and homes, for the output of a failure.
    pub(crate) fn describe(&self, users: &[UserId]) -> String {
        let State::Up(node) = &self.state else { return format!("process {} is not up", self.number) };
        let of_user = |user: &UserId| {
            let runners = node.router.runners(&execs::user_key(*user));
            let names: Vec<_> = runners.into_iter().map(|runner| runner.name).collect();
            format!("user {user}: runners {names:?}, follows an exec {}", node.ledger.is_watching(*user))
        };
        let of_users: Vec<_> = users.iter().map(of_user).collect();
        let (id, homes) = (node.nodes.id(), node.nodes.users());
        format!("{} is node {id}, believes to be the home of {homes:?}; {}", node.url, of_users.join("; "))
    }

    /// Kills the process at once.
    pub(crate) fn kill(self) {
        let Self { clockwork, state, store, .. } = self;
        drop((state, store));
        clockwork.kill();
    }
}
