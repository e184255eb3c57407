//! Lists, changes, pauses and starts the automations of users.

use std::sync::Arc;

use agent::hooks::{Hook, HookedTurn, Place, Words};
use agent::tool::AgentTurn;
use api::automation::{AutomationPut, AutomationRun, AutomationSaved, AutomationView};
use api::words::Approval;
use chats::ChatService;
use futures_util::future::BoxFuture;
use sha2::{Digest as _, Sha256};
use store::{
    APPROVAL, ASKED_SLOT, Asker, AuditEntry, ChatId, Job, JobDraft, JobKind, NewRun, RunState, Store, User,
    hex,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::delivery::Delivery;
use crate::document::{Document, Proposed, check};
use crate::error::{Error, Result};
use crate::limits::{RUNS_LISTED, SECRET_MIN_BYTES};
use crate::{signature, views};

/// The prefix of the paths of triggers' addresses.
pub const DELIVERIES: &str = "/api/v1/deliveries/";

/// The automations of all users. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub struct Automations(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) chats: ChatService,
    /// Wakes the clock's task.
    pub(crate) wake: Notify,
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the server stops.
    pub(crate) stop: CancellationToken,
}

/// An automation to save.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) put: AutomationPut,
    /// True if an agent saves the automation; an agent gets neither the address nor the secret.
    pub(crate) is_of_agent: bool,
    /// The person for whom an agent of a group proposes the automation, if that is not its owner.
    pub(crate) proposed: Option<Proposed>,
}

impl Automations {
    /// Creates the service, which posts to these chats. Nothing runs before [`Automations::start`].
    pub fn new(chats: &ChatService, store: &Store) -> Self {
        let (wake, tasks, stop) = (Notify::new(), TaskTracker::new(), CancellationToken::new());
        Self(Arc::new(Inner { store: store.clone(), chats: chats.clone(), wake, tasks, stop }))
    }

    /// Stops posting. Due runs stay on record; the server posts them after its next start.
    pub async fn shutdown(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Returns true for the chat of an agent of a group, whose messages also come from people other than its owner.
    pub(crate) async fn is_of_group(&self, chat: &ChatId) -> Result<bool> {
        Ok(self.0.store.group_agent_in(chat).await?.is_some())
    }

    /// Returns the person for whom an agent of a group proposes an automation; `None` if the agent's owner made the request in progress.
    ///
    /// # Errors
    /// [`Error::Refused`] if the request that the agent works on has ended.
    pub(crate) async fn proposed_for(&self, turn: &AgentTurn<'_>) -> Result<Option<Proposed>> {
        if !self.is_of_group(turn.root).await? {
            return Ok(None);
        }
        let store = &self.0.store;
        let over =
            || Error::refused("gone", "the request that you are working on has ended; end your answer");
        let call = match store.asker_of_turn(turn.root, turn.turn).await? {
            Asker::Owner => return Ok(None),
            Asker::Nobody => return Err(over()),
            Asker::Call(call) => call,
        };
        let user = call.user.ok_or_else(over)?;
        if store.group_agent(call.agent_id).await?.owner == user {
            return Ok(None);
        }
        let (agent, handle, person) = (call.agent_id, call.handle, call.asked_by);
        Ok(Some(Proposed { agent, handle, user: user.0, person }))
    }

    /// Lists a user's automations, sorted by name.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list(&self, user: &User) -> Result<Vec<AutomationView>> {
        let (jobs, newest) = (self.0.store.jobs(user.id).await?, self.0.store.newest_runs(user.id).await?);
        let of = |job: &Job| newest.iter().find(|run| run.job_id == job.id);
        Ok(jobs.iter().map(|job| views::automation(job, of(job))).collect())
    }

    /// Adds an automation, or changes the one with this name. A new trigger gets an address, and a secret if none is given.
    ///
    /// # Errors
    /// [`Error::Refused`], which states what to change.
    pub async fn put(&self, user: &User, name: &str, put: AutomationPut) -> Result<AutomationSaved> {
        self.save(user, name, Wanted { put, is_of_agent: false, proposed: None }).await
    }

