//! The tasks that look for outputs and hand them over. They run in parallel with the worker, which must not wait for a machine.
//!
//! Their results are kept in memory until the worker asks for them; a result that is lost is determined again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chats::ChatService;
use execs::{route_request, sandbox_user};
use sandbox::{Sandbox, SandboxRouter};
use store::{AuditEntry, GroupAgent, HandOver, HandedOver, Store, User};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::fault::Fault;
use super::find::Outputs;
use super::pass::{Names, parts, pass, removed};
use super::relay::Limits;
use crate::folder::below;
use crate::limits::{HANDED_AT_ONCE, HANDED_DIRECTORY, HANDED_MAX_BYTES};

/// The state of the search for a step's outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// All outputs exist.
    There,
    /// The search is in progress.
    Running,
    /// The machine is offline or busy, for this reason.
    Later(String),
    /// The outputs do not exist or cannot be passed on, for this reason.
    Never(String),
}

/// The state of a hand-over that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// The hand-over is in progress, or its end is on record.
    Running,
    /// A machine is offline or busy, for this reason.
    Later(String),
    /// The hand-over keeps failing, for this reason, until a person changes something.
    Never(String),
}

/// A hand-over to carry out.
pub(crate) struct Pass {
    pub(crate) group: i64,
    /// The call that needs the files.
    pub(crate) call: i64,
    pub(crate) row: HandOver,
    pub(crate) outputs: Vec<String>,
    /// The directory for the files, if that name is free.
    pub(crate) base: String,
    pub(crate) from: GroupAgent,
    pub(crate) to: GroupAgent,
}

enum Job {
    Checked(Checked),
    Passed(Passed),
}

struct Entry {
    job: Job,
    stop: CancellationToken,
}

/// The tasks. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub(crate) struct Carrier {
    store: Store,
    chats: ChatService,
    router: SandboxRouter,
    limits: Limits,
    /// Wakes the worker.
    wake: Arc<Notify>,
    tasks: TaskTracker,
    /// Cancelled when the server stops.
    stop: CancellationToken,
    /// The states of the tasks, by the id of their call.
    jobs: Arc<Mutex<HashMap<i64, Entry>>>,
    /// The permits of hand-overs, by group, so that a slow machine holds up only its own group.
    slots: Arc<Mutex<HashMap<i64, Arc<Semaphore>>>>,
}

