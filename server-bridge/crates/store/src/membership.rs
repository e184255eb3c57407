//! This process as a node: its id, and the homes that it claimed.
//!
//! The database decides, in the statement that locks a user's rows, because a fence that this process knows may be outdated. If the fence is outdated
//! or unknown, the claimer claims the home and settles the work that the last home left unfinished, and the change begins again.

use std::collections::HashMap;
use std::fmt;
use std::sync::{OnceLock, PoisonError, RwLock};

use futures_util::future::BoxFuture;

use crate::{UserId, hex};

/// The id of a node: 128 random bits as 32 hexadecimal digits, chosen when its process starts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(String);

impl NodeId {
    /// A new random id.
    pub fn random() -> Self {
        Self(hex(&rand::random::<[u8; 16]>()))
    }

    /// The id as 32 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// A function that makes this node the home of a user, if possible, and returns when the user's unfinished work is settled; the result is true if the
/// node is the home now. The number is the fence that was refused, or 0 if there was none.
pub type Claimer = Box<dyn Fn(UserId, i64) -> BoxFuture<'static, bool> + Send + Sync>;

tokio::task_local! {
    /// The home that this task claims.
    static CLAIMING: (UserId, i64);
}

/// The state of this process as a node: its id, and the homes that it claimed.
pub struct Membership {
    id: NodeId,
    fences: RwLock<HashMap<UserId, i64>>,
    claimer: OnceLock<Claimer>,
}

impl Membership {
    /// A node without homes.
    pub fn new(id: NodeId) -> Self {
        Self { id, fences: RwLock::default(), claimer: OnceLock::new() }
    }

    /// The node's id.
    pub fn id(&self) -> &NodeId {
        &self.id
    }

    /// Sets the function that claims homes; only the first call counts. Without it, changes fail for users whose home this node is not.
    pub fn set_claimer(&self, claimer: Claimer) {
        let _was_set = self.claimer.set(claimer);
    }

    /// The fence of a home of this node, as far as this process knows.
    pub fn fence(&self, user: UserId) -> Option<i64> {
        match CLAIMING.try_with(|claiming| *claiming) {
            Ok((claimed, fence)) if claimed == user => Some(fence),
            _ => self.fences.read().unwrap_or_else(PoisonError::into_inner).get(&user).copied(),
        }
    }

    /// The number of homes of this node.
    pub fn homes(&self) -> usize {
        self.fences.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The homes of this node, as far as this process knows, with their fences.
    pub fn known(&self) -> Vec<(UserId, i64)> {
        let fences = self.fences.read().unwrap_or_else(PoisonError::into_inner);
        fences.iter().map(|(user, fence)| (*user, *fence)).collect()
    }

    /// Records a home that was claimed and settled.
    pub fn settled(&self, user: UserId, fence: i64) {
        self.fences.write().unwrap_or_else(PoisonError::into_inner).insert(user, fence);
    }

    /// Removes a home that the node lost.
    pub fn lost(&self, user: UserId) {
        self.fences.write().unwrap_or_else(PoisonError::into_inner).remove(&user);
    }

    /// Runs `work`, which settles what a user's last home left unfinished, before any other task changes data of this user.
    pub async fn while_claiming<T>(user: UserId, fence: i64, work: impl Future<Output = T>) -> T {
        CLAIMING.scope((user, fence), work).await
    }

    /// Claims the home of the user whose change was refused with this error.
    pub(crate) async fn claim_for(&self, fenced: &sqlx::Error) -> bool {
        let detail = fenced
            .as_database_error()
            .and_then(|error| error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>())
            .and_then(|error| error.detail());
        let (Some(user), Some(claimer)) = (detail.and_then(|user| user.parse().ok()), self.claimer.get())
        else {
            return false;
        };
        let user = UserId(user);
        // A task that is refused while it claims a home has lost that home to another node meanwhile.
        if CLAIMING.try_with(|claiming| claiming.0 == user).unwrap_or(false) {
            return false;
        }
        claimer(user, self.fence(user).unwrap_or_default()).await
    }
}

impl fmt::Debug for Membership {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Membership")
            .field("id", &self.id)
            .field("homes", &self.homes())
            .finish_non_exhaustive()
    }
}
