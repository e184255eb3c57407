//! The executor: what a runner can do, independent of the link that asks for it.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pathguard::Root;
use proto::message::{Attached, Done, ExecList, ExecTreeGone};
use proto::request::{Attach, Download, MkdirAll, Remove, RemoveAll, Rename, WriteFile, WriteTree};
use proto::{ErrorKind, ExecId, Message, Request, WireError};
use rustix::fs::{Mode, OFlags};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::blocking::{blocking, post};
use crate::changes::{Begin, Changes};
use crate::confine::{ConfinePolicy, Ground, LayerReport, Profile};
use crate::error::Error;
use crate::exec::{self, Budget, Registry, Scratch, Terminals, TreeWatch};
use crate::files;
use crate::kill;

use crate::limits::{FORGET_LOOK_MS, REAP_PAUSE_MS, SHUTDOWN_MS, SPOOL_OPEN_MS, SPOOL_RUNNER_BYTES};
use crate::llm::{self, LlmConfig, Relay};
use crate::spawn::{Here, Resolver, SpawnError, SpawnRequest, Spawned, Spawner};
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
    /// The LLM endpoint that servers may ask, if any.
    pub llm: Option<LlmConfig>,
}

/// Runs commands and file operations in one workspace. Lives on one thread, which is confined like its commands, and spawns
/// its tasks with `tokio::task::spawn_local`.
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
    /// Held by every command that started a moment ago.
    pub(crate) young: Rc<()>,
    pub(crate) llm: Relay,
    spawner: Here,
    /// For requests that ask for less than the runner's profile; started when the first one does.
    narrower: [(Profile, OnceCell<Arc<Spawner>>); 2],
    tasks: TaskTracker,
    /// Set once no request is taken any more: when what runs must have ended.
    stop_due: Cell<Option<Instant>>,
    stopping: CancellationToken,
    /// Every command is dead.
    stopped: CancellationToken,
}

