//! The sandbox handle over a real WebSocket to a real runner process, compared with a local spawn.

use std::process::{Command, Stdio};
use std::time::Instant;

use sandbox::{ExecEvent, ExecRequest, Sandbox};

use crate::remote::Remote;
use crate::samples::{Row, Runs, Samples, WARM_UPS};

/// The number of runs, each with a new runner: the choice of processors on which the runner's parts happen to run matters as much as the measured
/// work.
const RUNS: usize = 9;

/// The number of samples of each kind in a run.
const SAMPLES: usize = 500;

/// The number of consecutive samples of one kind before the other kind takes its turn, so that a drifting machine
/// affects both alike.
const TURN: usize = 50;

pub(crate) fn rows() -> Vec<Row> {
    let runs = Runs::of(RUNS, run, Run::ratio);
    let Run { floor, handle } = runs.middle();
    vec![
        floor.row("local spawn of `true`, two pipes to EOF"),
        Row {
            ratio: runs.shown(|ratio| format!("{ratio:.2} ×")),
            ..handle.row_against("handle exec `true`, remote runner", floor, "local spawn", "≤ 1.25 ×")
        },
    ]
}

/// The measurements of one runner.
struct Run {
    floor: Samples,
    handle: Samples,
}

impl Run {
    fn ratio(&self) -> f64 {
        self.handle.p50().as_secs_f64() / self.floor.p50().as_secs_f64()
    }
}

fn run() -> Run {
    let remote = Remote::start();
    let sandbox = remote.sandbox();
    // All samples run in one task: otherwise each would be woken by a system call.
    remote.run(async move {
        let (mut floor, mut handle) = (Vec::new(), Vec::new());
        while handle.len() < SAMPLES {
            for sample in 0..TURN + WARM_UPS {
                let start = Instant::now();
                spawn_true();
                if sample >= WARM_UPS {
                    floor.push(start.elapsed());
                }
            }
            for sample in 0..TURN + WARM_UPS {
                let start = Instant::now();
                exec_true(&sandbox).await;
                if sample >= WARM_UPS {
                    handle.push(start.elapsed());
                }
            }
        }
        Run { floor: Samples::new(floor), handle: Samples::new(handle) }
    })
}

/// Spawns `/bin/true` locally: the lower bound of every exec.
pub(crate) fn spawn_true() {
    assert!(Command::new("/bin/true").stdin(Stdio::null()).output().unwrap().status.success());
}

/// Runs `true` through the handle.
pub(crate) async fn exec_true(sandbox: &Sandbox) {
    exec(sandbox, ExecRequest::argv(["/bin/true"])).await;
}

/// Runs a command through the handle to its end.
pub(crate) async fn exec(sandbox: &Sandbox, request: ExecRequest) {
    let mut exec = sandbox.exec(request).await.unwrap();
    while let Some(event) = exec.next().await {
        match event {
            ExecEvent::Finished(outcome) => assert_eq!(outcome.code, Some(0)),
            ExecEvent::Failed(error) => panic!("{error}"),
            _ => {}
        }
    }
}