    pub(crate) async fn save(&self, user: &User, name: &str, wanted: Wanted) -> Result<AutomationSaved> {
        store::Name::parse(name)?;
        let (store, now_ms) = (&self.0.store, self.0.store.now_ms());
        let AutomationPut { mut automation, secret } = wanted.put;
        let checked = automation.clone();
        // Finding the next slot of a cron pattern can take a while.
        let checked = tokio::task::spawn_blocking(move || check(&checked, now_ms)).await;
        let (kind, next_ms) =
            checked.map_err(|_| Error::refused("failed", "the automation could not be checked"))??;
        if wanted.is_of_agent && automation.text.trim_start().starts_with('!') {
            return Err(Error::invalid(
                "an automation that an agent creates cannot be a ! command, because no rule would check the command; write what the agent is to do",
            ));
        }
        if automation.approval.is_none() {
            // The approval mode is fixed now, so that later changes of the user's default do not affect the automation.
            automation.approval = Some(match kind {
                JobKind::Trigger => Approval::Plan,
                JobKind::Schedule if wanted.is_of_agent => Approval::Ask,
                JobKind::Schedule => {
                    store.setting(user.id, APPROVAL).await?.map_or(Approval::Ask, Approval::from)
                }
            });
        }
        let is_new = match store.job(user.id, name).await {
            Ok(_) => false,
            Err(store::Error::NotFound { .. }) => true,
            Err(error) => return Err(error.into()),
        };
        if wanted.is_of_agent && !is_new {
            return Err(Error::refused(
                "conflict",
                format!(
                    "an automation named {name:?} already exists; choose another name, or ask the user to change it"
                ),
            ));
        }
        let (token, secret) = match &automation.trigger {
            Some(trigger) => {
                if secret.as_ref().is_some_and(|secret| secret.len() < SECRET_MIN_BYTES) {
                    return Err(Error::invalid(format!(
                        "the secret of a trigger needs at least {SECRET_MIN_BYTES} bytes; leave it out to get a generated one"
                    )));
                }
                let made = || is_new.then(|| signature::new_secret(&trigger.from));
                (is_new.then(new_token), secret.or_else(made))
            }
            None if secret.is_some() => return Err(Error::invalid("a schedule has no secret; leave it out")),
            None => (None, None),
        };
        let document = Document { automation, made_ms: now_ms, proposed: wanted.proposed };
        let document_json = document.to_json();
        let hash = token.as_deref().map(hash_of);
        let draft = JobDraft {
            name,
            kind,
            document_json: &document_json,
            next_ms,
            token_sha256: hash.as_deref(),
            secret: secret.as_deref(),
        };
        let job = store.put_job(user.id, draft).await?;
        self.audit(user, "automation.set", name).await;
        self.0.wake.notify_one();
        let shown = |text: Option<String>| text.filter(|_| !wanted.is_of_agent);
        Ok(AutomationSaved {
            automation: self.view(&job).await?,
            delivery_path: shown(token.map(|token| format!("{DELIVERIES}{token}"))),
            secret: shown(secret.filter(|_| kind == JobKind::Trigger)),
        })
    }

    /// Gives a trigger a new address and a new secret; the old ones stop working.
    ///
    /// # Errors
    /// [`Error::Store`] for an automation that was removed or belongs to another user; [`Error::Refused`] for a schedule.
    pub async fn new_address(&self, user: &User, name: &str) -> Result<AutomationSaved> {
        let job = self.0.store.job(user.id, name).await?;
        let document = Document::of(&job)?;
        let Some(trigger) = &document.automation.trigger else {
            return Err(Error::invalid("a schedule has no address; only triggers have one"));
        };
        let (token, secret) = (new_token(), signature::new_secret(&trigger.from));
        let hash = hash_of(&token);
        let draft = JobDraft {
            name,
            kind: job.kind,
            document_json: &job.document_json,
            next_ms: None,
            token_sha256: Some(&hash),
            secret: Some(&secret),
        };
        let job = self.0.store.put_job(user.id, draft).await?;
        self.audit(user, "automation.address", name).await;
        let automation = self.view(&job).await?;
        let delivery_path = Some(format!("{DELIVERIES}{token}"));
        Ok(AutomationSaved { automation, delivery_path, secret: Some(secret) })
    }

    /// Removes an automation with the record of its runs; its chats stay.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no automation with this name.
    pub async fn remove(&self, user: &User, name: &str) -> Result<()> {
        if self.0.store.remove_job(user.id, name).await? {
            self.audit(user, "automation.remove", name).await;
            return Ok(());
        }
        Err(Error::refused("not_found", format!("there is no automation {name:?}")))
    }

