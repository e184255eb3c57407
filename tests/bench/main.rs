//! One table, all in one run on one machine: ours beside the floors and the tools people use today.
//!
//! Ratios hold better than absolutes, so every row names what it is compared with. Release build, 5 warm-ups, minimum,
//! median and 99th percentile. Run it with `scripts/bench`.
#![allow(clippy::unwrap_used, missing_docs)]

mod bulk;
mod docker;
mod handle;
mod latency;
mod memory;
mod peers;
mod samples;

use std::fmt::Write as _;

use samples::Row;

fn main() {
    // `scripts/bench docker`: containers only.
    if std::env::args().nth(1).as_deref() == Some("docker") {
        println!("{}", table(&docker::rows()));
        return;
    }
    let mut rows = handle::rows();
    // `scripts/bench handle`: only what needs no peers.
    if std::env::args().nth(1).as_deref() == Some("handle") {
        println!("{}", table(&rows));
        return;
    }
    rows.extend(docker::rows());
    let peers = peers::Peers::start();
    rows.extend(latency::rows(&peers));
    rows.extend(bulk::rows(&peers));
    rows.extend(memory::rows(&peers));
    println!("{}", table(&rows));
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
