//! The tasks of a node.

mod homes;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::BoxFuture;
use metrics::counter;
use store::{Claim, Error, Membership, NewNode, NodeId, Renewal, Store, UserId};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::lease::{Answer, News, Standing};
use crate::limits::{JOIN_PATIENCE, JOIN_PAUSE, NODE_LEASE, NODE_RENEWAL, SWEEP_BATCH, SWEEP_INTERVAL};

/// The name of the counter of users whose home this node became.
pub const CLAIMS: &str = "sandbridge_home_claims_total";

/// Settles the work that a user's last home left unfinished. An error is only logged.
pub type Settle = Box<dyn Fn(UserId) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Ends this node's work for a user whose home is now another node, and forgets the user's data in memory.
pub type EndWork = Box<dyn Fn(UserId) -> BoxFuture<'static, ()> + Send + Sync>;

pub use homes::Home;

/// This server as a node. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub struct Nodes(Arc<Inner>);

struct Inner {
    store: Store,
    member: Arc<Membership>,
    new: NewNode,
    settle: OnceLock<Settle>,
    end_work: OnceLock<EndWork>,
    /// Locks by user, so that only one task at a time claims a user's home.
    claims: Mutex<HashMap<UserId, Arc<tokio::sync::Mutex<()>>>>,
    /// The users whose home is another node, with that node's URL, until it reports otherwise.
    elsewhere: Mutex<HashMap<UserId, String>>,
    /// The users whose work here is being ended.
    ending: watch::Sender<HashSet<UserId>>,
    /// When the last renewal that succeeded was sent.
    renewed_at: Mutex<Instant>,
    tasks: TaskTracker,
    is_draining: AtomicBool,
    is_stopping: AtomicBool,
    /// True while the database records that this node drains, because an administrator or the node itself requested it.
    drain_wanted: watch::Sender<bool>,
    has_swept: AtomicBool,
}

