//! Commands: each from its request to the last message about its process tree.
//!
//! ```text
//! request ─▶ spawn ─▶ running ──leader ends──▶ draining ──both pipes ended, or silence──▶ complete
//!              │         │ timeout or cancel: TERM, grace, KILL on the tree                  │
//!              ▼         ▼                                                                  ▼
//!            Fail     (goes on: the output so far is kept)              discards what descendants still print,
//!                                                                       ExecTreeGone when the last one ended,
//!                                                                       the result is kept until it is acknowledged
//! ```
//! No part of this depends on a link: output goes to the [`outlet`], where streams attach and leave. The shared state of all
//! execs is in [`Execs`].
//!
//! | module | holds |
//! |---|---|
//! | `execs` | all execs of a runner, and their shared state |
//! | `start` | from a request to a process |
//! | `running` | the task of one exec: waits for everything at once |
//! | [`outlet`], `reader` | from the output to the attached clients: credit, replay, news |
//! | `log`, `spool` | the output by offset: in memory, put away, dropped |
//! | `output` | a pipe to the outlet: cap, the order of reads |
//! | `input` | the peer to the command's standard input |
//! | `stop` | TERM, grace, KILL |
//! | `limits_watch`, `met_limit` | ends a tree that reached a limit on all commands together |
//! | `terminal` | execs with a terminal |
//! | `registry` | the exec of each id, the kept results, the used ids |
//! | `tree` | the trees that outlived their exec |
//! | `user` | the user that a command runs as |
//! | `denied`, `shortage` | distinguishing a denial, or a shortage, from a failure |

mod denied;
mod execs;
mod input;
mod limits_watch;
mod log;
mod met_limit;
mod outlet;
mod output;
mod reader;
mod registry;
mod running;
mod shortage;
mod spool;
mod start;
mod stop;
mod terminal;
mod tree;
mod user;

use std::rc::Rc;

use proto::request::Exec;

use crate::stream::StreamHandle;
pub(crate) use denied::OpenPlaces;
pub(crate) use execs::Execs;
pub(crate) use limits_watch::run as watch_limits;
use outlet::Outlet;
use registry::Start;
pub(crate) use registry::no_such_exec;
use start::{not_started, start};

/// Accepts a command, and returns a future that runs it and serves the clients that attach to it until its result is
/// removed; `None` if the command is known already, or refused.
///
/// Once this returns the command can be attached to: the next request of the same link may do so.
pub(crate) fn accept(
    execs: Rc<Execs>,
    stream: StreamHandle,
    request: Exec,
) -> Option<impl Future<Output = ()>> {
    let request = Rc::new(request);
    match execs.registry.start(&request, stream) {
        Start::New(outlet) => Some(run(execs, outlet, request)),
        Start::Known => None,
    }
}

async fn run(execs: Rc<Execs>, outlet: Rc<Outlet>, request: Rc<Exec>) {
    let error = match start(&execs, &outlet, &request).await {
        Ok(running) => match running.run().await {
            Ok(()) => return,
            Err(failure) => not_started(&execs, &request, failure),
        },
        Err(error) => error,
    };
    execs.registry.completed(request.exec_id);
    outlet.end(Err(error));
    outlet.serve().await;
}
