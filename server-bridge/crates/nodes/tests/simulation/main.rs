//! Three nodes under seeded faults, on a real PostgreSQL: what must hold for every exec, every message and every commit.
//!
//! ```text
//!  machines ─► links that break at any frame ─► any node ─► (a pipe) ─► the home: driver, ledger ─► PostgreSQL
//!  clients ──► connections that are lost ─────► any node ─► (a relay) ─┘
//! ```
//! Each node is a process of its own: a runtime with a clock, which the schedule turns by hand ([`clockwork`]). So one is frozen by not being
//! turned, and killed by dropping it, between any two steps of its work. Leases end by the same hand.
//!
//! | module | holds |
//! |---|---|
//! | `schedule` | what happens, step by step, as the seed says |
//! | `check` | what must hold in the end |
//! | `client` | clients: they run commands and write messages at any node, and check what they hear |
//! | `machine`, `job` | machines: they dial in at any node, and check what they are asked for |
//! | `process` | a node's process: started, frozen, stopped and killed from outside |
//! | `node` | a node: the real store, homes, ledger and router, wired as the server does it |
//! | `entry`, `serve` | what a node does with a connection: after the server's own code, without HTTP |
//! | `house`, `link` | how processes reach each other |
//! | `database` | the database, which notes each commit of a node that is not the home |
//! | `clockwork`, `random` | a process turned by hand; reproducible randomness |
//!
//! `SANDBRIDGE_SCHEDULES` sets the number of schedules, by default [`SCHEDULES`]; a failure prints the command that repeats it.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod check;
mod client;
mod clockwork;
mod database;
mod entry;
mod house;
mod job;
mod link;
mod machine;
mod node;
mod process;
mod random;
mod schedule;
mod serve;

use std::panic;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use schedule::{Bench, Happened};

/// The number of schedules of an ordinary run, each about half a second of a core.
const SCHEDULES: u64 = 12;
/// After so many schedules a line says how far a long run is.
const TOLD: u64 = 500;
/// How many run at once.
const THREADS_PER_CORE: usize = 3;
/// The test, for the command that repeats a schedule.
const TEST: &str = "nothing_is_lost_doubled_or_done_by_two_nodes_whatever_happens_to_them";

/// Names the command that repeats a schedule that fails, after which no other one begins.
struct Seed<'a>(u64, &'a AtomicU64);

impl Drop for Seed<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.1.store(u64::MAX / 2, Ordering::Relaxed);
            eprintln!("SANDBRIDGE_SEED={} cargo nextest run --workspace -E 'test({TEST})'", self.0);
        }
    }
}

#[test]
fn nothing_is_lost_doubled_or_done_by_two_nodes_whatever_happens_to_them() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seeds = match number("SANDBRIDGE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SANDBRIDGE_SCHEDULES").unwrap_or(SCHEDULES),
    };
    schedule::note_panics();
    let begun = Instant::now();
    // Each thread takes the next one; the schedules are independent, and most of their time they wait for the database.
    let next = AtomicU64::new(seeds.start);
    let threads = std::thread::available_parallelism().map_or(1, usize::from) * THREADS_PER_CORE;
    let run = || {
        let mut bench = Bench::new();
        let mut happened = Happened::default();
        while let seed = next.fetch_add(1, Ordering::Relaxed)
            && seed < seeds.end
        {
            let _seed = Seed(seed, &next);
            happened.add(bench.run(seed));
            if (seed + 1).is_multiple_of(TOLD) {
                println!("{} schedules in {:?}", seed + 1, begun.elapsed());
            }
        }
        happened
    };
    let happened = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let mut all = Happened::default();
        for thread in running {
            match thread.join() {
                Ok(happened) => all.add(happened),
                Err(failed) => panic::resume_unwind(failed),
            }
        }
        all
    });
    println!("{} schedules in {:?}: {happened:?}", seeds.end - seeds.start, begun.elapsed());
}