impl Carrier {
    pub(crate) fn new(
        store: &Store,
        chats: &ChatService,
        router: &SandboxRouter,
        max_bytes: Option<u64>,
        wake: &Arc<Notify>,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Self {
        Self {
            store: store.clone(),
            chats: chats.clone(),
            router: router.clone(),
            limits: Limits { bytes: max_bytes.unwrap_or(HANDED_MAX_BYTES), ..Limits::default() },
            wake: Arc::clone(wake),
            tasks: tasks.clone(),
            stop: stop.clone(),
            jobs: Arc::default(),
            slots: Arc::default(),
        }
    }

    /// Returns the state of the search for a call's outputs; `None` if there is no search.
    pub(crate) fn checked(&self, call: i64) -> Option<Checked> {
        match &self.jobs().get(&call)?.job {
            Job::Checked(checked) => Some(checked.clone()),
            Job::Passed(_) => None,
        }
    }

    /// Returns the state of the hand-over to a call's agent; `None` if none is in progress.
    pub(crate) fn passed(&self, call: i64) -> Option<Passed> {
        match &self.jobs().get(&call)?.job {
            Job::Passed(passed) => Some(passed.clone()),
            Job::Checked(_) => None,
        }
    }

    /// Ends the task of a call, and forgets its result.
    pub(crate) fn forget(&self, call: i64) {
        if let Some(entry) = self.jobs().remove(&call) {
            entry.stop.cancel();
        }
    }

    /// Looks for the outputs of a call's step.
    pub(crate) fn check(&self, call: i64, outputs: Vec<String>, agent: GroupAgent) {
        let this = self.clone();
        let work = async move {
            let found = async {
                let (sandbox, owner) = this.open(&agent).await?;
                this.outputs(&sandbox, &outputs, &agent, &owner).find().await
            };
            Job::Checked(match found.await {
                Ok(_) => Checked::There,
                Err(Fault::Later(why)) => Checked::Later(why),
                Err(Fault::Missing(missing)) => {
                    Checked::Never(format!("the step ended without its outputs: {}", missing.join(", ")))
                }
                Err(fault) => {
                    Checked::Never(format!("the step's outputs cannot be passed on: {}", said(&fault)))
                }
            })
        };
        self.spawn(call, Job::Checked(Checked::Running), work, async {});
    }

    /// Hands files over.
    pub(crate) fn pass(&self, job: Pass) {
        let job = Arc::new(job);
        let (this, of_work) = (self.clone(), Arc::clone(&job));
        let work = async move {
            let job = of_work;
            Job::Passed(match this.carry(&job).await {
                // The end is on record, which the worker checks first.
                Ok(()) => Passed::Running,
                Err(Fault::Later(why)) => Passed::Later(why),
                Err(fault) => {
                    let why = said(&fault);
                    this.audit(&job, "failed").await;
                    Passed::Never(why)
                }
            })
        };
        let (this, call) = (self.clone(), job.call);
        self.spawn(call, Job::Passed(Passed::Running), work, async move {
            // If removing the incomplete files fails, the next hand-over to this machine removes them.
            if let Ok((to, _)) = this.open(&job.to).await {
                let _ = this.tidy(&to, &handed(&job.to), &job.row.token).await;
            }
        });
    }

    async fn carry(&self, job: &Pass) -> Result<(), Fault> {
        let slots = Arc::clone(
            self.slots().entry(job.group).or_insert_with(|| Arc::new(Semaphore::new(HANDED_AT_ONCE))),
        );
        // The semaphore is never closed.
        let _slot = slots.acquire().await;
        let ((from, owner), (to, _)) = (self.open(&job.from).await?, self.open(&job.to).await?);
        let handed = handed(&job.to);
        self.tidy(&to, &handed, &job.row.token).await?;
        let names = Names { base: &job.base, handed: &handed, token: &job.row.token };
        let done =
            pass(&self.outputs(&from, &job.outputs, &job.from, &owner), &to, names, self.limits).await?;
        let HandedOver { directory, files, size_bytes, .. } = &done;
        let note = format!(
            "Step {} (@{}) handed files to @{}: they are on {}, in {directory} (files: {files}, bytes: {size_bytes}).",
            job.row.from_step + 1,
            job.from.handle,
            job.to.handle,
            job.to.runner
        );
        if self.store.end_handover(job.group, job.row.id, &done, &note).await? {
            self.audit(job, "ok").await;
        }
        Ok(())
    }

    /// Removes incomplete files on a machine: those of this hand-over, and of hand-overs that have ended. Those of other servers are kept.
    async fn tidy(&self, to: &Sandbox, handed: &str, token: &str) -> Result<(), Fault> {
        for part in parts(to, handed).await? {
            if part.token == token || self.store.is_handover_ended(&part.token).await? {
                removed(to, &part.path).await?;
            }
        }
        Ok(())
    }

    fn outputs<'a>(
        &'a self,
        sandbox: &'a Sandbox,
        outputs: &'a [String],
        agent: &'a GroupAgent,
        owner: &'a User,
    ) -> Outputs<'a> {
        Outputs { sandbox, outputs, limits: self.limits, chats: &self.chats, agent, owner }
    }

    /// Opens the sandbox on the machine of an agent; also returns the agent's owner.
    async fn open(&self, agent: &GroupAgent) -> Result<(Sandbox, User), Fault> {
        let Some(owner) = self.store.user_by_id(agent.owner).await? else {
            return Err(Fault::Never(format!("the owner of @{} was removed from this server", agent.handle)));
        };
        let request = route_request(&self.store, agent.owner, Some(&agent.runner)).await?;
        Ok((self.router.for_user(&sandbox_user(&owner), &request).await?, owner))
    }

    /// Adds an audit entry for each of the two owners: files were read on the machine of one and written on the machine of the other.
    async fn audit(&self, job: &Pass, outcome: &str) {
        let step = job.row.from_step + 1;
        let ends = [(&job.from, "group.files.read"), (&job.to, "group.files.write")];
        for (agent, action) in ends {
            let entry = AuditEntry {
                user: Some(agent.owner_name.clone()),
                action: action.to_owned(),
                location: Some(agent.runner.clone()),
                target: format!(
                    "{}: {} of step {step}, from @{} to @{}",
                    job.group,
                    job.outputs.join(", "),
                    job.from.handle,
                    job.to.handle
                ),
                outcome: outcome.to_owned(),
            };
            if let Err(error) = self.store.append_audit(&entry).await {
                tracing::error!(%error, "a hand-over of files could not be recorded");
            }
        }
    }

    /// Starts a task for a call; `after` runs if the task is stopped while the server keeps running.
    fn spawn(
        &self,
        call: i64,
        running: Job,
        work: impl Future<Output = Job> + Send + 'static,
        after: impl Future<Output = ()> + Send + 'static,
    ) {
        let stop = self.stop.child_token();
        self.jobs().insert(call, Entry { job: running, stop: stop.clone() });
        let this = self.clone();
        self.tasks.spawn(async move {
            let Some(job) = stop.run_until_cancelled(work).await else {
                this.stop.run_until_cancelled(after).await;
                return;
            };
            if let Some(entry) = this.jobs().get_mut(&call)
                && !stop.is_cancelled()
            {
                entry.job = job;
            }
            this.wake.notify_one();
        });
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<i64, Arc<Semaphore>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn jobs(&self) -> MutexGuard<'_, HashMap<i64, Entry>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the directory for files that are handed over to an agent.
fn handed(agent: &GroupAgent) -> String {
    below(&agent.folder, HANDED_DIRECTORY)
}

fn said(fault: &Fault) -> String {
    match fault {
        Fault::Later(why) | Fault::Never(why) => why.clone(),
        Fault::Changed => "something keeps changing them while they are being read".to_owned(),
        Fault::Missing(missing) => format!("these outputs no longer exist: {}", missing.join(", ")),
    }
}
