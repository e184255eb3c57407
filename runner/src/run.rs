//! One life of the runner process: its runtime, its signals, its executor and its link.

use std::panic::resume_unwind;
use std::thread::Builder;

use tokio::runtime::LocalOptions;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::cli::Source;
use crate::connect;
use crate::error::Error;
use crate::executor::{Executor, ExecutorConfig};
use crate::guardian::KillTier;
use crate::identity::{Identity, warnings};
use crate::limits::KEPT_MEMORY_BYTES;
use crate::link::stdio::StdioLink;
use crate::space;
use crate::spawn::raise_own_limits;
use crate::sys;

/// Runs until SIGTERM, SIGINT, or the server's last word; returns the exit code.
///
/// A signal lets commands end and their results be told; a second one ends at once.
///
/// `name` is only for messages. To be called in the guarded process, without a runtime around it.
///
/// # Errors
/// The workspace or the standard streams cannot be used, or the runner's thread cannot be confined.
pub fn run(
    source: &Source,
    config: &ExecutorConfig,
    name: Option<&str>,
    tier: KillTier,
) -> Result<i32, Error> {
    let (source, config, name) = (source.clone(), config.clone(), name.map(str::to_owned));
    let life = move || -> Result<i32, Error> {
        sys::keep_freed_memory(KEPT_MEMORY_BYTES);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
            .map_err(Error::system("start the runtime"))?;
        // A task of its own: unlike what is blocked on, it is woken without a system call.
        let life = runtime.spawn_local(async move { live(&source, &config, name.as_deref(), tier).await });
        runtime.block_on(life).unwrap_or_else(|failed| resume_unwind(failed.into_panic()))
    };
    raise_own_limits();
    // The executor hears it when it has time for it; this thread and its others never do.
    sys::hold_child_signal(true);
    // Confined for good before it talks to anybody. The process's first thread is not: signals for the process as a whole
    // are judged by it.
    let thread = Builder::new().name("runner".to_owned()).spawn(life);
    let thread = thread.map_err(Error::system("start the runner's thread"))?;
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

async fn live(
    source: &Source,
    config: &ExecutorConfig,
    name: Option<&str>,
    tier: KillTier,
) -> Result<i32, Error> {
    let listen = |kind| signal(kind).map_err(Error::system("listen for signals"));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    // Taken before anything could print where frames go. As a container's init process it outlives who attached.
    let stdio = match source {
        Source::Stdio { ends_with_input } => {
            let reopens = tier == KillTier::ContainerInit && !ends_with_input;
            Some(StdioLink::take_standard_streams(reopens)?)
        }
        Source::Server { .. } => None,
    };
    // Said before this thread is confined: afterwards it sees what commands see.
    let disks = space::warnings(&config.workspace);
    for warning in config.run_as.warnings(&config.workspace).into_iter().chain(disks) {
        eprintln!("sandbridge-runner: warning: {warning}");
    }
    let executor = Executor::start(config)?;
    let notes = executor.notes().iter().cloned();
    for warning in warnings(executor.profile(), executor.report()).into_iter().chain(notes) {
        eprintln!("sandbridge-runner: warning: {warning}");
    }
    let identity = Identity::of(&executor, name, tier);
    let shutdown = CancellationToken::new();
    let serve = async {
        match (source, stdio) {
            (Source::Server { endpoint, token, patience }, _) => {
                connect::run(endpoint, token, *patience, &identity, &executor, &shutdown).await
            }
            (Source::Stdio { .. }, Some(link)) => {
                connect::run_stdio(link, &identity, &executor, &shutdown).await
            }
            (Source::Stdio { .. }, None) => connect::EXIT_STOPPED,
        }
    };
    let life = async {
        let code = serve.await;
        executor.shutdown().await;
        code
    };
    let mut stop_signal = async || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let insisted = async {
        stop_signal().await;
        shutdown.cancel();
        stop_signal().await;
    };
    Ok(tokio::select! {
        code = life => code,
        // Whoever called kills what is left.
        () = insisted => connect::EXIT_KILLED,
    })
}
