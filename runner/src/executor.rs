//! The executor: what a runner can do, independent of the link that asks for it.

mod start;

use std::cell::{Cell, OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pathguard::{Protected, Root};
use proto::handshake::RunAsNames;
use proto::message::{Attached, Done, ExecList, ExecTreeGone};
use proto::request::{
    Attach, Download, DownloadResolved, MkdirAll, Remove, RemoveAll, Rename, WriteFile, WriteResolved,
    WriteTree,
};
use proto::{ErrorKind, ExecId, Message, Request, WireError};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::account::{Account, RunAs};
use crate::blocking::blocking;
use crate::changes::{Begin, Changes};
use crate::confine::{
    Allowances, Bounds, ConfinePolicy, GitPaths, Ground, LayerReport, LeftOut, Profile, Watch,
};
use crate::error::Error;
use crate::exec::{
    self, Budget, CommandUser, LimitsWatch, OpenPlaces, Registry, Scratch, Terminals, TreeWatch,
};
use crate::explain;
use crate::files::{self, Disk, Files};
use crate::kill;

use crate::limits::{FORGET_LOOK_MS, REAP_PAUSE_MS, SHUTDOWN_MS};
use crate::llm::{self, LlmConfig, Relay};
use crate::spawn::{
    Here, Resolver, SpawnError, SpawnRequest, Spawned, Spawner, Spawners, memory_points, spawners,
};
use crate::stream::{Connection, StreamHandle};
use crate::update::{self, Updates};
pub(crate) use start::check_state_dir;
use start::notes;

/// What an executor works on; from the runner's configuration, never from a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutorConfig {
    /// The directory that commands and file operations see as theirs.
    pub workspace: PathBuf,
    /// Where the runner keeps its own state, outside the workspace.
    pub state_dir: PathBuf,
    /// How tightly commands are confined, unless a request asks for less.
    pub profile: Profile,
    /// What commands may touch beyond the profile.
    pub allowances: Allowances,
    /// The LLM endpoint that servers may ask, if any.
    pub llm: Option<LlmConfig>,
    /// As whom commands run.
    pub run_as: RunAs,
    /// Layers of confinement not to set up.
    pub left_out: LeftOut,
    /// What commands may reach, and how much they may take.
    pub bounds: Bounds,
    /// Whether the commands are of other people than the runner's user: they get none of that user's settings.
    pub is_for_others: bool,
}

impl ExecutorConfig {
    /// One workspace in this profile, and nothing out of the ordinary.
    pub fn new(workspace: PathBuf, state_dir: PathBuf, profile: Profile) -> Self {
        let (allowances, run_as, left_out, bounds, is_for_others) = Default::default();
        Self { workspace, state_dir, profile, allowances, llm: None, run_as, left_out, bounds, is_for_others }
    }
}

