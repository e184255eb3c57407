//! The executor: what a runner can do, independent of the link that asks for it.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pathguard::Root;
use proto::{Request, WireError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::blocking::blocking;
use crate::confine::{ConfinePolicy, LayerReport, Profile};
use crate::error::Error;
use crate::exec::{self, Registry, Scratch, TreeWatch};
use crate::files;
use crate::kill;
use crate::limits::{REAP_PAUSE_MS, SHUTDOWN_MS};
use crate::spawn::{Here, Resolver, SpawnError, SpawnRequest, Spawned, Spawner};
use crate::stream::StreamHandle;

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

/// Runs commands and file operations in one workspace. Lives on one thread, which is confined like its commands, and spawns
/// its tasks with `tokio::task::spawn_local`.
#[derive(Debug)]
pub struct Executor {
    pub(crate) policy: ConfinePolicy,
    pub(crate) root: Root,
    pub(crate) execs: Rc<Registry>,
    pub(crate) trees: TreeWatch,
    pub(crate) scratch: Scratch,
    spawner: Here,
    /// For requests that ask for less than the runner's profile; started when the first one does.
    narrower: [(Profile, OnceCell<Arc<Spawner>>); 2],
    tasks: TaskTracker,
    stopping: CancellationToken,
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
            execs: Rc::default(),
            trees: TreeWatch::default(),
            scratch: Scratch::default(),
            narrower: [Profile::ReadOnly, Profile::Workspace].map(|profile| (profile, OnceCell::new())),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
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
            Request::Exec(request) => drop(self.tasks.spawn_local(exec::run(executor, stream, request))),
            Request::Signal(request) => {
                self.answer(stream, async move { exec::signal(&executor.execs, &request).await });
            }
            Request::ReadFile(request) => {
                drop(self.tasks.spawn_local(files::read(self.root.clone(), stream, request)));
            }
            Request::WriteFile(request) => {
                drop(self.tasks.spawn_local(async move { files::write(&executor, stream, request).await }));
            }
            Request::ReadDir(request) => {
                drop(self.tasks.spawn_local(files::read_dir(self.root.clone(), stream, request)));
            }
            Request::Stat(request) => self.answer(stream, files::stat(self.root.clone(), request)),
            Request::MkdirAll(request) => {
                self.answer(stream, async move { files::mkdir_all(&executor, request).await });
            }
            Request::Remove(request) => {
                self.answer(stream, async move { files::remove(&executor, request).await })
            }
            Request::RemoveAll(request) => {
                self.answer(stream, async move { files::remove_all(&executor, request).await });
            }
            Request::Rename(request) => {
                self.answer(stream, async move { files::rename(&executor, request).await })
            }
        }
    }

    /// Kills every command and waits until all work has ended, at most [`SHUTDOWN_MS`].
    pub async fn shutdown(&self) {
        self.stopping.cancel();
        self.tasks.close();
        let everything = async {
            let killed = blocking(kill::kill_everything).await;
            if let Ok(outcome) = killed
                && outcome.survivors > 0
            {
                tracing::error!("{} processes could not be killed", outcome.survivors);
            }
            self.tasks.wait().await;
        };
        if tokio::time::timeout(Duration::from_millis(SHUTDOWN_MS), everything).await.is_err() {
            tracing::warn!("some work did not end in time");
        }
    }

    /// Starts a command under a profile that is no wider than the runner's.
    pub(crate) async fn spawn(&self, profile: Profile, request: SpawnRequest) -> Result<Spawned, SpawnError> {
        let narrower = self.narrower.iter().find(|(narrower, _)| *narrower == profile);
        let Some((_, cell)) = narrower.filter(|_| profile != self.profile()) else {
            return self.spawner.spawn(&request);
        };
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
        Arc::clone(cell.get_or_try_init(start).await?).spawn(request).await
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
        loop {
            tokio::select! {
                () = self.stopping.cancelled() => return,
                _ = signals.recv() => {}
                () = self.trees.due() => {}
            }
            tokio::time::sleep(Duration::from_millis(REAP_PAUSE_MS)).await;
            if kill::has_remains() {
                // Its outcome is the same whoever waits for it, and no answer depends on it.
                let _ = blocking(kill::reap_orphans).await;
            }
            self.trees.look().await;
        }
    }
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
