//! Commands: from the request to the last message about its tree.
//!
//! ```text
//! request ─▶ spawn ─▶ running ──leader ends──▶ draining ──both pipes ended, or silence──▶ complete
//!              │         │ timeout or cancel: TERM, grace, KILL on the tree                  │
//!              ▼         ▼                                                                  ▼
//!            Fail     (goes on: the output so far is kept)              discards what descendants still print,
//!                                                                       ExecTreeGone when the last one ended,
//!                                                                       the result is kept until it is acknowledged
//! ```
//! No part of this knows a link: output goes to the [`outlet`], where streams attach and leave.
//!
//! | module | what |
//! |---|---|
//! | `running` | the task of one exec: waits for everything at once |
//! | [`outlet`], `reader` | from the output to whoever is attached: credit, replay, news |
//! | `log`, `spool` | the output by offset: in memory, put away, dropped |
//! | `output` | a pipe to the outlet: cap, the order of reads |
//! | `input` | the peer to the command's standard input |
//! | `stop` | TERM, grace, KILL |
//! | `limits_watch` | ends a tree that met a limit of all commands together |
//! | `terminal` | execs with a terminal |
//! | `registry` | who runs under which exec_id, whose result is kept, which ids were used |
//! | `tree` | which trees outlived their exec |
//! | `user` | as whom a command runs |
//! | `denied`, `shortage` | telling a denial, or what ran out, from a failure |

mod denied;
mod input;
mod limits_watch;
mod log;
mod outlet;
mod output;
mod reader;
mod registry;
mod running;
mod shortage;
mod spool;
mod stop;
mod terminal;
mod tree;
mod user;

use std::rc::Rc;

use proto::message::Done;
use proto::request::{Command, Exec, Signal, Stdin};
use proto::{ErrorKind, WireError};

pub(crate) use denied::OpenPlaces;
pub(crate) use limits_watch::LimitsWatch;
pub(crate) use output::Scratch;
pub(crate) use registry::{Registry, no_such_exec};
pub(crate) use spool::Budget;
pub(crate) use terminal::Terminals;
pub(crate) use tree::TreeWatch;
pub(crate) use user::CommandUser;

use crate::blocking::blocking;
use crate::confine::{ConfinePolicy, Profile};
use crate::executor::Executor;
use crate::files::path_error;
use crate::kill;
use crate::spawn::{SpawnError, SpawnRequest};
use crate::stream::StreamHandle;
use outlet::Outlet;
use registry::Start;
use running::Running;

/// Runs a command, and serves whoever attaches to it until its result is forgotten.
pub(crate) async fn run(executor: Rc<Executor>, stream: StreamHandle, request: Exec) {
    let request = Rc::new(request);
    let Start::New(outlet) = executor.execs.start(&request, stream) else { return };
    let error = match start(&executor, &outlet, &request).await {
        Ok(running) => match running.run().await {
            Ok(()) => return,
            Err(failure) => not_started(&executor, &request, failure),
        },
        Err(error) => error,
    };
    executor.execs.completed(request.exec_id);
    outlet.end(Err(error));
    outlet.serve().await;
}

/// Sends a signal to the whole tree of an exec.
pub(crate) async fn signal(execs: &Registry, request: &Signal) -> Result<Done, WireError> {
    let mark = execs.mark(request.exec_id).ok_or_else(|| no_such_exec(request.exec_id))?;
    let signal = request.signal;
    blocking(move || kill::signal_tree(mark, signal))
        .await?
        .map_err(|_| WireError::new(ErrorKind::InvalidBody, format!("{signal} is not a signal's number")))?;
    Ok(Done {})
}

async fn start(executor: &Rc<Executor>, outlet: &Rc<Outlet>, request: &Exec) -> Result<Running, WireError> {
    let user = user::choose(executor, request.run_as.as_deref())?;
    let profile = profile(executor, request)?;
    let policy = executor.policy_of(user);
    let order = spawn_request(policy, request)?;
    if executor.is_beside_server.get() && Rc::strong_count(&executor.young) == 1 {
        // The server may have been cut short by the wake-up that its request was, and wait for this processor: seeing that,
        // the kernel has the command begin on another one, which sleeps and has nothing of it in its caches.
        std::thread::yield_now();
    }
    let spawned = match &request.pty {
        None => executor.spawn(profile, user, order).await,
        Some(pty) => terminal::start(executor, profile, user, order, pty).await,
    };
    let spawned = spawned.map_err(|error| spawn_error(&error, profile, policy))?;
    let mark = spawned.child.mark();
    executor.execs.started(request.exec_id, mark);
    executor.limits_watch.begin();
    match Running::new(executor, Rc::clone(outlet), request, spawned, profile) {
        Ok(running) => Ok(running),
        Err(error) => {
            blocking(move || kill::kill_tree(mark)).await?;
            Err(WireError::new(ErrorKind::Io, format!("the command's pipes cannot be watched: {error}")))
        }
    }
}

