//! The tasks that look for outputs and hand them over, beside the worker, which must not wait for a machine.
//!
//! What they found is kept for the worker until it asks; nothing depends on it, since all of it is done again if it is lost.

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

/// What a look for outputs found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// They are there.
    There,
    /// They are looked for.
    Running,
    /// Their machine is away.
    Later(String),
    /// They are not there, or cannot be passed on.
    Never(String),
}

/// The state of a hand-over that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// It is at work, or its end is on record.
    Running,
    /// A machine is away.
    Later(String),
    /// It will not work before somebody changes something.
    Never(String),
}

/// A hand-over.
pub(crate) struct Pass {
    pub(crate) group: i64,
    /// The call that gets the files.
    pub(crate) call: i64,
    pub(crate) row: HandOver,
    pub(crate) outputs: Vec<String>,
    /// The directory in which they end, if that is free.
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

/// The tasks. Cheap to clone; every clone is the same.
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
    /// By call.
    jobs: Arc<Mutex<HashMap<i64, Entry>>>,
    /// By group, so that a slow machine holds up nobody else.
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

    /// What the look for a call's outputs found; `None` if nobody looks.
    pub(crate) fn checked(&self, call: i64) -> Option<Checked> {
        match &self.jobs().get(&call)?.job {
            Job::Checked(checked) => Some(checked.clone()),
            Job::Passed(_) => None,
        }
    }

    /// The state of the hand-over to a call's agent; `None` if none is in progress.
    pub(crate) fn passed(&self, call: i64) -> Option<Passed> {
        match &self.jobs().get(&call)?.job {
            Job::Passed(passed) => Some(passed.clone()),
            Job::Checked(_) => None,
        }
    }

    /// Ends what is done for a call, and forgets what was found.
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
                    Checked::Never(format!("it ended without its outputs: {}", missing.join(", ")))
                }
                Err(fault) => Checked::Never(format!("its outputs cannot be passed on: {}", said(&fault))),
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
                // The end is on record, where the worker looks first.
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
            // If this fails, the next hand-over to this machine tidies up.
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

    /// Removes what is half-written on a machine: of this hand-over, and of those that have ended. Another server's is left alone.
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

    /// The machine of an agent, and its owner.
    async fn open(&self, agent: &GroupAgent) -> Result<(Sandbox, User), Fault> {
        let Some(owner) = self.store.user_by_id(agent.owner).await? else {
            return Err(Fault::Never(format!("the owner of @{} was removed from this server", agent.handle)));
        };
        let request = route_request(&self.store, agent.owner, Some(&agent.runner)).await?;
        Ok((self.router.for_user(&sandbox_user(&owner), &request).await?, owner))
    }

    /// Records a hand-over with both owners: what was read on the machine of one, what was written on the machine of the other.
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

    /// Begins a task for a call; `after` is done if somebody stops it while the server goes on.
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

/// The directory for files that are handed over to an agent.
fn handed(agent: &GroupAgent) -> String {
    below(&agent.folder, HANDED_DIRECTORY)
}

fn said(fault: &Fault) -> String {
    match fault {
        Fault::Later(why) | Fault::Never(why) => why.clone(),
        Fault::Changed => "something writes to them while they are read".to_owned(),
        Fault::Missing(missing) => format!("these outputs do not exist any more: {}", missing.join(", ")),
    }
}
