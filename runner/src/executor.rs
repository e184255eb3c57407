//! The executor: what a runner can do, independent of the link that asks for it.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pathguard::Root;
use proto::message::{Attached, ExecList, ExecTreeGone};
use proto::request::{Attach, MkdirAll, Remove, RemoveAll, Rename, WriteFile};
use proto::{ErrorKind, ExecId, Message, Request, WireError};
use rustix::fs::{Mode, OFlags};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::blocking::blocking;
use crate::changes::{Begin, Changes};
use crate::confine::{ConfinePolicy, LayerReport, Profile};
use crate::error::Error;
use crate::exec::{self, Budget, Registry, Scratch, Terminals, TreeWatch};
use crate::files;
use crate::kill;
use crate::limits::{FORGET_LOOK_MS, REAP_PAUSE_MS, SHUTDOWN_MS, SPOOL_RUNNER_BYTES};
use crate::spawn::{SpawnError, Spawner};
use crate::stream::{Connection, StreamHandle};

/// What an executor works on; from the runner's configuration, never from a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutorConfig {
    /// The directory that commands and file operations see as theirs.
    pub workspace: PathBuf,
    /// Where the runner keeps its own state, outside the workspace.
    pub state_dir: PathBuf,
    /// How tightly commands are confined, unless a request asks for less.
    pub profile: Profile,
}

/// Runs commands and file operations in one workspace. Lives on one thread, in a `tokio::task::LocalSet`.
#[derive(Debug)]
pub struct Executor {
    pub(crate) policy: ConfinePolicy,
    pub(crate) root: Root,
    pub(crate) execs: Registry,
    pub(crate) terminals: Terminals,
    changes: Changes,
    /// The link that is served now, for what belongs to no request.
    connection: RefCell<Option<Rc<Connection>>>,
    pub(crate) trees: TreeWatch,
    pub(crate) scratch: Scratch,
    spawner: Arc<Spawner>,
    /// For requests that ask for less than the runner's profile; started when the first one does.
    narrower: [(Profile, OnceCell<Arc<Spawner>>); 2],
    tasks: TaskTracker,
    stopping: CancellationToken,
    /// Every command is dead.
    stopped: CancellationToken,
}

impl Executor {
    /// Opens the workspace and starts the confined thread that commands come from; blocks for some milliseconds.
    ///
    /// # Errors
    /// The workspace cannot be opened or holds the state directory, or the thread cannot be started and confined. A layer of
    /// confinement that the machine lacks is no error: see [`Executor::report`].
    pub fn start(config: &ExecutorConfig) -> Result<Rc<Self>, Error> {
        let workspace = |reason| Error::Workspace { path: config.workspace.clone(), reason };
        let root = Root::open(&config.workspace).map_err(workspace)?;
        let policy = ConfinePolicy::detect(&config.workspace, &config.state_dir)
            .map_err(Error::file(&config.state_dir))?;
        check_state_dir(&policy.workspace, &policy.state_dir, config.profile)?;
        kill::become_reaper().map_err(Error::system("become the reaper of orphans"))?;
        let executor = Rc::new(Self {
            spawner: Arc::new(Spawner::start(config.profile, &policy)?),
            policy,
            root,
            execs: Registry::new(spool_budget(&config.state_dir)),
            terminals: Terminals::default(),
            changes: Changes::default(),
            connection: RefCell::default(),
            trees: TreeWatch::default(),
            scratch: Scratch::default(),
            narrower: [Profile::ReadOnly, Profile::Workspace].map(|profile| (profile, OnceCell::new())),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            stopped: CancellationToken::new(),
        });
        let signals = signal(SignalKind::child()).map_err(Error::system("listen for ended processes"))?;
        executor.tasks.spawn_local(Rc::clone(&executor).reap(signals));
        Ok(executor)
    }

    /// Which layers of confinement hold for commands.
    pub fn report(&self) -> &LayerReport {
        self.spawner.report()
    }

    /// The profile commands run under unless a request asks for a narrower one.
    pub fn profile(&self) -> Profile {
        self.spawner.profile()
    }