/// Runs commands and file operations in one workspace. Lives on one thread, which is confined like its commands, and spawns
/// its tasks with `tokio::task::spawn_local`.
#[derive(Debug)]
pub struct Executor {
    pub(crate) policy: ConfinePolicy,
    pub(crate) files: Files,
    pub(crate) execs: Registry,
    pub(crate) terminals: Terminals,
    changes: Changes,
    /// The link that is served now, for what belongs to no request.
    connection: RefCell<Option<Rc<Connection>>>,
    pub(crate) trees: TreeWatch,
    pub(crate) limits_watch: LimitsWatch,
    pub(crate) scratch: Scratch,
    /// Held by every command that started a moment ago.
    pub(crate) young: Rc<()>,
    /// Whether the server that is connected runs on this machine, as far as its address tells.
    pub(crate) is_beside_server: Cell<bool>,
    pub(crate) llm: Relay,
    pub(crate) git_watch: Watch,
    spawner: Here,
    notes: Vec<String>,
    pub(crate) open_places: OpenPlaces,
    /// For requests that ask for less than the runner's profile; started when the first one does.
    narrower: Spawners,
    /// For requests that ask for the privileged user.
    privileged: Option<(Account, Spawners)>,
    /// The executor's own tasks.
    tasks: TaskTracker,
    /// Those of requests, and of what requests started.
    requests: TaskTracker,
    /// How this runner replaces its own program, where it dials a server.
    pub(crate) updates: OnceCell<Rc<Updates>>,
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
        let policy = |user: Option<&Account>| {
            let policy = ConfinePolicy::detect_for(&config.workspace, &config.state_dir, user)
                .map_err(Error::file(&config.state_dir))?
                .allowing(config.allowances.clone());
            Ok::<_, Error>(ConfinePolicy {
                left_out: config.left_out,
                bounds: config.bounds.clone(),
                copies_settings: !config.is_for_others,
                ..policy
            })
        };
        let RunAs { default, privileged } = &config.run_as;
        let privileged = match privileged {
            Some(user) => {
                let policy = policy(Some(user))?;
                notes(config, &policy);
                Some((user.clone(), Spawners::new(policy)))
            }
            None => None,
        };
        let policy = policy(default.as_ref())?;
        check_state_dir(&policy.workspace, &policy.state_dir, config.profile)?;
        let notes = notes(config, &policy);
        // By the rules of the usual machine: only what is open for sure matters.
        let open_places = OpenPlaces::new(explain::entries(&policy, config.profile, true));
        let GitPaths { pinned, closed, read_only, watched, .. } = GitPaths::of(&policy, config.profile);
        let git_watch = Watch::new(&watched);
        let root = root.with_protected(Protected { in_place: pinned, closed, as_it_is: read_only });
        kill::become_reaper().map_err(Error::system("become the reaper of orphans"))?;
        let signals = signal(SignalKind::child()).map_err(Error::system("listen for ended processes"))?;
        let executor = Rc::new(Self {
            spawner: Here::confine(config.profile, &policy)?,
            files: Files { root, disk: Disk::of(policy.run_as.as_ref()) },
            narrower: Spawners::new(policy.clone()),
            privileged,
            notes,
            open_places,
            policy,
            execs: Registry::new(Budget::of_runner(&config.state_dir)),
            terminals: Terminals::default(),
            changes: Changes::default(),
            connection: RefCell::default(),
            trees: TreeWatch::default(),
            limits_watch: LimitsWatch::default(),
            scratch: Scratch::default(),
            young: Rc::default(),
            is_beside_server: Cell::default(),
            llm: Relay::new(config.llm.clone()),
            git_watch,
            tasks: TaskTracker::new(),
            requests: TaskTracker::new(),
            updates: OnceCell::new(),
            stop_due: Cell::default(),
            stopping: CancellationToken::new(),
            stopped: CancellationToken::new(),
        });
        executor.tasks.spawn_local(Rc::clone(&executor).reap(signals));
        executor.tasks.spawn_local(LimitsWatch::run(Rc::clone(&executor)));
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

    /// What the person who started the runner should know besides.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Ends when the runner is to stop.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// The workspace's canonical path.
    pub fn workspace(&self) -> &Path {
        self.files.root.path()
    }

    /// The names of the users that commands run as.
    pub fn command_users(&self) -> RunAsNames {
        let privileged = self.privileged.as_ref().map(|(user, _)| user.name.clone());
        RunAsNames { default: self.policy.user.clone(), privileged }
    }

