//! The state that the modules of this crate share.

use std::sync::Arc;

use chats::ChatService;
use execs::{route_request, sandbox_user};
use sandbox::SandboxRouter;
use store::{AuditEntry, Group, GroupAgent, Store, User, UserId};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::Budgets;
use crate::error::{Error, Result};
use crate::handing::Carrier;
use crate::obstacle::Obstacle;
use crate::rights::{Action, check};

/// Informs a user's clients that something in a group changed.
pub(crate) type Tell = Arc<dyn Fn(UserId, i64) + Send + Sync>;

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) chats: ChatService,
    pub(crate) router: SandboxRouter,
    pub(crate) tell: Tell,
    /// Wakes the worker.
    pub(crate) wake: Arc<Notify>,
    /// What requests of agents may use of the budgets of runs.
    pub(crate) budgets: Budgets,
    /// The tasks that hand files over.
    pub(crate) carrier: Carrier,
    /// Notifies receivers whenever the worker has changed something.
    pub(crate) moved: watch::Sender<()>,
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the server stops.
    pub(crate) stop: CancellationToken,
}

impl Inner {
    /// Finds a group that the user is in, and checks that the user's access includes the action.
    ///
    /// # Errors
    /// [`Error::Store`] if the user is not in it; [`Error::Refused`] if their access does not include the action.
    pub(crate) async fn group_for(&self, user: &User, group: i64, action: Action) -> Result<Group> {
        let group = self.store.group(user.id, group).await?;
        check(group.access, action)?;
        Ok(group)
    }

    /// Finds an agent of a group by its handle, in upper or lower case.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is none.
    pub(crate) async fn agent_named(&self, group: i64, handle: &str) -> Result<GroupAgent> {
        let key = handle.trim_start_matches('@').to_lowercase();
        let agents = self.store.group_agents(group).await?;
        agents
            .into_iter()
            .find(|agent| agent.handle.to_lowercase() == key)
            .ok_or_else(|| Error::refused("not_found", format!("there is no agent @{key} in this group")))
    }

    /// Finds a user by name.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is none.
    pub(crate) async fn user_named(&self, name: &str) -> Result<User> {
        let user = self.store.user_by_name(name).await?;
        user.ok_or_else(|| Error::refused("not_found", format!("there is no user {name:?} on this server")))
    }

    /// Returns why the machine of an agent of this owner cannot be used now; `None` if it can.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub(crate) async fn obstacle(&self, agent: &GroupAgent, owner: &User) -> Result<Option<Obstacle>> {
        let request = route_request(&self.store, agent.owner, Some(&agent.runner)).await?;
        Ok(self.router.check(&sandbox_user(owner), &request).err().map(Obstacle::from))
    }

    /// Informs everyone in a group that something changed, and wakes the worker.
    pub(crate) async fn changed(&self, group: i64) {
        self.wake.notify_one();
        self.tell_all(group).await;
    }

    /// Informs everyone in a group that something changed. A failure is only logged: clients see the change when they load the group again.
    pub(crate) async fn tell_all(&self, group: i64) {
        match self.store.users_of_group(group).await {
            Ok(users) => users.into_iter().for_each(|user| (self.tell)(user, group)),
            Err(error) => tracing::warn!(%error, "the members of a group could not be informed of a change"),
        }
    }

    /// Records a change in the audit trail. A failure is only logged, because the change has already been made.
    pub(crate) async fn audit(&self, user: &User, action: &str, target: &str) {
        let entry = AuditEntry {
            user: Some(user.name.clone()),
            action: action.to_owned(),
            target: target.to_owned(),
            outcome: "ok".to_owned(),
            ..AuditEntry::default()
        };
        if let Err(error) = self.store.append_audit(&entry).await {
            tracing::error!(%error, "a change to a group could not be recorded");
        }
    }
}