    /// The workspace's canonical path.
    pub fn workspace(&self) -> &Path {
        self.root.path()
    }

    /// The shell that runs command lines.
    pub fn shell(&self) -> &str {
        &self.policy.shell
    }

    /// Starts the work on a request; its answer goes to `stream`.
    pub(crate) fn dispatch(self: &Rc<Self>, stream: StreamHandle, request: Request) {
        let executor = Rc::clone(self);
        match request {
            Request::Exec(request) => self.spawn(async move {
                tokio::select! {
                    () = exec::run(Rc::clone(&executor), stream, request) => {}
                    // Nobody comes for results any more.
                    () = executor.stopped.cancelled() => {}
                }
            }),
            Request::Attach(request) => self.attach(stream, &request),
            Request::Signal(request) => {
                self.answer(stream, async move { exec::signal(&executor.execs, &request).await });
            }
            Request::Report(request) => stream.finish(self.execs.report(&request)),
            Request::List(_) => stream.finish(Ok(ExecList { execs: self.execs.list() })),
            Request::Resize(request) => {
                stream.finish(self.terminals.resize(&request));
            }
            Request::ReadFile(request) => self.spawn(files::read(self.root.clone(), stream, request)),
            Request::ReadDir(request) => self.spawn(files::read_dir(self.root.clone(), stream, request)),
            Request::Stat(request) => self.answer(stream, files::stat(self.root.clone(), request)),
            Request::WriteFile(WriteFile { id, .. })
            | Request::MkdirAll(MkdirAll { id, .. })
            | Request::Remove(Remove { id, .. })
            | Request::RemoveAll(RemoveAll { id, .. })
            | Request::Rename(Rename { id, .. }) => self.change(stream, id, request),
        }
    }

    /// Makes a change once, however often it is asked for.
    fn change(self: &Rc<Self>, stream: StreamHandle, id: ExecId, request: Request) {
        let executor = Rc::clone(self);
        match self.changes.begin(id, &request) {
            Ok(Begin::New(change)) => self.spawn(async move {
                let answer = files::change(&executor, &stream, request).await;
                if stream.is_lost() && answer.as_ref().is_err_and(|error| error.kind == ErrorKind::Cancelled)
                {
                    executor.changes.forget(id);
                }
                change.settle(answer.clone());
                stream.finish(answer);
            }),
            Ok(Begin::Known(change)) => self.spawn(async move { stream.finish(change.answer().await) }),
            Err(error) => stream.finish(Err::<Message, _>(error)),
        }
    }

    /// Goes on with an exec, or a change, that an earlier stream started.
    fn attach(&self, stream: StreamHandle, request: &Attach) {
        let Some(stream) = self.execs.attach(request, stream) else { return };
        let Some(change) = self.changes.get(request.id) else {
            return stream.finish(Err::<Message, _>(exec::no_such_exec(request.id)));
        };
        stream.send(Attached { input_bytes: 0 });
        self.spawn(async move { stream.finish(change.answer().await) });
    }

    /// A result arrived where it was wanted.
    pub(crate) fn acknowledge(&self, exec_id: ExecId) {
        self.execs.acknowledge(exec_id);
    }

    /// The last process of an exec ended.
    pub(crate) fn tree_gone(&self, exec_id: ExecId) {
        self.execs.tree_gone(exec_id);
        if let Some(connection) = &*self.connection.borrow() {
            connection.notice(ExecTreeGone { exec_id });
        }
    }

    /// A link is served from now on; messages of the session go there.
    pub(crate) fn connected(&self, connection: Rc<Connection>) {
        self.connection.replace(Some(connection));
    }

    fn spawn(&self, work: impl Future<Output = ()> + 'static) {
        self.tasks.spawn_local(work);
    }