    /// Whether commands run as another user than the runner's, or may.
    pub fn knows_users(&self) -> bool {
        self.policy.run_as.is_some() || self.privileged.is_some()
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
            Request::Update(_) => self.answer(stream, update::ask(executor)),
            Request::Resize(request) => {
                stream.finish(self.terminals.resize(&request));
            }
            Request::ReadFile(request) => self.begin(files::read(self.files.clone(), stream, request)),
            Request::ReadDir(request) => self.begin(files::read_dir(self.files.clone(), stream, request)),
            Request::Stat(request) => self.answer(stream, files::stat(self.files.clone(), request)),
            Request::Resolve(request) => self.answer(stream, files::resolve(self.files.clone(), request)),
            Request::Glob(request) => self.begin(files::glob(self.files.clone(), stream, request)),
            Request::Grep(request) => self.begin(files::grep(self.files.clone(), stream, request)),
            Request::ReadTree(request) => self.begin(files::read_tree(self.files.clone(), stream, request)),
            Request::Llm(request) => self.begin(llm::run(executor, stream, request)),
            Request::WriteFile(WriteFile { id, .. })
            | Request::WriteResolved(WriteResolved { write: WriteFile { id, .. }, .. })
            | Request::DownloadResolved(DownloadResolved { download: Download { id, .. }, .. })
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
                executor.look_after_git();
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

    /// Looks after the workspace's repositories; what had to be done is for the output of a command that runs, and the log.
    pub(crate) fn look_after_git(&self) -> Vec<String> {
        let told = self.git_watch.look();
        told.iter().for_each(|what| tracing::warn!("{what}"));
        told
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
        self.requests.spawn_local(work);
    }

    /// Whether nothing that was asked for is under way or to be kept, nor lives on.
    pub(crate) fn is_quiet(&self) -> bool {
        self.requests.is_empty() && self.trees.settle(self)
    }

    /// How many commands run, or left something behind that does.
    pub(crate) fn running(&self) -> usize {
        self.execs.running() + self.trees.marks().count()
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
        self.requests.close();
        let everything = async {
            let killed = blocking(kill::kill_everything).await;
            if let Ok(outcome) = killed
                && outcome.survivors > 0
            {
                tracing::error!("{} processes could not be killed", outcome.survivors);
            }
            self.stopped.cancel();
            self.requests.wait().await;
            self.tasks.wait().await;
        };
        if tokio::time::timeout(Duration::from_millis(SHUTDOWN_MS), everything).await.is_err() {
            tracing::warn!("some work did not end in time");
        }
    }

    /// Starts a command under a profile that is no wider than the runner's.
    pub(crate) async fn spawn(
        &self,
        profile: Profile,
        user: CommandUser,
        request: SpawnRequest,
    ) -> Result<Spawned, SpawnError> {
        match self.other_spawner(profile, user).await? {
            None => self.spawner.spawn(&request),
            Some(spawner) => {
                let spawned = spawner.spawn(request).await;
                spawners::let_go(spawner);
                spawned
            }
        }
    }

    /// What it means that a command which the runner's own thread started does not run.
    pub(crate) fn refusal(&self, request: &SpawnRequest, failure: std::io::Error) -> SpawnError {
        self.spawner.refusal(request, failure)
    }

    /// What a command with a terminal is built on under a profile that is no wider than the runner's.
    pub(crate) async fn ground(
        &self,
        profile: Profile,
        user: CommandUser,
    ) -> Result<Arc<Ground>, SpawnError> {
        let Some(spawner) = self.other_spawner(profile, user).await? else {
            return Ok(Arc::clone(self.spawner.ground()));
        };
        let ground = Arc::clone(spawner.ground());
        spawners::let_go(spawner);
        Ok(ground)
    }

    /// What commands of a user may see.
    pub(crate) fn policy_of(&self, user: CommandUser) -> &ConfinePolicy {
        match (user, &self.privileged) {
            (CommandUser::Privileged, Some((_, spawners))) => spawners.policy(),
            (CommandUser::Privileged | CommandUser::Default, _) => &self.policy,
        }
    }

    /// The spawner of a narrower profile, or of another user; none for what the runner's own thread starts. A command of the
    /// profile read-only gets a spawner to itself even where that is the runner's own profile: nothing that it writes stays.
    async fn other_spawner(
        &self,
        profile: Profile,
        user: CommandUser,
    ) -> Result<Option<Arc<Spawner>>, SpawnError> {
        let spawners = match (user, &self.privileged) {
            (CommandUser::Privileged, Some((_, spawners))) => spawners,
            (CommandUser::Privileged | CommandUser::Default, _)
                if profile != self.profile() || profile == Profile::ReadOnly =>
            {
                &self.narrower
            }
            (CommandUser::Privileged | CommandUser::Default, _) => return Ok(None),
        };
        spawners.get(profile, self.report()).await.map(Some)
    }

    /// Brings what commands know about name servers up to date; to be called when the network may have changed.
    pub(crate) async fn refresh_resolver(&self) {
        let others = std::iter::once(&self.narrower).chain(self.privileged.iter().map(|(_, others)| others));
        let others = others.flat_map(Spawners::started).map(|spawner| spawner.resolver());
        let resolvers: Vec<_> = std::iter::once(self.spawner.resolver()).chain(others).cloned().collect();
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
        self.requests.spawn_local(async move { stream.finish(work.await) });
    }

    /// Reaps orphans and tells which trees are gone, some time after processes ended.
    async fn reap(self: Rc<Self>, mut signals: Signal) {
        let mut forget = tokio::time::interval(Duration::from_millis(FORGET_LOOK_MS));
        loop {
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = TreeWatch::child_ended(&mut signals) => {}
                () = self.trees.due() => {}
                _ = forget.tick() => {
                    let waits = self.updates.get().is_some_and(|updates| updates.is_waiting());
                    self.execs.forget_old(waits);
                    continue;
                }
            }
            tokio::time::sleep(Duration::from_millis(REAP_PAUSE_MS)).await;
            memory_points::calm();
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