impl Nodes {
    /// Joins the other nodes, which recognise this one by its public key; without a key it works alongside no other live node. Waits some seconds for
    /// the lease of a dead node to end. From then on, changes through the store are made in the name of this node.
    ///
    /// # Errors
    /// [`Error::NodeUrlInUse`] while a live node has the URL, [`Error::InUse`] while another node is live and one of the two has no key,
    /// [`Error::Invalid`], [`Error::Database`].
    pub async fn join(
        store: Store,
        url: &str,
        version: &str,
        public_key: Option<Vec<u8>>,
    ) -> Result<(Self, Store), Error> {
        let new = NewNode {
            id: NodeId::random(),
            url: url.to_owned(),
            version: version.to_owned(),
            lease: NODE_LEASE,
            public_key,
        };
        let deadline = Instant::now() + JOIN_PATIENCE;
        let mut has_said = false;
        let mut joined_at = Instant::now();
        loop {
            match store.join_node(&new).await {
                Ok(()) => break,
                Err(error @ (Error::NodeUrlInUse { .. } | Error::InUse { .. }))
                    if Instant::now() < deadline =>
                {
                    if !std::mem::replace(&mut has_said, true) {
                        let patience_s = JOIN_PATIENCE.as_secs();
                        tracing::info!("{error}; waiting {patience_s} s for the end of its lease");
                    }
                    sleep(JOIN_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
            joined_at = Instant::now();
        }
        let member = Arc::new(Membership::new(new.id.clone()));
        let store = store.of_node(Arc::clone(&member));
        let inner = Arc::new(Inner {
            store: store.clone(),
            member,
            new,
            settle: OnceLock::new(),
            end_work: OnceLock::new(),
            claims: Mutex::default(),
            elsewhere: Mutex::default(),
            ending: watch::Sender::default(),
            renewed_at: Mutex::new(joined_at),
            tasks: TaskTracker::new(),
            is_draining: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            drain_wanted: watch::Sender::new(false),
            has_swept: AtomicBool::new(false),
        });
        let node = Arc::downgrade(&inner);
        inner.member.set_claimer(Box::new(move |user, refused| {
            let node = node.upgrade();
            Box::pin(async move {
                match node {
                    Some(node) => node.claim(user, refused).await,
                    None => false,
                }
            })
        }));
        Ok((Self(inner), store))
    }

    /// Sets the function that settles a user's unfinished work; only the first call counts.
    pub fn set_settle(&self, settle: Settle) {
        let _was_set = self.0.settle.set(settle);
    }

    /// Sets the function that ends a user's work here; only the first call counts.
    pub fn set_end_work(&self, end_work: EndWork) {
        let _was_set = self.0.end_work.set(end_work);
    }

    /// Returns true once the node has taken over the users whose unfinished work it found at startup.
    pub fn has_swept(&self) -> bool {
        self.0.has_swept.load(Ordering::Acquire)
    }

    /// Returns the number of users that this node works for.
    pub fn homes(&self) -> usize {
        self.0.member.homes()
    }

    /// Renews the lease and takes over users of dead nodes until `stop`.
    ///
    /// # Errors
    /// [`Error::NodeUrlInUse`] and [`Error::InUse`] if another node took this one's place, so that this one must stop.
    pub async fn run(&self, stop: &CancellationToken) -> Result<(), Error> {
        tokio::select! {
            lost = self.0.keep_lease() => Err(lost),
            () = self.0.keep_sweeping() => Ok(()),
            () = stop.cancelled() => Ok(()),
        }
    }

    /// Claims no more homes until it stops, and announces that to the other nodes.
    pub async fn drain(&self) {
        self.0.is_stopping.store(true, Ordering::Release);
        self.0.is_draining.store(true, Ordering::Release);
        self.0.record_draining().await;
    }

    /// Stops or resumes claiming homes. The database already has the change, so the other nodes know it.
    pub fn set_draining(&self, is_draining: bool) {
        self.0.is_draining.store(is_draining, Ordering::Release);
    }

    /// Returns a receiver that is true while the database records that this node drains, as of its last renewal.
    pub fn drain_wanted(&self) -> watch::Receiver<bool> {
        self.0.drain_wanted.subscribe()
    }

    /// Gives up all homes and the lease, so that other nodes need not wait for the lease to end.
    pub async fn leave(&self) {
        if let Err(error) = self.0.store.leave_node(&self.0.new.id).await {
            tracing::warn!(%error, "cannot record that this node is stopping; other nodes will wait until its lease ends");
        }
    }
}

impl Inner {
    async fn record_draining(&self) {
        if let Err(error) = self.store.drain_node(&self.new.id).await {
            tracing::warn!(%error, "cannot record that this node is draining");
        }
    }

    /// Keeps the lease; returns only when another node has taken this one's place.
    async fn keep_lease(self: &Arc<Self>) -> Error {
        let mut standing = Standing::default();
        let mut due = interval(NODE_RENEWAL);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            due.tick().await;
            let sent_at = Instant::now();
            let renewed = timeout(NODE_LEASE, self.store.renew_node(&self.new.id, NODE_LEASE)).await;
            let (answer, error) = match renewed {
                Ok(Ok(Renewal::Kept { is_draining })) => {
                    if !is_draining && self.is_stopping.load(Ordering::Acquire) {
                        // A stopping node cannot undo its drain.
                        self.record_draining().await;
                    }
                    self.drain_wanted
                        .send_if_modified(|wanted| std::mem::replace(wanted, is_draining) != is_draining);
                    (Answer::Renewed, None)
                }
                Ok(Ok(Renewal::Gone)) => (Answer::Refused, None),
                Ok(Err(error)) => (Answer::None, Some(error)),
                Err(_) => (Answer::None, None),
            };
            if answer == Answer::Renewed {
                *self.renewed_at.lock().unwrap_or_else(PoisonError::into_inner) = sent_at;
            }
            match standing.after(answer) {
                None => {}
                Some(News::Away) => {
                    let why = error.map_or_else(|| "no answer".to_owned(), |error| error.to_string());
                    tracing::warn!("cannot renew this node's lease: {why}; trying again");
                }
                Some(News::Back) => tracing::info!("this node's lease is renewed again"),
                Some(News::Gone) => match self.store.join_node(&self.new).await {
                    Ok(()) => {
                        tracing::warn!("this node had been considered gone and has joined again");
                        if self.is_draining.load(Ordering::Acquire) {
                            self.record_draining().await;
                        }
                        self.review().await;
                    }
                    Err(error @ (Error::NodeUrlInUse { .. } | Error::InUse { .. })) => return error,
                    Err(error) => tracing::warn!(%error, "cannot join again; trying again"),
                },
            }
        }
    }

    async fn keep_sweeping(self: &Arc<Self>) {
        let mut due = interval(SWEEP_INTERVAL);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            due.tick().await;
            if self.is_draining.load(Ordering::Acquire) {
                continue;
            }
            if self.new.public_key.is_some()
                && let Err(error) = self.give_up_torn().await
                && !error.is_passing()
            {
                tracing::error!(%error, "cannot look for users who share something with users of other nodes");
            }
            match self.sweep().await {
                Ok(()) => self.has_swept.store(true, Ordering::Release),
                Err(error) if error.is_passing() => {}
                Err(error) => tracing::error!(%error, "cannot take over the users of dead nodes"),
            }
        }
    }

    /// Takes over, in batches, all users that can be taken over now.
    async fn sweep(self: &Arc<Self>) -> Result<(), Error> {
        loop {
            let claimed = self.store.sweep_homes(&self.new.id, SWEEP_BATCH).await?;
            if claimed.is_empty() {
                return Ok(());
            }
            tracing::info!(users = claimed.len(), "took over users with unfinished work");
            for (user, fence) in claimed {
                if self.member.fence(user).is_some() {
                    // Ending the earlier work may take long, so the other users do not wait for it.
                    let inner = Arc::clone(self);
                    self.tasks.spawn(async move { inner.take_up(user, fence).await });
                } else {
                    self.take_up(user, fence).await;
                }
            }
        }
    }

    /// Begins the work for a user whose home was swept up. If this node was the home before and did not notice the loss, it first ends the work from
    /// that time; otherwise that work would go on alongside the new work, and nothing would end it.
    async fn take_up(&self, user: UserId, fence: i64) {
        let turn = self.turn_of(user);
        let _one_at_a_time = turn.lock().await;
        let known = self.member.fence(user);
        // A request may have claimed the home in the meantime.
        if known.is_some_and(|known| known >= fence) {
            return;
        }
        if known.is_some() {
            self.lose(user).await;
        }
        self.settle(user, fence).await;
    }

    /// Makes this node a user's home after a change was refused with this fence; returns true if it is the home now.
    async fn claim(self: &Arc<Self>, user: UserId, refused: i64) -> bool {
        let turn = self.turn_of(user);
        let _one_at_a_time = tokio::select! {
            biased;
            // Work that is being ended must not claim the home again. That work must not wait for the lock either, because the task that ends it
            // holds the lock and waits for it.
            () = self.ends(user) => return false,
            turn = turn.lock() => turn,
        };
        match self.member.fence(user) {
            Some(fence) if fence != refused => return true,
            Some(_) => {
                // The task that makes this change is part of the work that has to end.
                self.lose_soon(user, refused);
                return false;
            }
            None => {}
        }
        if self.is_draining.load(Ordering::Acquire) {
            return false;
        }
        match self.claim_with_others(user).await {
            Ok(Claim::Home(fence)) => {
                self.settle(user, fence).await;
                true
            }
            Ok(Claim::Elsewhere(url)) => {
                self.note_elsewhere(user, url);
                false
            }
            Err(Error::NotFound { .. } | Error::Fenced) => false,
            Err(error) => {
                tracing::warn!(%error, %user, "cannot claim a user's home");
                false
            }
        }
    }

    /// Settles the last home's unfinished work; only then other changes of this node are made for the user.
    async fn settle(&self, user: UserId, fence: i64) {
        counter!(CLAIMS).increment(1);
        if let Some(settle) = self.settle.get() {
            let settled = Membership::while_claiming(user, fence, store::patiently(settle(user))).await;
            if let Err(error) = settled {
                tracing::error!(error, %user, "some work that an earlier node left unfinished could not be continued");
            }
        }
        self.member.settled(user, fence);
    }

    fn turn_of(&self, user: UserId) -> Arc<tokio::sync::Mutex<()>> {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(claims.entry(user).or_default())
    }
}

#[cfg(test)]
mod tests;
