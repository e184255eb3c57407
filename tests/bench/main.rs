//! Produces one table, in one run on one machine, that compares Sandbridge with lower bounds and with the tools that people use today.
//!
//! Ratios vary less between machines than absolute times, so every row names what it is compared with, and the two are measured alternately. The
//! programs are release builds; each measurement has warm-ups and shows the minimum, the median and the 99th percentile. Run it with `scripts/bench
//! [GROUP…]`.
#![allow(clippy::unwrap_used, missing_docs)]

mod bulk;
mod cancel;
mod channels;
mod cli;
mod confinement;
mod decisions;
mod docker;
mod embedding;
mod engine;
mod files;
mod groups;
mod handle;
mod hooks;
mod idle;
mod knowledge;
mod latency;
mod many;
mod memory;
mod page;
mod peers;
mod raw;
mod remote;
mod retrieval;
mod samples;

use std::cell::OnceCell;
use std::fmt::Write as _;

use rustix::process::{Resource, getrlimit, setrlimit};

use peers::Peers;
use remote::Remote;
use samples::Row;

/// A part of the table, with the name that selects it.
type Group = (&'static str, fn(&Stage) -> Vec<Row>);

/// The comparisons, in the order of the table.
const GROUPS: &[Group] = &[
    ("handle", |_| handle::rows()),
    ("confinement", |_| confinement::rows()),
    ("many", |stage| many::rows(stage.remote())),
    ("docker", |_| docker::rows()),
    ("cli", |stage| cli::rows(stage.peers())),
    ("bulk", |stage| {
        let mut rows = bulk::rows(stage.remote());
        rows.extend(files::rows(stage.peers()));
        rows
    }),
    ("latency", |stage| latency::rows(stage.remote())),
    ("memory", |stage| memory::rows(stage.peers())),
    ("idle", |_| idle::rows()),
    ("engine", |_| {
        let mut rows = engine::rows();
        rows.extend(cancel::rows());
        rows
    }),
    ("hooks", |stage| {
        let mut rows = hooks::rows(stage.remote());
        rows.extend(decisions::rows());
        rows
    }),
    ("groups", |_| groups::rows()),
    ("channels", |_| channels::rows()),
    ("page", |_| page::rows()),
    ("embedding", |_| embedding::rows()),
    ("knowledge", |_| knowledge::rows()),
    ("retrieval", |_| retrieval::rows()),
];

/// The groups that are measured only if they are named: the vectors of four languages take half an hour the first time, and a large folder takes
/// minutes.
const ONLY_NAMED: &[&str] = &["knowledge", "retrieval"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(url) = arguments.first().filter(|argument| argument.starts_with("ws://")) {
        return raw::send_frames(url);
    }
    let is_known = |name: &String| GROUPS.iter().any(|(group, _)| group == name);
    if let Some(unknown) = arguments.iter().find(|name| !is_known(name)) {
        let names: Vec<&str> = GROUPS.iter().map(|(name, _)| *name).collect();
        eprintln!("bench: there is no group {unknown}; there are {}", names.join(", "));
        std::process::exit(2);
    }
    allow_many_files();
    let stage = Stage::default();
    let wanted = |name: &str| match arguments.is_empty() {
        true => !ONLY_NAMED.contains(&name),
        false => arguments.iter().any(|argument| argument == name),
    };
    let rows: Vec<Row> =
        GROUPS.iter().filter(|(name, _)| wanted(name)).flat_map(|(_, rows)| rows(&stage)).collect();
    println!("{}", table(&rows));
}

/// The programs under measurement, each started when it is first needed.
#[derive(Default)]
struct Stage {
    remote: OnceCell<Remote>,
    peers: OnceCell<Peers>,
}

impl Stage {
    fn remote(&self) -> &Remote {
        self.remote.get_or_init(Remote::start)
    }

    fn peers(&self) -> &Peers {
        self.peers.get_or_init(Peers::start)
    }
}

/// Raises the limit on open files: thousands of runners need as many sockets on each side.
fn allow_many_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| what | min | p50 | p99 | compared with | ratio | target |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let Row { what, min, p50, p99, against, ratio, target } = row;
        writeln!(text, "| {what} | {min} | {p50} | {p99} | {against} | {ratio} | {target} |").unwrap();
    }
    text
}