impl Executor {
    /// Opens the workspace and confines the calling thread for good, as commands come from it; blocks for some milliseconds.
    ///
    /// From then on the thread sees what commands see, and so does every thread it starts. To be called where one may start
    /// threads that are not confined.
    ///
    /// # Errors
    /// The workspace cannot be opened or holds the state directory, or the thread cannot be confined. A layer of
    /// confinement that the machine lacks is no error: see [`Executor::report`].
    pub fn start(config: &ExecutorConfig) -> Result<Rc<Self>, Error> {
        let workspace = |reason| Error::Workspace { path: config.workspace.clone(), reason };
        let root = Root::open(&config.workspace).map_err(workspace)?;
        let policy = ConfinePolicy::detect(&config.workspace, &config.state_dir)
            .map_err(Error::file(&config.state_dir))?;
        check_state_dir(&policy.workspace, &policy.state_dir, config.profile)?;
        kill::become_reaper().map_err(Error::system("become the reaper of orphans"))?;
        let signals = signal(SignalKind::child()).map_err(Error::system("listen for ended processes"))?;
        let executor = Rc::new(Self {
            spawner: Here::confine(config.profile, &policy)?,
            policy,
            root,
            execs: Registry::new(spool_budget(&config.state_dir)),
            terminals: Terminals::default(),
            changes: Changes::default(),
            connection: RefCell::default(),
            trees: TreeWatch::default(),
            scratch: Scratch::default(),
            young: Rc::default(),
            llm: Relay::new(config.llm.clone()),
            narrower: [Profile::ReadOnly, Profile::Workspace].map(|profile| (profile, OnceCell::new())),
            tasks: TaskTracker::new(),
            stop_due: Cell::default(),
            stopping: CancellationToken::new(),
            stopped: CancellationToken::new(),
        });
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

    /// Ends when the runner is to stop.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.stopping
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
        if self.stop_due.get().is_some() {
            return stream
                .finish(Err::<Done, _>(shutting_down("the runner stops and takes no more requests")));
        }
        let executor = Rc::clone(self);
        match request {
            Request::Exec(request) => self.begin(async move {
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
            Request::ReadFile(request) => self.begin(files::read(self.root.clone(), stream, request)),
            Request::ReadDir(request) => self.begin(files::read_dir(self.root.clone(), stream, request)),
            Request::Stat(request) => self.answer(stream, files::stat(self.root.clone(), request)),
            Request::Glob(request) => self.begin(files::glob(self.root.clone(), stream, request)),
            Request::Grep(request) => self.begin(files::grep(self.root.clone(), stream, request)),
            Request::ReadTree(request) => self.begin(files::read_tree(self.root.clone(), stream, request)),
            Request::Llm(request) => self.begin(llm::run(executor, stream, request)),
            Request::WriteFile(WriteFile { id, .. })
            | Request::MkdirAll(MkdirAll { id, .. })
            | Request::Remove(Remove { id, .. })
            | Request::RemoveAll(RemoveAll { id, .. })
            | Request::Rename(Rename { id, .. })
            | Request::WriteTree(WriteTree { id, .. })
            | Request::Download(Download { id, .. }) => self.change(stream, id, request),
        }
    }

    /// Makes a change once, however often it is asked for.
    fn change(self: &Rc<Self>, stream: StreamHandle, id: ExecId, request: Request) {
        let executor = Rc::clone(self);
        match self.changes.begin(id, &request) {
            Ok(Begin::New(change)) => self.begin(async move {
                let answer = files::change(&executor, &stream, request).await;
                if stream.is_lost() && answer.as_ref().is_err_and(|error| error.kind == ErrorKind::Cancelled)
                {
                    executor.changes.forget(id);
                }
                change.settle(answer.clone());
                stream.finish(answer);
            }),
            Ok(Begin::Known(change)) => self.begin(async move { stream.finish(change.answer().await) }),
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
        self.begin(async move { stream.finish(change.answer().await) });
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

    fn begin(&self, work: impl Future<Output = ()> + 'static) {
        self.tasks.spawn_local(work);
    }

    /// Takes no more requests, and ends every command in the orderly way: TERM, some grace, KILL. Returns when all are
    /// complete, or [`SHUTDOWN_MS`] after it was first called.
    pub async fn stop(&self) {
        // Whoever gave up on it is out of patience: this is about results.
        let _ = tokio::time::timeout_at(self.stop_due(), self.execs.end_all()).await;
    }

    /// When what runs must have ended, from the first call on.
    pub(crate) fn stop_due(&self) -> Instant {
        let due = self.stop_due.get().unwrap_or_else(|| Instant::now() + Duration::from_millis(SHUTDOWN_MS));
        self.stop_due.set(Some(due));
        due
    }

    /// Ends every command as [`Executor::stop`] does, kills whatever is left, and waits until all work has ended, at most
    /// [`SHUTDOWN_MS`] longer.
    pub async fn shutdown(&self) {
        self.stop().await;
        self.stopping.cancel();
        self.tasks.close();
        let everything = async {
            let killed = blocking(kill::kill_everything).await;
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

    /// Starts a command under a profile that is no wider than the runner's.
    pub(crate) async fn spawn(&self, profile: Profile, request: SpawnRequest) -> Result<Spawned, SpawnError> {
        match self.narrower(profile).await? {
            None => self.spawner.spawn(&request),
            Some(spawner) => spawner.spawn(request).await,
        }
    }

    /// What a command with a terminal is built on under a profile that is no wider than the runner's.
    pub(crate) async fn ground(&self, profile: Profile) -> Result<Arc<Ground>, SpawnError> {
        let narrower = self.narrower(profile).await?;
        Ok(Arc::clone(narrower.as_ref().map_or_else(|| self.spawner.ground(), |spawner| spawner.ground())))
    }

    /// The spawner of a narrower profile; none for the runner's own.
    async fn narrower(&self, profile: Profile) -> Result<Option<Arc<Spawner>>, SpawnError> {
        let narrower = self.narrower.iter().find(|(narrower, _)| *narrower == profile);
        let Some((_, cell)) = narrower.filter(|_| profile != self.profile()) else { return Ok(None) };
        let start = || async {
            let policy = self.policy.clone();
            let started = blocking(move || Spawner::start(profile, &policy)).await;
            let started = started.map_err(|_| SpawnError::Stopped)??;
            let lacking = started.report().lacking(self.report());
            if lacking.is_empty() {
                return Ok(Arc::new(started));
            }
            let reason = format!("the profile {profile} lacks what others have: {}", lacking.join(", "));
            Err(SpawnError::Confinement(std::io::Error::other(reason)))
        };
        cell.get_or_try_init(start).await.cloned().map(Some)
    }

    /// Brings what commands know about name servers up to date; to be called when the network may have changed.
    pub(crate) async fn refresh_resolver(&self) {
        let narrower = self.narrower.iter().filter_map(|(_, cell)| cell.get());
        let narrower = narrower.map(|spawner| spawner.resolver());
        let resolvers: Vec<_> = std::iter::once(self.spawner.resolver()).chain(narrower).cloned().collect();
        let refresh = move || resolvers.iter().try_for_each(Resolver::refresh);
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
            if kill::has_remains() {
                // Its outcome is the same whoever waits for it, and no answer depends on it.
                let _ = blocking(kill::reap_orphans).await;
            }
            self.trees.look(&self).await;
        }
    }
}

/// What a request is told that came too late, or takes too long.
pub(crate) fn shutting_down(text: &str) -> WireError {
    WireError::new(ErrorKind::ShuttingDown, text)
}

/// Room for output, in files without a name beneath the state directory, which the runner's own thread cannot see.
fn spool_budget(state_dir: &Path) -> Rc<Budget> {
    let directory = state_dir.to_owned();
    let make_file = move || {
        let directory = directory.clone();
        let (reply, made) = std::sync::mpsc::channel();
        post(move || drop(reply.send(nameless_file(&directory))));
        let made = made.recv_timeout(Duration::from_millis(SPOOL_OPEN_MS));
        made.map_err(|_| std::io::Error::from(std::io::ErrorKind::TimedOut))?
    };
    Budget::new(SPOOL_RUNNER_BYTES, Box::new(make_file))
}

fn nameless_file(directory: &Path) -> std::io::Result<std::fs::File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR)?.into())
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
