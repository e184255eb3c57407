//! Causes random faults of three nodes under load, and checks that nothing is lost or duplicated and that unknown outcomes are reported.
//!
//! ```text
//!  people, runners ──▶ a balancer ──▶ three nodes ──▶ PostgreSQL
//!                                       ▲  └─ each other, through a proxy before each
//! ```
//!
//! `SANDBRIDGE_NODE_FAULTS` sets the number of faults; `scripts/soak` runs more.

mod load;
mod terminal;

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use testkit::postgres::Postgres;
use tests::http::Client;
use tests::proxy::{Fate, Proxy};
use tests::random::{Random, count};
use tests::{ScriptedModel, Server, eventually, process};

use self::load::{Load, Tally};
use super::{Cluster, PATIENCE, free_port, wait_ready};
use crate::http_tools::OPEN;

/// The number of nodes.
const NODES: usize = 3;
/// The users; each has a runner.
const USERS: [&str; 4] = ["alice", "bob", "carol", "dave"];
/// The default number of faults.
const FAULTS_FEW: u64 = 4;
/// The option that limits how long a node may take to finish its answers when it shuts down.
const DRAIN: [&str; 2] = ["--drain", "5s"];

/// A fault of a node, of the connections or of the database.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// A node is killed, and starts again.
    Kill,
    /// A node freezes, possibly for longer than its lease.
    Freeze,
    /// A node shuts down, and starts again.
    Restart,
    /// A node is cut off from the others in both directions.
    Part,
    /// A node is cut off in one direction only.
    Mute,
    /// The connections between nodes end.
    CutPeers,
    /// The connections of people and runners end.
    CutPeople,
    /// The database is killed, and starts again.
    Database,
}

const FAULTS: [Fault; 8] = [
    Fault::Kill,
    Fault::Freeze,
    Fault::Part,
    Fault::Database,
    Fault::Mute,
    Fault::CutPeers,
    Fault::Restart,
    Fault::CutPeople,
];

/// The nodes, with a proxy in front of each node's peer port.
struct House {
    nodes: Vec<Server>,
    options: Vec<Vec<String>>,
    /// The proxies in front of the peer ports.
    peers: Vec<Proxy>,
    balancer: Proxy,
    /// Keeps the directory of the encryption key, which is read at each start.
    _cluster: Cluster,
    database: Postgres,
}

impl House {
    fn start(model: &[&str]) -> Self {
        let database = Postgres::own();
        let cluster = Cluster::on(database.empty());
        let (mut nodes, mut all_options, mut peers) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..NODES {
            let port = free_port();
            let target = SocketAddr::from(([127, 0, 0, 1], port));
            let proxy = Proxy::between(TcpListener::bind("127.0.0.1:0").unwrap(), vec![target]);
            let options = cluster.options(port, proxy.url(), &[&DRAIN[..], model].concat());
            let node =
                Server::start_on(&cluster.url, &options.iter().map(String::as_str).collect::<Vec<_>>());
            wait_ready(&node);
            nodes.push(node);
            all_options.push(options);
            peers.push(proxy);
        }
        let balancer = Proxy::before_each(&nodes);
        Self { database, _cluster: cluster, nodes, options: all_options, peers, balancer }
    }

    fn meet(&mut self, fault: Fault, random: &mut Random) {
        let node = usize::try_from(random.within(0..NODES as u64)).unwrap();
        let pause = Duration::from_millis(random.within(200..14_000));
        println!("{fault:?} of node {node}, {pause:?}");
        match fault {
            Fault::Kill => {
                self.nodes[node].kill();
                thread::sleep(pause / 4);
                self.start_again(node);
            }
            Fault::Freeze => {
                process::signal(self.nodes[node].pid(), Signal::STOP);
                thread::sleep(pause);
                process::signal(self.nodes[node].pid(), Signal::CONT);
            }
            Fault::Restart => self.start_again(node),
            Fault::Part => {
                self.peers[node].part(pause);
                thread::sleep(pause);
            }
            Fault::Mute => {
                self.peers[node].mute(pause, random.within(0..2) == 0);
                thread::sleep(pause);
            }
            Fault::CutPeers => drop(self.peers[node].cut(Fate::Reset)),
            Fault::CutPeople => drop(self.balancer.cut(Fate::Truncate { bytes: 100, from_server: true })),
            Fault::Database => {
                self.database.stop();
                thread::sleep(pause / 2);
                self.database.start();
            }
        }
        for node in 0..NODES {
            // A node that was replaced while it was frozen has exited; a supervisor would restart it.
            if !process::is_alive(self.nodes[node].pid()) {
                self.start_again(node);
            }
            wait_ready(&self.nodes[node]);
        }
        thread::sleep(Duration::from_millis(random.within(0..1_000)));
    }

    fn start_again(&mut self, node: usize) {
        let options: Vec<_> = self.options[node].iter().map(String::as_str).collect();
        self.nodes[node].restart(&options);
    }
}

#[test]
fn no_fault_loses_or_duplicates_the_work_of_users() {
    let model = ScriptedModel::start(load::script);
    let mut house = House::start(&[&model.options("openai")[..], OPEN].concat());
    let mut random = Random::seeded();
    let loads: Vec<_> = USERS
        .iter()
        .map(|name| {
            let person = house.nodes[0].person(name);
            let token = Client::login(&house.nodes[0], name).token().to_owned();
            Load::new(&person, &token, house.balancer.url(), random.within(0..u64::MAX))
        })
        .collect();
    let is_over = AtomicBool::new(false);
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let working: Vec<_> = loads.iter().map(|load| scope.spawn(|| load.work(&is_over))).collect();
        let faults = count("SANDBRIDGE_NODE_FAULTS", FAULTS_FEW);
        let mut left = Vec::new();
        for _ in 0..faults {
            if left.is_empty() {
                left.extend(FAULTS);
            }
            let at = usize::try_from(random.within(0..left.len() as u64)).unwrap();
            house.meet(left.swap_remove(at), &mut random);
        }
        is_over.store(true, Ordering::SeqCst);
        working.into_iter().map(|user| user.join().unwrap()).collect()
    });
    for (load, tally) in loads.iter().zip(&tallies) {
        eventually("the runner is back", PATIENCE, || load.is_online().then_some(()));
        println!("{}: {tally:?}", load.name());
    }
    // Faults may make some of the work fail, but not most of it. If there are only a few rounds, half of the work may coincide with one outage.
    for kind in 0..tallies[0].counts().len() {
        let counts = tallies.iter().map(|tally| tally.counts()[kind]);
        let (begun, ended) = counts.fold((0, 0), |sum, count| (sum.0 + count.begun, sum.1 + count.ended));
        assert!(ended * 3 > begun, "{tallies:?}");
    }
}
