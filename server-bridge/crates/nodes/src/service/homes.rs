//! Finds a user's home, and ends homes at this node.
//!
//! ```text
//!  another node claimed it, or this one gives it up ─► sockets and links of the user end ─► their work ends ─► it may be claimed again
//! ```
//! While the home is being ended, the database refuses changes that the user's work here still tries to make.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use store::{Claim, Error, UserId};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{Inner, Nodes};
use crate::limits::{ELSEWHERE_KEPT, END_TIMEOUT, NODE_LEASE};

/// The node that works for a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// This node.
    Here,
    /// The node with this URL.
    At(String),
    /// No node: the user has no home, and this node accepts no more users.
    Nowhere,
}

impl Nodes {
    /// Returns the home of a user. A user without a home gets this node, unless it drains.
    ///
    /// # Errors
    /// [`Error::Fenced`] if this node counts as gone, [`Error::Database`].
    pub async fn home(&self, user: UserId) -> Result<Home, Error> {
        self.0.home(user).await
    }

    /// Forgets that another node is the home of a user: that node denies it, or cannot be reached.
    pub fn forget_home(&self, user: UserId) {
        self.0.forget_elsewhere(user);
    }

    /// Gives a user's home up: ends their work here and lets another node claim it.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn release(&self, user: UserId) -> Result<(), Error> {
        self.0.give_up(user).await
    }

    /// Returns the user whose home this user shares.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn leader(&self, user: UserId) -> Result<UserId, Error> {
        self.0.store.home_leader(user).await
    }

    /// Returns this node's id.
    pub fn id(&self) -> &str {
        self.0.new.id.as_str()
    }

    /// Returns the users whose home this node is.
    pub fn users(&self) -> Vec<UserId> {
        self.0.member.known().into_iter().map(|(user, _)| user).collect()
    }
}

