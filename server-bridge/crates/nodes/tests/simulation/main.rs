//! Three nodes under seeded faults, on a real PostgreSQL: checks the invariants of every exec, every message and every commit.
//!
//! ```text
//!  machines ─► links that break at any frame ─► any node ─► (a pipe) ─► the home: driver, ledger ─► PostgreSQL
//!  clients ──► connections that are lost ─────► any node ─► (a relay) ─┘
//! ```
//! Each node is a simulated process: a runtime with its own clock, which the schedule drives ([`clockwork`]). The schedule freezes a
//! process by not driving it, and kills it by dropping it, between any two steps of its work. It also makes leases expire.
//!
//! | module | holds |
//! |---|---|
//! | `schedule` | the steps of a schedule, which the seed determines |
//! | `check` | checks the invariants at the end |
//! | `client` | clients, which run commands and post messages at any node, and check what they receive |
//! | `machine`, `job` | machines, which dial any node, and check what they are asked to run |
//! | `process` | a node's process, which is started, frozen, stopped and killed from outside |
//! | `node` | a node: the real store, homes, ledger and router, wired as the server does it |
//! | `entry`, `serve` | how a node handles a connection: modelled on the server's own code, without HTTP |
//! | `house`, `link` | the network between processes |
//! | `database` | the database, which records each commit of a node that is not the home |
//! | `clockwork`, `random` | a process that the test drives; reproducible randomness |
//!
//! `SANDBRIDGE_SCHEDULES` sets the number of schedules, by default [`SCHEDULES`], and `SANDBRIDGE_SEED` sets the first seed. A failure prints the
//! command that repeats its schedule; the other schedules still run, and a summary at the end lists all seeds that failed.
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

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use schedule::{Bench, Happened};

/// The number of schedules of an ordinary run; each takes about half a second of one core.
const SCHEDULES: u64 = 12;
/// A long run reports its progress after this many schedules.
const TOLD: u64 = 500;
/// How many schedules run at once, per core.
const THREADS_PER_CORE: usize = 3;
/// After this many failures no further schedule begins: they probably have the same cause, and each takes long.
const FAILURES: usize = 25;
/// The name of the test, for the command that repeats a schedule.
const TEST: &str = "nothing_is_lost_doubled_or_done_by_two_nodes_whatever_happens_to_them";

#[test]
fn nothing_is_lost_doubled_or_done_by_two_nodes_whatever_happens_to_them() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let (first, count) = (number("SANDBRIDGE_SEED"), number("SANDBRIDGE_SCHEDULES"));
    let count = count.unwrap_or(if first.is_some() { 1 } else { SCHEDULES });
    let first = first.unwrap_or(0);
    schedule::note_panics();
    let begun = Instant::now();
    // Each thread takes the next schedule. Schedules are independent, and mostly wait for the database.
    let next = AtomicU64::new(0);
    let failed = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from) * THREADS_PER_CORE;
    let run = || {
        let mut bench = Bench::new();
        let mut happened = Happened::default();
        while failed.lock().unwrap().len() < FAILURES
            && let done = next.fetch_add(1, Ordering::Relaxed)
            && done < count
        {
            let seed = first + done;
            match catch_unwind(AssertUnwindSafe(|| bench.run(seed))) {
                Ok(more) => happened.add(more),
                Err(_shown) => {
                    eprintln!("SANDBRIDGE_SEED={seed} cargo nextest run --workspace -E 'test({TEST})'");
                    failed.lock().unwrap().push(seed);
                    // The failed schedule left its rows in the old database, so a new one is created.
                    bench = Bench::new();
                }
            }
            if (done + 1).is_multiple_of(TOLD) {
                println!("{} schedules in {:?}", done + 1, begun.elapsed());
            }
        }
        happened
    };
    let happened = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads.min(count as usize)).map(|_| scope.spawn(run)).collect();
        let mut all = Happened::default();
        running.into_iter().for_each(|thread| all.add(thread.join().unwrap()));
        all
    });
    let begun_schedules = next.into_inner().min(count);
    println!("{begun_schedules} schedules in {:?}: {happened:?}", begun.elapsed());
    let mut failed = failed.into_inner().unwrap();
    failed.sort_unstable();
    assert!(
        failed.is_empty(),
        "{} of {begun_schedules} schedules failed, with the seeds {failed:?}",
        failed.len()
    );
}