/// What to say of a command whose process was there and whose program did not run.
fn not_started(executor: &Executor, request: &Exec, failure: std::io::Error) -> WireError {
    executor.execs.tree_gone(request.exec_id);
    let started_as = user::choose(executor, request.run_as.as_deref())
        .and_then(|user| Ok((executor.policy_of(user), profile(executor, request)?)))
        .and_then(|(policy, profile)| Ok((policy, profile, spawn_request(policy, request)?)));
    match started_as {
        Ok((policy, profile, order)) => spawn_error(&executor.refusal(&order, failure), profile, policy),
        Err(error) => error,
    }
}

/// The profile to run under: the runner's, or the narrower one that was asked for.
fn profile(executor: &Executor, request: &Exec) -> Result<Profile, WireError> {
    let wire = |profile| match profile {
        Profile::ReadOnly => proto::request::Profile::ReadOnly,
        Profile::Workspace => proto::request::Profile::Workspace,
        Profile::FullControl => proto::request::Profile::FullControl,
    };
    let own = executor.profile();
    match request.profile {
        None => Ok(own),
        Some(asked) if asked > wire(own) => Err(WireError::new(
            ErrorKind::SandboxDenied,
            format!(
                "this runner was started with the profile {own}; it runs nothing under the wider {}: \
                 start it with --profile {} on its machine if that is wanted",
                asked.name(),
                asked.name()
            ),
        )),
        Some(proto::request::Profile::ReadOnly) => Ok(Profile::ReadOnly),
        Some(proto::request::Profile::Workspace) => Ok(Profile::Workspace),
        Some(proto::request::Profile::FullControl) => Ok(Profile::FullControl),
    }
}

fn spawn_request(policy: &ConfinePolicy, request: &Exec) -> Result<SpawnRequest, WireError> {
    let argv = match &request.command {
        Command::Argv(argv) => argv.clone(),
        Command::Shell(line) => vec![policy.shell.as_bytes().to_vec(), b"-c".to_vec(), line.clone()],
    };
    // First, so that a variable of the request replaces it.
    let kind = request.pty.as_ref().map(terminal::variable).transpose()?.flatten();
    Ok(SpawnRequest {
        argv,
        cwd: request.cwd.as_ref().map_or_else(Vec::new, |cwd| cwd.as_bytes().to_vec()),
        env: kind.into_iter().chain(request.env.iter().cloned()).collect(),
        stdin: request.stdin == Stdin::Stream,
        merge_stderr: request.merge_stderr,
    })
}

fn spawn_error(error: &SpawnError, profile: Profile, policy: &ConfinePolicy) -> WireError {
    let kind = match error {
        SpawnError::NotFound { .. } => ErrorKind::CommandNotFound,
        SpawnError::NotExecutable { .. } => ErrorKind::NotExecutable,
        SpawnError::Directory(pathguard::Error::NotFound | pathguard::Error::NotADirectory) => {
            ErrorKind::InvalidCwd
        }
        SpawnError::Directory(reason) => path_error(*reason).kind,
        SpawnError::InvalidRequest { .. } => ErrorKind::InvalidBody,
        SpawnError::Stopped => ErrorKind::ShuttingDown,
        SpawnError::System { source, .. } if profile != Profile::FullControl && denied::by_kernel(source) => {
            ErrorKind::SandboxDenied
        }
        SpawnError::Confinement(_) | SpawnError::Unavailable(_) | SpawnError::System { .. } => ErrorKind::Io,
    };
    match (&policy.run_as, error) {
        (Some(user), SpawnError::Directory(pathguard::Error::PermissionDenied)) => WireError::new(
            kind,
            format!(
                "{error}: {user}, as whom commands run, may not enter it; on the machine: chown -R {user}: WORKSPACE"
            ),
        ),
        _ => WireError::new(kind, error),
    }
}
