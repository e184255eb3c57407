//! The runner process: its runtime, its signals, its executor and its link.

use std::panic::resume_unwind;
use std::rc::Rc;
use std::thread::Builder;

use tokio::runtime::LocalOptions;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::connect::{self, Source};
use crate::error::Error;
use crate::executor::{Executor, ExecutorConfig};
use crate::exit_code::{EXIT_FAILED, EXIT_KILLED, EXIT_STOPPED, EXIT_UPDATE};
use crate::identity::{Identity, warnings};
use crate::kill::KillTier;
use crate::limits::KEPT_MEMORY_BYTES;
use crate::link::stdio::StdioLink;
use crate::space;
use crate::spawn::raise_own_limits;
use crate::sys;
use crate::update::{self, UpdateConfig, Updates};

/// Runs until SIGTERM, SIGINT, or the server's final refusal; returns the exit code.
///
/// A signal lets commands end and their results be sent; a second one ends at once.
///
/// `name` is only for messages; `updates` configures how the program is replaced. Call this in the guarded process, outside of a runtime.
///
/// # Errors
/// The workspace or the standard streams cannot be used, or the runner's thread cannot be confined.
pub fn run(
    source: &Source,
    config: &ExecutorConfig,
    name: Option<&str>,
    tier: KillTier,
    updates: &UpdateConfig,
) -> Result<i32, Error> {
    let (source, config, name) = (source.clone(), config.clone(), name.map(str::to_owned));
    let updates = updates.clone();
    let life = move || -> Result<i32, Error> {
        sys::keep_freed_memory(KEPT_MEMORY_BYTES);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
            .map_err(Error::system("start the runtime"))?;
        // A task: unlike a future passed to `block_on`, it is woken without a system call.
        let life =
            runtime.spawn_local(async move { live(&source, &config, name.as_deref(), tier, updates).await });
        runtime.block_on(life).unwrap_or_else(|failed| resume_unwind(failed.into_panic()))
    };
    raise_own_limits();
    // SIGCHLD stays blocked here: only the executor unblocks it, while it waits for ended processes.
    sys::hold_child_signal(true);
    // Confined permanently before it talks to any peer. The process's first thread is not: the kernel judges signals to the
    // whole process by it.
    let thread = Builder::new().name("runner".to_owned()).spawn(life);
    let thread = thread.map_err(Error::system("start the runner's thread"))?;
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

async fn live(
    source: &Source,
    config: &ExecutorConfig,
    name: Option<&str>,
    tier: KillTier,
    updates: UpdateConfig,
) -> Result<i32, Error> {
    let listen = |kind| signal(kind).map_err(Error::system("listen for signals"));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    // The streams are taken before anything could print to them. As a container's init process it outlives its clients.
    let stdio = match source {
        Source::Stdio { ends_with_input } => {
            let reopens = tier == KillTier::ContainerInit && !ends_with_input;
            Some(StdioLink::take_standard_streams(reopens)?)
        }
        Source::Server { .. } => None,
    };
    // A trial does not repeat the warnings of the program before it, and of the one started after it.
    let warn = |warnings: Vec<String>| {
        for warning in warnings.iter().filter(|_| !updates.on_trial) {
            eprintln!("sandbridge-runner: warning: {warning}");
        }
    };
    // Printed before this thread is confined: afterwards it only sees what commands see.
    warn(config.run_as.warnings(&config.workspace));
    warn(space::warnings(&config.workspace));
    let executor = Executor::start(config)?;
    warn(warnings(executor.profile(), executor.report()));
    warn(executor.notes().to_vec());
    let on_trial = updates.on_trial;
    if let (Source::Server { endpoint, .. }, false) = (source, on_trial) {
        let updates = Rc::new(Updates::of(&executor.host, endpoint, updates).await);
        // Set only here, so this cannot fail.
        let _ = executor.updates.set(updates);
    }
    let identity = Identity::of(&executor, name, tier);
    let shutdown = CancellationToken::new();
    let serve = async {
        match (source, stdio) {
            (Source::Server { endpoint, token, .. }, _) if on_trial => {
                Box::pin(connect::on_trial(endpoint, token, &identity, &executor, &shutdown)).await
            }
            (Source::Server { endpoint, token, patience }, _) => {
                Box::pin(connect::run(endpoint, token, *patience, &identity, &executor, &shutdown)).await
            }
            (Source::Stdio { .. }, Some(link)) => {
                Box::pin(connect::run_stdio(link, &identity, &executor, &shutdown)).await
            }
            (Source::Stdio { .. }, None) => EXIT_STOPPED,
        }
    };
    let serve = async {
        let Some(updates) = executor.updates.get() else { return serve.await };
        let code = tokio::select! {
            code = serve => code,
            () = Box::pin(updates.run()) => EXIT_FAILED,
            () = Box::pin(update::serve_control(Rc::clone(&executor.execs), Rc::clone(updates))) => EXIT_FAILED,
        };
        if code != EXIT_UPDATE {
            update::close_control(&executor.execs, updates).await;
        }
        code
    };
    let life = async {
        let code = serve.await;
        executor.shutdown().await;
        // A stop request at the same time takes precedence.
        if code == EXIT_UPDATE && shutdown.is_cancelled() { EXIT_STOPPED } else { code }
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
        // The caller kills the remaining processes.
        () = insisted => EXIT_KILLED,
    })
}