impl Inner {
    async fn home(&self, user: UserId) -> Result<Home, Error> {
        if self.is_home(user) {
            return Ok(Home::Here);
        }
        if self.is_ending(user) {
            return Ok(self.store.home_url(user).await?.map_or(Home::Nowhere, Home::At));
        }
        let known = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner).get(&user).cloned();
        if let Some(url) = known {
            return Ok(Home::At(url));
        }
        let turn = self.turn_of(user);
        let _one_at_a_time = turn.lock().await;
        if self.is_home(user) {
            return Ok(Home::Here);
        }
        if self.is_draining.load(Ordering::Acquire) {
            return Ok(match self.store.home_url(user).await? {
                Some(url) if url == self.new.url => Home::Here,
                Some(url) => Home::At(url),
                None => Home::Nowhere,
            });
        }
        let known = self.member.fence(user);
        match self.claim_with_others(user).await {
            Ok(Claim::Home(fence)) => {
                if known != Some(fence) {
                    if known.is_some() {
                        self.lose(user).await;
                    }
                    self.settle(user, fence).await;
                }
                Ok(Home::Here)
            }
            Ok(Claim::Elsewhere(url)) => {
                if known.is_some() {
                    self.lose(user).await;
                }
                self.note_elsewhere(user, url.clone());
                Ok(Home::At(url))
            }
            Err(Error::NotFound { .. }) => Ok(Home::Here),
            Err(error) => Err(error),
        }
    }

    /// Claims the home of a user. Users who share a group or a messenger share a home, which is that of the user with the lowest id among them.
    pub(super) async fn claim_with_others(&self, user: UserId) -> Result<Claim, Error> {
        let leader = self.store.home_leader(user).await?;
        // The remembered home of the leader may be as outdated as the user's was.
        self.forget_elsewhere(leader);
        if leader != user
            && let Home::At(url) = Box::pin(self.home(leader)).await?
        {
            match self.store.home_url(user).await? {
                None => return Ok(Claim::Elsewhere(url)),
                Some(own) if own != self.new.url => return Ok(Claim::Elsewhere(own)),
                // This home will soon move to the leader's node.
                Some(_) => {}
            }
        }
        self.store.claim_home(user, &self.new.id).await
    }

    /// Gives up the homes of users who began to share something with users of another node, if that node is the home to share. The returned tasks do
    /// this, because ending a user's work may take long.
    pub(super) async fn give_up_torn(self: &Arc<Self>) -> Result<Vec<JoinHandle<()>>, Error> {
        let mut tasks = Vec::new();
        for user in self.store.torn_homes(&self.new.id).await? {
            if self.is_ending(user) {
                continue;
            }
            let leader = self.store.home_leader(user).await?;
            let home = self.store.home_url(leader).await?;
            if home.is_some_and(|home| home != self.new.url) {
                let inner = Arc::clone(self);
                tasks.push(self.tasks.spawn(async move {
                    if let Err(error) = inner.give_up(user).await {
                        tracing::warn!(%error, %user, "cannot give up a user's home; trying again");
                    }
                }));
            }
        }
        Ok(tasks)
    }

    pub(super) async fn give_up(&self, user: UserId) -> Result<(), Error> {
        let turn = self.turn_of(user);
        let _one_at_a_time = turn.lock().await;
        self.store.release_home(user, &self.new.id).await?;
        self.lose(user).await;
        Ok(())
    }

    /// Returns true if this node is certainly the home of a user; while the node's lease lasts, no other node can claim the home.
    fn is_home(&self, user: UserId) -> bool {
        let renewed_at = *self.renewed_at.lock().unwrap_or_else(PoisonError::into_inner);
        renewed_at.elapsed() < NODE_LEASE && self.member.fence(user).is_some()
    }

    fn forget_elsewhere(&self, user: UserId) {
        self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner).remove(&user);
    }

    pub(super) fn note_elsewhere(&self, user: UserId, url: String) {
        let mut elsewhere = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        if elsewhere.len() >= ELSEWHERE_KEPT {
            elsewhere.clear();
        }
        elsewhere.insert(user, url);
    }

    /// Ends the work for users whose homes were claimed by others while this node counted as gone.
    pub(super) async fn review(self: &Arc<Self>) {
        let ours = match self.store.homes_of(&self.new.id).await {
            Ok(ours) => ours,
            Err(error) => {
                // Changes for users whose homes were lost will be refused, which ends their work as well.
                tracing::warn!(%error, "cannot read which homes this node still has");
                return;
            }
        };
        for lost in self.member.known().into_iter().filter(|known| !ours.contains(known)) {
            self.lose_soon(lost.0, lost.1);
        }
    }

    /// Spawns a task that ends a user's work under this fence.
    pub(super) fn lose_soon(self: &Arc<Self>, user: UserId, fence: i64) {
        if self.is_ending(user) {
            return;
        }
        let inner = Arc::clone(self);
        self.tasks.spawn(async move {
            let turn = inner.turn_of(user);
            let _one_at_a_time = turn.lock().await;
            // By now, this node may be the home again, under another fence.
            if inner.member.fence(user) == Some(fence) {
                inner.lose(user).await;
            }
        });
    }

    pub(super) fn is_ending(&self, user: UserId) -> bool {
        self.ending.borrow().contains(&user)
    }

    /// Waits until a user's work is being ended.
    pub(super) async fn ends(&self, user: UserId) {
        let mut ending = self.ending.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ends = ending.wait_for(|ending| ending.contains(&user)).await;
    }

    /// Ends a user's work and forgets the home. The caller holds the user's lock in `claims`.
    pub(super) async fn lose(&self, user: UserId) {
        let was_home = self.member.fence(user).is_some();
        self.member.lost(user);
        if !was_home {
            return;
        }
        self.ending.send_modify(|ending| {
            ending.insert(user);
        });
        let _ended = EndOnDrop { inner: self, user };
        tracing::info!(%user, "this node is no longer the user's home");
        let Some(end_work) = self.end_work.get() else { return };
        let mut ending = end_work(user);
        // This node cannot become the home again before the work has ended, however long that takes.
        while timeout(END_TIMEOUT, &mut ending).await.is_err() {
            tracing::warn!(%user, "some work for a user whose home is now another node has not ended yet");
        }
    }
}

struct EndOnDrop<'a> {
    inner: &'a Inner,
    user: UserId,
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.inner.ending.send_modify(|ending| {
            ending.remove(&self.user);
        });
    }
}
