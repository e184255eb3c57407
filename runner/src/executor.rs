//! The executor: a runner's operations, independent of the link.
//!
//! It is above all modules that carry out requests: it starts them, hands each request to the right one, and stops them.

mod config;
mod start;

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::time::Duration;

use pathguard::Root;
use proto::message::{Attached, Done};
use proto::request::{
    Attach, Download, DownloadResolved, MkdirAll, Remove, RemoveAll, Rename, Worktree, WriteFile,
    WriteResolved, WriteTree,
};
use proto::{ErrorKind, ExecId, Message, Request, WireError};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::account::{Account, RunAs};
use crate::blocking::blocking;
use crate::changes::{Begin, Changes};
use crate::confine::ConfinePolicy;
use crate::error::Error;
use crate::exec::{self, Execs, OpenPlaces};
use crate::explain;
use crate::files;
use crate::host::Host;
use crate::http::{self, Outgoing};
use crate::kill;
use crate::layers::{LayerReport, Profile};
use crate::limits::{FORGET_LOOK_MS, REAP_PAUSE_MS, SHUTDOWN_MS};
use crate::llm::{self, Relay};
use crate::spawn::memory_points;
use crate::stream::StreamHandle;
use crate::update::{self, Updates};
pub use config::ExecutorConfig;
pub(crate) use config::check_state_dir;
use start::notes;

/// Runs commands and file operations in one workspace. Lives on one thread, which is confined like its commands, and spawns
/// its tasks with `tokio::task::spawn_local`.
#[derive(Debug)]
pub struct Executor {
    pub(crate) host: Rc<Host>,
    pub(crate) execs: Rc<Execs>,
    changes: Changes,
    pub(crate) llm: Rc<Relay>,
    http: Rc<Outgoing>,
    notes: Vec<String>,
    /// The executor's own tasks.
    tasks: TaskTracker,
    /// The tasks of requests, and those that they started.
    requests: TaskTracker,
    /// Replaces this runner's own program, if it dials a server.
    pub(crate) updates: OnceCell<Rc<Updates>>,
    /// The time by which everything must have ended; set once no more requests are accepted.
    stop_due: Cell<Option<Instant>>,
    /// Cancelled once every command is dead.
    stopped: CancellationToken,
}

