//! What confinement costs: the same command on two runners, of which one confines nothing. They take turns.

use std::time::{Duration, Instant};

use sandbox::Sandbox;

use crate::handle::exec_true;
use crate::remote::Remote;
use crate::samples::{Row, Samples, WARM_UPS};

const SAMPLES: usize = 2_000;

/// Samples of one kind in a row before the other kind takes its turn, so that a drifting machine touches both alike.
const TURN: usize = 20;

pub(crate) fn rows() -> Vec<Row> {
    let (confined, open) = (Remote::start(), Remote::start_under("full-control"));
    let (mut with, mut without) = (Vec::new(), Vec::new());
    while with.len() < SAMPLES {
        with.extend(confined.run(turn(confined.sandbox())));
        without.extend(open.run(turn(open.sandbox())));
    }
    let (with, without) = (Samples::new(with), Samples::new(without));
    vec![
        without.row("handle exec `true`, profile full-control"),
        with.row_against("the same, profile workspace", &without, "full-control", "≤ 1.03 ×"),
    ]
}

async fn turn(sandbox: Sandbox) -> Vec<Duration> {
    for _ in 0..WARM_UPS {
        exec_true(&sandbox).await;
    }
    let mut durations = Vec::with_capacity(TURN);
    for _ in 0..TURN {
        let start = Instant::now();
        exec_true(&sandbox).await;
        durations.push(start.elapsed());
    }
    durations
}
