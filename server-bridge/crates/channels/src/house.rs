//! The state that the modules of this crate share: the accounts that have a running task, and the services that these tasks use.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use api::words::ChannelState;
use chats::{ChatService, Subscription};
use guard::Reach;
use platforms::{Kind, Platform};
use store::{AuditEntry, ChannelAccount, Store, UserId};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::changes::Changes;
use crate::document::{Document, kind, platform};
use crate::drafting::Drafts;
use crate::error::Result;
use crate::lanes::Lanes;
use crate::limits::{AT_ONCE, AT_ONCE_PER_OWNER, DRAFT_AFTER, FILES_AT_ONCE, MEDIA_TIMEOUT};
use crate::logs::GroupLogs;
use crate::watch::Watch;

/// The services and settings of the server that channels need in addition to its chats.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The kinds of messengers that accounts can use.
    pub kinds: &'static [Kind],
    /// The hosts that platforms may connect to.
    pub reach: Reach,
    /// The server's address for browsers, without a trailing slash, if it is known.
    pub public_url: Option<String>,
    /// The time limit for storing all files of one message.
    pub media_timeout: Duration,
    /// The settings of notices for administrators.
    pub watch: Watch,
    /// How long an answer must be in progress before a draft of it is shown.
    pub draft_after: Duration,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) chats: ChatService,
    pub(crate) around: Surroundings,
    /// The interface to the groups of people and agents, once it is set.
    pub(crate) logs: OnceLock<Arc<dyn GroupLogs>>,
    /// The accounts that have a task, by id.
    pub(crate) live: Mutex<HashMap<i64, Live>>,
    /// True once any account exists. Until then, the work task does not query the database.
    pub(crate) has_any: AtomicBool,
    /// Wakes the task that starts a task for each line of work.
    pub(crate) wake: Arc<Notify>,
    pub(crate) inbox_lanes: Lanes,
    pub(crate) outbox_lanes: Lanes,
    pub(crate) at_once: Arc<Semaphore>,
    /// For each owner of accounts, the permits to work on messages.
    owners: Mutex<HashMap<UserId, Arc<Semaphore>>>,
    /// Permits for files that are in memory: for files to send, and for files of messages.
    pub(crate) files_out: Semaphore,
    pub(crate) files_in: Semaphore,
    /// Chat messages whose questions were asked, answered or given up.
    pub(crate) changes: Changes,
    pub(crate) drafts: Drafts,
    /// Wakes the task that shows drafts when a model has written text.
    pub(crate) writing: Notify,
    /// True after a chat was deleted, which may leave a draft without an answer.
    pub(crate) has_removed: AtomicBool,
    pub(crate) subscription: Mutex<Option<Subscription>>,
    /// When this server process started. An earlier process may have sent messages just before that.
    pub(crate) begun: Instant,
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the server stops.
    pub(crate) stop: CancellationToken,
}

impl Surroundings {
    /// Creates the services with all messengers that this version knows. Platforms may connect to the public internet, and to the `reachable` hosts
    /// at any address.
    pub fn new(reachable: &[String], public_url: Option<String>, home: PathBuf) -> Self {
        Self {
            kinds: platforms::KINDS,
            reach: Reach::public(reachable),
            public_url,
            media_timeout: MEDIA_TIMEOUT,
            watch: Watch::of(home),
            draft_after: DRAFT_AFTER,
        }
    }
}

/// The status of an account.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub(crate) state: ChannelState,
    /// The bot's name at its last connection.
    pub(crate) connected_as: String,
    /// When the account entered this state, in Unix milliseconds.
    pub(crate) since_ms: Option<i64>,
    /// When something last arrived from the messenger, in Unix milliseconds.
    pub(crate) last_traffic_ms: Option<i64>,
    /// The last reason why the account was not connected.
    pub(crate) last_error: String,
    /// The reason why messages may have been missed; empty if none were.
    pub(crate) gap: String,
}

impl Default for Status {
    fn default() -> Self {
        Self {
            state: ChannelState::Connecting,
            connected_as: String::new(),
            since_ms: None,
            last_traffic_ms: None,
            last_error: String::new(),
            gap: String::new(),
        }
    }
}

