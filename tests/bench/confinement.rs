//! Measures the cost of confinement: the same command runs on two runners, one of which confines nothing.
//!
//! The difference is smaller than the noise of a busy machine, so the two are measured side by side: a few execs of one, then
//! a few of the other, in many rounds whose order alternates. The result is the median of the rounds' ratios. Both are driven
//! by one task of one runtime.

use std::time::{Duration, Instant};

use sandbox::Sandbox;

use crate::handle::exec_true;
use crate::remote::Remote;
use crate::samples::{Row, Runs, Samples};

/// The number of runs, each with new runners.
const RUNS: usize = 5;

/// The number of rounds in a run.
const ROUNDS: usize = 1_000;

/// The number of consecutive measured execs of one kind. One unmeasured exec precedes them: it runs with the caches as
/// the other kind left them.
const TURN: usize = 2;

/// The number of unmeasured rounds before the measured ones.
const WARM_UP_ROUNDS: usize = 20;

pub(crate) fn rows() -> Vec<Row> {
    let runs = Runs::of(RUNS, run, |run| run.ratio);
    let Run { with, without, .. } = runs.middle();
    vec![
        without.row("handle exec `true`, profile full-control"),
        Row {
            ratio: runs.shown(|ratio| format!("{ratio:.3} ×")),
            ..with.row_against("the same, profile workspace", without, "full-control", "≤ 1.03 ×")
        },
    ]
}

/// The measurements of one pair of runners.
struct Run {
    with: Samples,
    without: Samples,
    /// The median of the rounds' ratios.
    ratio: f64,
}

fn run() -> Run {
    let confined = Remote::start();
    let open = confined.beside("full-control");
    let rounds = confined.run(rounds(confined.sandbox(), open.sandbox()));
    let samples = |kind: usize| Samples::new(rounds.iter().flat_map(|round| round[kind]).collect());
    let ratios = rounds.iter().map(|[with, without]| seconds(with) / seconds(without)).collect();
    Run { with: samples(0), without: samples(1), ratio: median(ratios) }
}

/// Runs the rounds, in each of which the execs of one runner follow those of the other; in each result, the execs of the confined runner come first.
async fn rounds(confined: Sandbox, open: Sandbox) -> Vec<[[Duration; TURN]; 2]> {
    let mut rounds = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS + WARM_UP_ROUNDS {
        let measured = if round % 2 == 0 {
            let with = turn(&confined).await;
            [with, turn(&open).await]
        } else {
            let without = turn(&open).await;
            [turn(&confined).await, without]
        };
        if round >= WARM_UP_ROUNDS {
            rounds.push(measured);
        }
    }
    rounds
}

async fn turn(sandbox: &Sandbox) -> [Duration; TURN] {
    exec_true(sandbox).await;
    let mut durations = [Duration::ZERO; TURN];
    for duration in &mut durations {
        let start = Instant::now();
        exec_true(sandbox).await;
        *duration = start.elapsed();
    }
    durations
}

fn seconds(durations: &[Duration]) -> f64 {
    durations.iter().sum::<Duration>().as_secs_f64()
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