impl Executor {
    /// Opens the workspace and confines the calling thread permanently, as it starts commands; blocks for some milliseconds.
    ///
    /// From then on the thread sees what commands see, and so does every thread it starts. Call this from an unconfined
    /// thread, which can still start unconfined ones.
    ///
    /// # Errors
    /// The workspace cannot be opened or holds the state directory, or the thread cannot be confined. A layer of confinement
    /// that the machine lacks is not an error: see [`Executor::report`].
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
                Some((user.clone(), policy))
            }
            None => None,
        };
        let policy = policy(default.as_ref())?;
        check_state_dir(&policy.workspace, &policy.state_dir, config.profile)?;
        let notes = notes(config, &policy);
        // By the rules of an ordinary machine: only paths that are certainly open matter.
        let open_places = OpenPlaces::new(explain::entries(&policy, config.profile, true));
        kill::become_reaper().map_err(Error::system("become the reaper of orphans"))?;
        let signals = signal(SignalKind::child()).map_err(Error::system("listen for ended processes"))?;
        let host = Rc::new(Host::confine(config.profile, root, policy, privileged)?);
        let execs = Execs::new(Rc::clone(&host), open_places, &config.state_dir);
        let executor = Rc::new(Self {
            host,
            execs: Rc::clone(&execs),
            changes: Changes::default(),
            llm: Rc::new(Relay::new(config.llm.clone())),
            http: Rc::new(Outgoing::new(config.bounds.http_allow.clone())),
            notes,
            tasks: TaskTracker::new(),
            requests: TaskTracker::new(),
            updates: OnceCell::new(),
            stop_due: Cell::default(),
            stopped: CancellationToken::new(),
        });
        executor.tasks.spawn_local(Rc::clone(&executor).reap(signals));
        executor.tasks.spawn_local(exec::watch_limits(execs));
        Ok(executor)
    }

    /// The layers of confinement that are in effect for commands.
    pub fn report(&self) -> &LayerReport {
        self.host.report()
    }

    /// The profile commands run under unless a request asks for a narrower one.
    pub fn profile(&self) -> Profile {
        self.host.profile()
    }

    /// Notes for the person who started the runner.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Starts the work on a request; its answer goes to `stream`.
    pub(crate) fn dispatch(self: &Rc<Self>, stream: StreamHandle, request: Request) {
        if self.stop_due.get().is_some() {
            return stream
                .finish(Err::<Done, _>(shutting_down("the runner is stopping and takes no more requests")));
        }
        let executor = Rc::clone(self);
        match request {
            Request::Exec(request) => {
                let Some(exec) = exec::accept(Rc::clone(&self.execs), stream, request) else { return };
                self.begin(async move {
                    tokio::select! {
                        () = exec => {}
                        // Results will not be requested any more.
                        () = executor.stopped.cancelled() => {}
                    }
                });
            }
            Request::Attach(request) => self.attach(stream, &request),
            Request::Signal(request) => {
                self.answer(stream, async move { executor.execs.signal(&request).await });
            }
            Request::Report(request) => stream.finish(self.execs.report(&request)),
            Request::List(_) => stream.finish(Ok(self.execs.list())),
            Request::Update(_) => self.answer(stream, update::ask(self.updates.get().cloned())),
            Request::Resize(request) => {
                stream.finish(self.execs.resize(&request));
            }
            Request::ReadFile(request) => self.begin(files::read(self.host.files.clone(), stream, request)),
            Request::ReadDir(request) => {
                self.begin(files::read_dir(self.host.files.clone(), stream, request))
            }
            Request::Stat(request) => self.answer(stream, files::stat(self.host.files.clone(), request)),
            Request::Resolve(request) => {
                self.answer(stream, files::resolve(self.host.files.clone(), request))
            }
            Request::HashTree(request) => {
                self.answer(stream, files::hash_tree(self.host.files.clone(), request))
            }
            Request::Glob(request) => self.begin(files::glob(self.host.files.clone(), stream, request)),
            Request::Grep(request) => self.begin(files::grep(self.host.files.clone(), stream, request)),
            Request::ReadTree(request) => {
                self.begin(files::read_tree(self.host.files.clone(), stream, request))
            }
            Request::Llm(request) => self.begin(llm::run(Rc::clone(&self.llm), stream, request)),
            Request::Http(request) => self.begin(http::run(Rc::clone(&self.http), stream, request)),
            Request::WriteFile(WriteFile { id, .. })
            | Request::WriteResolved(WriteResolved { write: WriteFile { id, .. }, .. })
            | Request::DownloadResolved(DownloadResolved { download: Download { id, .. }, .. })
            | Request::MkdirAll(MkdirAll { id, .. })
            | Request::Remove(Remove { id, .. })
            | Request::RemoveAll(RemoveAll { id, .. })
            | Request::Rename(Rename { id, .. })
            | Request::WriteTree(WriteTree { id, .. })
            | Request::Worktree(Worktree { id, .. })
            | Request::Download(Download { id, .. }) => self.change(stream, id, request),
        }
    }

    /// Makes a change once, even if the request is repeated.
    fn change(self: &Rc<Self>, stream: StreamHandle, id: ExecId, request: Request) {
        let executor = Rc::clone(self);
        match self.changes.begin(id, &request) {
            Ok(Begin::New(change)) => self.begin(async move {
                let answer = files::change(&executor.host, &stream, request).await;
                executor.host.look_after_git();
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

    /// Attaches to an exec, or a change, that an earlier stream started.
    fn attach(&self, stream: StreamHandle, request: &Attach) {
        let Some(stream) = self.execs.attach(request, stream) else { return };
        let Some(change) = self.changes.get(request.id) else {
            return stream.finish(Err::<Message, _>(exec::no_such_exec(request.id)));
        };
        stream.send(Attached { input_bytes: 0 });
        self.begin(async move { stream.finish(change.answer().await) });
    }

    fn begin(&self, work: impl Future<Output = ()> + 'static) {
        self.requests.spawn_local(work);
    }

    /// True if no request is in progress, no result is kept, and no process lives on.
    pub(crate) fn is_quiet(&self) -> bool {
        self.requests.is_empty() && self.execs.have_no_remains()
    }

    /// Accepts no more requests, and ends every command in an orderly way: TERM, some grace, KILL. Returns when all are
    /// complete, or [`SHUTDOWN_MS`] after it was first called.
    pub async fn stop(&self) {
        // A timeout is fine here: this only waits for results.
        let _ = tokio::time::timeout_at(self.stop_due(), self.execs.end_all()).await;
    }

    /// The time by which everything must have ended, fixed by the first call.
    pub(crate) fn stop_due(&self) -> Instant {
        let due = self.stop_due.get().unwrap_or_else(|| Instant::now() + Duration::from_millis(SHUTDOWN_MS));
        self.stop_due.set(Some(due));
        due
    }

    /// Ends every command as [`Executor::stop`] does, kills the remaining processes, and waits until all work has ended, at
    /// most [`SHUTDOWN_MS`] longer.
    pub async fn shutdown(&self) {
        self.stop().await;
        self.host.stopping.cancel();
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

    fn answer<M: Into<proto::Message>>(
        &self,
        stream: StreamHandle,
        work: impl Future<Output = Result<M, WireError>> + 'static,
    ) {
        self.requests.spawn_local(async move { stream.finish(work.await) });
    }

    /// Reaps orphans and reports the trees that have ended, some time after processes ended.
    async fn reap(self: Rc<Self>, mut signals: Signal) {
        let mut forget = tokio::time::interval(Duration::from_millis(FORGET_LOOK_MS));
        loop {
            tokio::select! {
                () = self.host.stopping.cancelled() => return,
                () = self.execs.trees_due(&mut signals) => {}
                _ = forget.tick() => {
                    let waits = self.updates.get().is_some_and(|updates| updates.is_waiting());
                    self.execs.forget_old(waits);
                    self.http.set_leaving(waits);
                    continue;
                }
            }
            tokio::time::sleep(Duration::from_millis(REAP_PAUSE_MS)).await;
            memory_points::calm();
            if kill::has_remains() {
                // Reaping has the same result whichever caller does it, and no answer depends on it.
                let _ = blocking(kill::reap_orphans).await;
            }
            self.execs.look_after_trees().await;
        }
    }
}

/// The answer to a request that arrived too late, or takes too long.
pub(crate) fn shutting_down(text: &str) -> WireError {
    WireError::new(ErrorKind::ShuttingDown, text)
}