    /// Pauses an automation, or resumes it from now on: slots that passed during the pause are not run. Resuming an automation that was proposed for
    /// a person who no longer has permission to ask the agent makes it the user's own.
    ///
    /// # Errors
    /// [`Error::Store`] for an automation that was removed or belongs to another user; [`Error::Refused`] if it has no slot left.
    pub async fn pause(&self, user: &User, name: &str, is_paused: bool) -> Result<AutomationView> {
        let job = self.0.store.job(user.id, name).await?;
        let job = match (is_paused, job.paused.is_some()) {
            (true, false) => self.0.store.pause_job(user.id, name, Some(""), None).await?,
            (false, true) => {
                let document = Document::of(&job)?;
                let when = document.when()?;
                let next = when.as_ref().and_then(|when| when.after(self.0.store.now_ms()));
                if when.is_some() && next.is_none() {
                    return Err(Error::invalid("the schedule's last run time has passed; set a new time"));
                }
                if self.0.ended(&document).await?.is_some() {
                    let document_json = Document { proposed: None, ..document }.to_json();
                    let own = JobDraft {
                        name,
                        kind: job.kind,
                        document_json: &document_json,
                        next_ms: next,
                        token_sha256: None,
                        secret: None,
                    };
                    self.0.store.put_job(user.id, own).await?
                } else {
                    self.0.store.pause_job(user.id, name, None, next).await?
                }
            }
            _ => job,
        };
        let action = if is_paused { "automation.pause" } else { "automation.resume" };
        self.audit(user, action, name).await;
        self.0.wake.notify_one();
        self.view(&job).await
    }

    /// Runs an automation now; a trigger runs with the delivery of its earlier run `again`. Returns once the new run is on record.
    ///
    /// # Errors
    /// [`Error::Store`] for an automation that was removed or belongs to another user; [`Error::Refused`] for a trigger without a delivery.
    pub async fn run_now(&self, user: &User, name: &str, again: Option<i64>) -> Result<AutomationRun> {
        let job = self.0.store.job(user.id, name).await?;
        let document = Document::of(&job)?;
        let text = &document.automation.text;
        let (text, payload, event) = match (&document.automation.trigger, again) {
            (None, _) => (text.clone(), None, None),
            (Some(trigger), Some(run)) => {
                let (payload, event) = self.0.store.run_payload(user.id, name, run).await?;
                let delivery = Delivery::read(&trigger.from, event, &payload).map_err(Error::invalid)?;
                (delivery.message(text, trigger), Some(payload), delivery.event)
            }
            (Some(_), None) => {
                return Err(Error::invalid(
                    "a trigger can only run with a delivery; name an earlier run whose delivery is kept",
                ));
            }
        };
        let slot = format!("{ASKED_SLOT}{}", hex(&rand::random::<[u8; 16]>()));
        let due_ms = self.0.store.now_ms();
        let new = NewRun { slot, due_ms, state: RunState::Due, text, payload, event, ..NewRun::default() };
        let id = self.0.store.add_run(&job, &new).await?;
        self.0.wake.notify_one();
        let newest = self.0.store.job_runs(user.id, name, None, RUNS_LISTED).await?;
        let run = newest.iter().find(|run| Some(run.id) == id).map(views::run);
        run.ok_or_else(|| Error::refused("not_found", "the automation has been removed in the meantime"))
    }

    /// Returns at most 100 runs of an automation that are older than the run `before`, the newest first.
    ///
    /// # Errors
    /// [`Error::Store`] for an automation that was removed or belongs to another user.
    pub async fn runs(&self, user: &User, name: &str, before: Option<i64>) -> Result<Vec<AutomationRun>> {
        self.0.store.job(user.id, name).await?;
        let runs = self.0.store.job_runs(user.id, name, before, RUNS_LISTED).await?;
        Ok(runs.iter().map(views::run).collect())
    }

    /// Records a user's change in the audit trail. A failure is only logged, because the change has already been made.
    async fn audit(&self, user: &User, action: &str, name: &str) {
        let entry = AuditEntry {
            user: Some(user.name.clone()),
            action: action.to_owned(),
            target: name.to_owned(),
            outcome: "ok".to_owned(),
            ..AuditEntry::default()
        };
        if let Err(error) = self.0.store.append_audit(&entry).await {
            tracing::error!(%error, "a change to an automation could not be recorded");
        }
    }

    async fn view(&self, job: &Job) -> Result<AutomationView> {
        let newest = self.0.store.job_runs(job.user, &job.name, None, 1).await?;
        Ok(views::automation(job, newest.first()))
    }
}

/// Wakes the clock's task when a turn has ended, because a run may be waiting for that turn.
impl Hook for Automations {
    fn at<'a>(&'a self, _turn: HookedTurn<'a>, place: Place<'a>) -> BoxFuture<'a, Words> {
        if matches!(place, Place::TurnEnds { .. }) {
            self.0.wake.notify_one();
        }
        Box::pin(async { Words::default() })
    }
}

/// Creates a token of 256 bits, in hexadecimal digits.
fn new_token() -> String {
    hex(&rand::random::<[u8; 32]>())
}

/// Returns the hash of a token, which is stored instead of the token.
pub(crate) fn hash_of(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}
