//! Turns a request into a command's process, or into an error.

use std::rc::Rc;

use proto::request::{Command, Exec, Stdin};
use proto::{ErrorKind, WireError};

use super::execs::Execs;
use super::outlet::Outlet;
use super::running::Running;
use super::{denied, terminal, user};
use crate::blocking::blocking;
use crate::confine::ConfinePolicy;
use crate::files::path_error;
use crate::host::Host;
use crate::kill;
use crate::layers::Profile;
use crate::spawn::{SpawnError, SpawnRequest};

/// Starts the command of a request.
pub(super) async fn start(
    execs: &Rc<Execs>,
    outlet: &Rc<Outlet>,
    request: &Exec,
) -> Result<Running, WireError> {
    let user = user::choose(&execs.host, request.run_as.as_deref())?;
    let profile = profile(&execs.host, request)?;
    let policy = execs.host.policy_of(user);
    let order = spawn_request(policy, request)?;
    if execs.is_beside_server.get() && Rc::strong_count(&execs.young) == 1 {
        // The server's request may have woken this thread on the server's own processor, for which the server now waits: in
        // that case the kernel starts the command on another one, which is asleep and has cold caches.
        std::thread::yield_now();
    }
    let spawned = match &request.pty {
        None => execs.host.spawn(profile, user, order).await,
        Some(pty) => terminal::start(&execs.host, profile, user, order, pty).await,
    };
    let spawned = spawned.map_err(|error| spawn_error(&error, profile, policy))?;
    let mark = spawned.child.mark();
    execs.registry.started(request.exec_id, mark);
    execs.command_started.notify_one();
    match Running::new(execs, Rc::clone(outlet), request, spawned, profile) {
        Ok(running) => Ok(running),
        Err(error) => {
            blocking(move || kill::kill_tree(mark)).await?;
            let why = format!("the command was ended because its pipes cannot be watched: {error}");
            Err(WireError::new(ErrorKind::Io, why))
        }
    }
}

/// The error for a command whose process existed and whose program did not run.
pub(super) fn not_started(execs: &Execs, request: &Exec, failure: std::io::Error) -> WireError {
    execs.registry.tree_gone(request.exec_id);
    let started_as = user::choose(&execs.host, request.run_as.as_deref())
        .and_then(|user| Ok((execs.host.policy_of(user), profile(&execs.host, request)?)))
        .and_then(|(policy, profile)| Ok((policy, profile, spawn_request(policy, request)?)));
    match started_as {
        Ok((policy, profile, order)) => spawn_error(&execs.host.refusal(&order, failure), profile, policy),
        Err(error) => error,
    }
}

/// The profile to run under: the runner's, or the requested narrower one.
fn profile(host: &Host, request: &Exec) -> Result<Profile, WireError> {
    let wire = |profile| match profile {
        Profile::ReadOnly => proto::request::Profile::ReadOnly,
        Profile::Workspace => proto::request::Profile::Workspace,
        Profile::FullControl => proto::request::Profile::FullControl,
    };
    let own = host.profile();
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
    // Added first, so that a variable of the request replaces it.
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
                "{error}: {user}, the user that commands run as, has no permission to enter it; on the machine: chown -R {user}: WORKSPACE"
            ),
        ),
        _ => WireError::new(kind, error),
    }
}