    /// Kills every command and waits until all work has ended, at most [`SHUTDOWN_MS`].
    pub async fn shutdown(&self) {
        self.stopping.cancel();
        self.tasks.close();
        let everything = async {
            let killed = tokio::task::spawn_blocking(kill::kill_everything).await;
            if let Ok(outcome) = killed
                && outcome.survivors > 0
            {
                tracing::error!("{} processes could not be killed", outcome.survivors);
            }
            self.stopped.cancel();
            self.tasks.wait().await;
        };
        if tokio::time::timeout(Duration::from_millis(SHUTDOWN_MS), everything).await.is_err() {
            tracing::warn!("some work did not end in time");
        }
    }

    /// The spawner of a profile that is no wider than the runner's.
    pub(crate) async fn spawner(&self, profile: Profile) -> Result<Arc<Spawner>, SpawnError> {
        let Some((_, cell)) =
            self.narrower.iter().find(|(narrower, _)| *narrower == profile && profile != self.profile())
        else {
            return Ok(Arc::clone(&self.spawner));
        };
        let start = || async {
            let policy = self.policy.clone();
            let started = tokio::task::spawn_blocking(move || Spawner::start(profile, &policy));
            let started = started.await.map_err(|_| SpawnError::Stopped)??;
            let lacking = started.report().lacking(self.report());
            if lacking.is_empty() {
                return Ok(Arc::new(started));
            }
            let reason = format!("the profile {profile} lacks what others have: {}", lacking.join(", "));
            Err(SpawnError::Confinement(std::io::Error::other(reason)))
        };
        cell.get_or_try_init(start).await.cloned()
    }

    /// Brings what commands know about name servers up to date; to be called when the network may have changed.
    pub(crate) async fn refresh_resolver(&self) {
        let narrower = self.narrower.iter().filter_map(|(_, cell)| cell.get());
        let spawners: Vec<_> = std::iter::once(&self.spawner).chain(narrower).map(Arc::clone).collect();
        let refresh = move || spawners.iter().try_for_each(|spawner| spawner.refresh_resolver());
        if let Ok(Err(error)) = blocking(refresh).await {
            tracing::warn!("commands keep their old /etc/resolv.conf: {error}");
        }
    }

    fn answer<M: Into<proto::Message>>(
        &self,
        stream: StreamHandle,
        work: impl Future<Output = Result<M, WireError>> + 'static,
    ) {
        self.tasks.spawn_local(async move { stream.finish(work.await) });
    }

    /// Reaps orphans and tells which trees are gone, some time after processes ended.
    async fn reap(self: Rc<Self>, mut signals: tokio::signal::unix::Signal) {
        let mut forget = tokio::time::interval(Duration::from_millis(FORGET_LOOK_MS));
        loop {
            tokio::select! {
                () = self.stopping.cancelled() => return,
                _ = signals.recv() => {}
                () = self.trees.due() => {}
                _ = forget.tick() => {
                    self.execs.forget_old();
                    continue;
                }
            }
            tokio::time::sleep(Duration::from_millis(REAP_PAUSE_MS)).await;
            kill::reap_orphans();
            self.trees.look(&self).await;
        }
    }
}

/// Room for output, in files without a name beneath the state directory.
fn spool_budget(state_dir: &Path) -> Rc<Budget> {
    let directory = state_dir.to_owned();
    Budget::new(
        SPOOL_RUNNER_BYTES,
        Box::new(move || {
            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
            Ok(rustix::fs::open(&directory, flags, Mode::RUSR | Mode::WUSR)?.into())
        }),
    )
}

/// Refuses a workspace that holds the runner's own state: file operations reach everything in a workspace.
///
/// Where commands may touch the whole machine anyway, by profile or by workspace, there is nothing to keep from them.
pub(crate) fn check_state_dir(workspace: &Path, state_dir: &Path, profile: Profile) -> Result<(), Error> {
    let all_is_open = profile == Profile::FullControl || workspace == Path::new("/");
    if all_is_open || !state_dir.starts_with(workspace) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "the state directory must lie outside the workspace: {} is in {}. Pass --state-dir with a directory elsewhere, or a \
         narrower --workspace",
        state_dir.display(),
        workspace.display()
    )))
}