/// An account that has a running task. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) account: Arc<ChannelAccount>,
    pub(crate) platform: Arc<dyn Platform>,
    pub(crate) status: Arc<Mutex<Status>>,
    /// False if the account's platform cannot be created from its settings.
    pub(crate) is_usable: bool,
    /// Cancelling this token ends the account's task.
    pub(crate) stop: CancellationToken,
}

impl Live {
    /// Changes the account's status.
    pub(crate) fn note(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Sets the channel's state; records the time if the state changed, and the error if there is one.
    pub(crate) fn becomes(&self, state: ChannelState, now_ms: i64, error: Option<String>) {
        self.note(|status| {
            if status.state != state {
                status.since_ms = Some(now_ms);
            }
            status.state = state;
            if let Some(error) = error {
                status.last_error = error;
            }
        });
    }
}

impl Inner {
    /// Creates the shared state, before any account is connected.
    pub(crate) fn new(chats: &ChatService, store: &Store, around: Surroundings) -> Self {
        let wake = Arc::new(Notify::new());
        Self {
            store: store.clone(),
            chats: chats.clone(),
            around,
            logs: OnceLock::new(),
            live: Mutex::default(),
            has_any: AtomicBool::new(false),
            inbox_lanes: Lanes::new(&wake),
            outbox_lanes: Lanes::new(&wake),
            wake,
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
            owners: Mutex::default(),
            files_out: Semaphore::new(FILES_AT_ONCE),
            files_in: Semaphore::new(FILES_AT_ONCE),
            changes: Changes::default(),
            drafts: Drafts::default(),
            writing: Notify::new(),
            has_removed: AtomicBool::new(false),
            subscription: Mutex::default(),
            begun: Instant::now(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Returns the permits for working on messages to accounts of this owner.
    pub(crate) fn seats_of(&self, owner: UserId) -> Arc<Semaphore> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let seats = owners.entry(owner).or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE_PER_OWNER)));
        Arc::clone(seats)
    }

    pub(crate) fn lock_live(&self) -> MutexGuard<'_, HashMap<i64, Live>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock_subscription(&self) -> MutexGuard<'_, Option<Subscription>> {
        self.subscription.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the secrets of an account.
    pub(crate) async fn secrets(&self, account: &ChannelAccount) -> Result<BTreeMap<String, String>> {
        let json = self.store.channel_secrets(account).await?;
        Ok(json.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default())
    }

    /// Creates the platform of an account; the inner error is the reason if it cannot be created.
    pub(crate) async fn platform_of(
        &self,
        account: &ChannelAccount,
    ) -> Result<Result<Arc<dyn Platform>, String>> {
        let kind = match kind(self.around.kinds, &account.kind) {
            Ok(kind) => kind,
            Err(error) => return Ok(Err(error.message())),
        };
        let secrets = self.secrets(account).await?;
        Ok(platform(kind, &Document::of(account), &secrets, &self.around.reach))
    }

    /// Writes an audit entry. A failure is only logged, because the action has already been carried out.
    pub(crate) async fn audit(&self, user: Option<&str>, action: &str, target: &str, outcome: &str) {
        let entry = AuditEntry {
            user: user.map(str::to_owned),
            action: action.to_owned(),
            target: target.to_owned(),
            outcome: outcome.to_owned(),
            ..AuditEntry::default()
        };
        if let Err(error) = self.store.append_audit(&entry).await {
            tracing::error!(%error, action, "a change to a channel could not be recorded");
        }
    }

    /// Returns the account with this id, if it has a task.
    pub(crate) fn live(&self, account: i64) -> Option<Live> {
        self.lock_live().get(&account).cloned()
    }

    /// Returns the account with this id, if it has a task and its platform could be created.
    pub(crate) fn usable(&self, account: i64) -> Option<Live> {
        self.live(account).filter(|live| live.is_usable)
    }

    /// Returns the status of an account; `None` if the account has no task.
    pub(crate) fn status(&self, account: i64) -> Option<Status> {
        let live = self.live(account)?;
        let status = live.status.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(status)
    }
}

/// Writes plain data as JSON.
pub(crate) fn to_json(data: &impl serde::Serialize) -> String {
    serde_json::to_string(data).expect("texts and numbers are always JSON")
}
