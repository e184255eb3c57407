//! Measures many commands at once: 50 callers of the handle, compared with 50 threads that spawn processes.

use std::thread;

use crate::handle::{exec_true, spawn_true};
use crate::remote::Remote;
use crate::samples::{Row, Samples};

const CALLERS: usize = 50;

/// The number of commands of each caller in one sample.
const EXECS: usize = 20;

const SAMPLES: usize = 20;

pub(crate) fn rows(remote: &Remote) -> Vec<Row> {
    let local = || {
        thread::scope(|scope| {
            for _ in 0..CALLERS {
                scope.spawn(|| (0..EXECS).for_each(|_| spawn_true()));
            }
        });
    };
    let handle = || {
        let sandbox = remote.sandbox();
        remote.run(async move {
            let callers: Vec<_> = (0..CALLERS)
                .map(|_| {
                    let sandbox = sandbox.clone();
                    tokio::spawn(async move {
                        for _ in 0..EXECS {
                            exec_true(&sandbox).await;
                        }
                    })
                })
                .collect();
            for caller in callers {
                caller.await.unwrap();
            }
        });
    };
    let (local, handle) = Samples::in_turn(SAMPLES, 1, local, handle);
    let execs = CALLERS * EXECS;
    vec![
        local.rate("local spawns of `true` from 50 threads", execs),
        handle.rate_against(
            "handle execs of `true` from 50 callers",
            execs,
            &local,
            "50 threads",
            "≥ 0.85 ×",
        ),
    ]
}
