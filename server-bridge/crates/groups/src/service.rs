//! Groups, their people, agents and grants.

use std::sync::Arc;

use agent::approval::Mode;
use agent::hooks::{Estimate, Hold, Hook, HookedTurn, Place, Words};
use api::group::{GroupAgentPut, GroupGrantPut, GroupLead, GroupPersonPut, GroupView};
use api::words::{Approval, GrantMode, GroupAccess};
use chats::ChatService;
use execs::{route_request, sandbox_user};
use futures_util::future::BoxFuture;
use sandbox::SandboxRouter;
use store::{Access, AgentDraft, Group, Store, User, UserId};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::Budgets;
use crate::error::{Error, Result};
use crate::folder;
use crate::handing::Carrier;
use crate::house::Inner;
use crate::limits::{AGENT_TOOLS_MAX, TOOL_NAME_MAX_BYTES};
use crate::mentions::unfit;
use crate::persona::Persona;
use crate::rights::{Action, check};
use crate::tools::OfGroups;

/// The groups of all users. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub struct Groups(pub(crate) Arc<Inner>);

impl Groups {
    /// Creates the service of groups whose agents work in these chats. A chain hands at most `handed_max_bytes` from one step to the next; the
    /// default is 4 GiB. `tell` informs a user's clients that something in a group changed. No work is done before [`Groups::start`].
    pub fn new(
        chats: &ChatService,
        store: &Store,
        router: &SandboxRouter,
        handed_max_bytes: Option<u64>,
        tell: impl Fn(UserId, i64) + Send + Sync + 'static,
    ) -> Self {
        chats.prompt().put(Persona(store.clone()));
        let (wake, tasks, stop) = (Arc::new(Notify::new()), TaskTracker::new(), CancellationToken::new());
        let groups = Self(Arc::new(Inner {
            store: store.clone(),
            chats: chats.clone(),
            router: router.clone(),
            tell: Arc::new(tell),
            budgets: Budgets::default(),
            carrier: Carrier::new(store, chats, router, handed_max_bytes, &wake, &tasks, &stop),
            wake,
            moved: watch::Sender::new(()),
            tasks,
            stop,
        }));
        chats.tools().add_source(OfGroups(Arc::clone(&groups.0)));
        groups
    }

    /// Stops working on calls. Open calls stay on record, and the next server process continues them.
    pub async fn shutdown(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Returns the groups that a user is in, the most recently changed one first.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list(&self, user: &User) -> Result<Vec<GroupView>> {
        let mut views = Vec::new();
        for group in self.0.store.groups(user.id).await? {
            views.push(self.0.view(user, &group).await?);
        }
        Ok(views)
    }

    /// Returns one group, with its people, agents and grants.
    ///
    /// # Errors
    /// [`Error::Store`] for a group that the user is not in.
    pub async fn show(&self, user: &User, group: i64) -> Result<GroupView> {
        let group = self.0.group_for(user, group, Action::Read).await?;
        self.0.view(user, &group).await
    }

    /// Creates a group that the user owns.
    ///
    /// # Errors
    /// [`Error::Store`], which states what to change.
    pub async fn create(&self, user: &User, title: &str) -> Result<GroupView> {
        let group = self.0.store.create_group(user.id, title.trim()).await?;
        self.0.audit(user, "group.create", &group.to_string()).await;
        self.0.changed(group).await;
        self.show(user, group).await
    }

    /// Changes a group's title.
    ///
    /// # Errors
    /// [`Error`], which states what to change.
    pub async fn rename(&self, user: &User, group: i64, title: &str) -> Result<GroupView> {
        self.0.group_for(user, group, Action::Rename).await?;
        self.0.store.rename_group(group, title.trim()).await?;
        self.0.changed(group).await;
        self.show(user, group).await
    }

    /// Deletes a group with its log and chains, and stops its agents. Their chats stay with their owners.
    ///
    /// # Errors
    /// [`Error`] if the user is not in the group, or is not an owner of it.
    pub async fn delete(&self, user: &User, group: i64) -> Result<()> {
        self.0.group_for(user, group, Action::Delete).await?;
        let users = self.0.store.users_of_group(group).await?;
        for call in self.0.store.group_calls(group, 0).await? {
            self.0.store.unwant_call(group, call.id).await?;
            self.0.cancel_turn(&call).await?;
            self.0.carrier.forget(call.id);
        }
        self.0.store.delete_group(group).await?;
        self.0.audit(user, "group.delete", &group.to_string()).await;
        users.into_iter().for_each(|user| (self.0.tell)(user, group));
        Ok(())
    }

    /// Adds a person, or changes their access. An editor may add and change members and readers; an owner may add and change everyone.
    ///
    /// # Errors
    /// [`Error`], which states what to change.
    pub async fn put_person(
        &self,
        user: &User,
        group: i64,
        name: &str,
        put: GroupPersonPut,
    ) -> Result<GroupView> {
        let mine = self.0.group_for(user, group, Action::Read).await?;
        let access = access(&put.access)?;
        let person = self.0.user_named(name).await?;
        let had = self.access_of(group, person.id).await?;
        check(mine.access, managing(had.unwrap_or(Access::Reader).max(access)))?;
        self.0.store.put_group_person(group, person.id, access).await?;
        let target = format!("{group}: {name} ({})", access.as_str());
        self.0.audit(user, "group.person", &target).await;
        self.0.changed(group).await;
        self.show(user, group).await
    }

    /// Removes a person with their agents and grants; everyone may remove themselves.
    ///
    /// # Errors
    /// [`Error`], which states why the user may not do this.
    pub async fn remove_person(&self, user: &User, group: i64, name: &str) -> Result<()> {
        let mine = self.0.group_for(user, group, Action::Read).await?;
        let person = self.0.user_named(name).await?;
        let had = self.access_of(group, person.id).await?;
        let had = had.ok_or_else(|| Error::refused("not_found", format!("{name} is not in this group")))?;
        check(mine.access, if person.id == user.id { Action::Leave } else { managing(had) })?;
        self.0.store.remove_group_person(group, person.id).await?;
        self.0.audit(user, "group.person.remove", &format!("{group}: {name}")).await;
        (self.0.tell)(person.id, group);
        self.0.changed(group).await;
        Ok(())
    }

    /// Adds an agent on one of the user's machines, or changes the user's agent with this handle.
    ///
    /// # Errors
    /// [`Error`], which states what to change.
    pub async fn put_agent(
        &self,
        user: &User,
        group: i64,
        handle: &str,
        put: GroupAgentPut,
    ) -> Result<GroupView> {
        self.0.group_for(user, group, Action::AddAgent).await?;
        let handle = handle.trim_start_matches('@');
        if let Some(why) = unfit(handle) {
            return Err(Error::invalid(why));
        }
        let approval = match put.approval.unwrap_or(Approval::Ask) {
            Approval::Unknown(word) => {
                return Err(Error::invalid(format!(
                    "{word:?} is not an approval mode; use plan, ask, auto-edit or full"
                )));
            }
            known => known,
        };
        let request = route_request(&self.0.store, user.id, Some(&put.runner)).await?;
        if put.runner.is_empty() || !request.is_known() {
            return Err(Error::refused(
                "not_found",
                format!(
                    "you have no runner named {}; `sandbridge runner list` lists your runners",
                    put.runner
                ),
            ));
        }
        let tools_json = put.tools.map(tool_names).transpose()?;
        let folder = put.folder.as_deref().map(folder::parsed).transpose()?;
        let draft = AgentDraft {
            handle,
            runner: &put.runner,
            approval: approval.as_str(),
            model: put.model.as_deref().filter(|model| !model.is_empty()),
            persona: put.persona.trim(),
            tools_json: tools_json.as_deref(),
            folder: folder.as_deref(),
        };
        self.0.store.put_group_agent(group, user.id, draft).await?;
        let tools = tools_json.map(|names| format!(" with the tools {names}")).unwrap_or_default();
        let target = format!("{group}: @{handle} on {}{tools}", put.runner);
        self.0.audit(user, "group.agent", &target).await;
        self.0.changed(group).await;
        self.show(user, group).await
    }

    /// Removes an agent; its work is stopped.
    ///
    /// # Errors
    /// [`Error`] if the agent does not exist, or if it belongs to another user and the user is not an editor.
    pub async fn remove_agent(&self, user: &User, group: i64, handle: &str) -> Result<()> {
        let mine = self.0.group_for(user, group, Action::Read).await?;
        let agent = self.0.agent_named(group, handle).await?;
        let is_own = agent.owner == user.id;
        check(mine.access, if is_own { Action::RemoveOwnAgent } else { Action::RemoveAgent })?;
        self.0.store.remove_group_agent(group, agent.id).await?;
        self.0.audit(user, "group.agent.remove", &format!("{group}: @{}", agent.handle)).await;
        self.0.changed(group).await;
        Ok(())
    }

    /// Lets another person of the group ask one of the user's agents.
    ///
    /// # Errors
    /// [`Error`] if the agent is not the user's, or the person is not in the group.
    pub async fn put_grant(
        &self,
        user: &User,
        group: i64,
        handle: &str,
        name: &str,
        put: GroupGrantPut,
    ) -> Result<GroupView> {
        let agent = self.own_agent(user, group, handle).await?;
        let mode = match put.mode {
            GrantMode::Ask => store::GrantMode::Ask,
            GrantMode::Own => store::GrantMode::Own,
            GrantMode::Unknown(word) => {
                return Err(Error::invalid(format!("{word:?} is not a mode of a grant; use ask or own")));
            }
        };
        let person = self.0.user_named(name).await?;
        if person.id == user.id {
            return Err(Error::invalid("this agent is yours: you can ask it without a grant"));
        }
        if !self.0.store.put_grant(group, agent.id, person.id, mode).await? {
            return Err(Error::refused("not_found", format!("{name} is not in this group; add them first")));
        }
        let target = format!("{group}: @{} to {name} ({})", agent.handle, mode.as_str());
        self.0.audit(user, "group.grant", &target).await;
        self.0.changed(group).await;
        self.show(user, group).await
    }

    /// Revokes a grant; the work that the person asked the agent for is stopped.
    ///
    /// # Errors
    /// [`Error`] if the agent is not the user's, or there is no grant.
    pub async fn remove_grant(&self, user: &User, group: i64, handle: &str, name: &str) -> Result<()> {
        let agent = self.own_agent(user, group, handle).await?;
        let person = self.0.user_named(name).await?;
        if !self.0.store.remove_grant(group, agent.id, person.id).await? {
            return Err(Error::refused("not_found", format!("{name} has no grant for @{}", agent.handle)));
        }
        self.0.audit(user, "group.grant.remove", &format!("{group}: @{} to {name}", agent.handle)).await;
        self.0.changed(group).await;
        Ok(())
    }

    /// Chooses the agent that answers messages that mention no agent.
    ///
    /// # Errors
    /// [`Error`] if there is no such agent, or if the user is not an editor.
    pub async fn set_lead(&self, user: &User, group: i64, lead: GroupLead) -> Result<GroupView> {
        self.0.group_for(user, group, Action::SetLead).await?;
        let agent = match lead.agent.as_deref().filter(|handle| !handle.is_empty()) {
            Some(handle) => Some(self.0.agent_named(group, handle).await?.id),
            None => None,
        };
        self.0.store.set_lead(group, agent).await?;
        self.0.changed(group).await;
        self.show(user, group).await
    }

    async fn own_agent(&self, user: &User, group: i64, handle: &str) -> Result<store::GroupAgent> {
        self.0.group_for(user, group, Action::Grant).await?;
        let agent = self.0.agent_named(group, handle).await?;
        if agent.owner == user.id {
            return Ok(agent);
        }
        let why = format!(
            "@{} works on a machine of {}: only they can grant its use",
            agent.handle, agent.owner_name
        );
        Err(Error::refused("forbidden", why))
    }

    async fn access_of(&self, group: i64, user: UserId) -> Result<Option<Access>> {
        match self.0.store.group(user, group).await {
            Ok(Group { access, .. }) => Ok(Some(access)),
            Err(store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Creates the folder of an agent before its turn begins, holds what its requests may use of the budget of a run, and wakes the worker when a turn
/// has ended, because a call may be waiting for that turn.
impl Hook for Groups {
    fn at<'a>(&'a self, turn: HookedTurn<'a>, place: Place<'a>) -> BoxFuture<'a, Words> {
        if matches!(place, Place::TurnEnds { .. }) {
            self.0.budgets.forget(turn.turn);
            self.0.wake.notify_one();
        }
        Box::pin(async move {
            let why = match place {
                Place::TurnBegins { .. } if !turn.is_sub_agent() => {
                    self.0.prepare(turn.user, turn.chat).await
                }
                _ => None,
            };
            why.map_or_else(Words::default, Words::deny)
        })
    }

    fn holds<'a>(
        &'a self,
        turn: HookedTurn<'a>,
        estimate: Estimate,
    ) -> BoxFuture<'a, std::result::Result<Hold, String>> {
        Box::pin(self.0.hold(turn, estimate))
    }
}

impl Inner {
    /// Returns the approval mode in which an agent works for a person; an error if the person has no permission to ask the agent.
    pub(crate) async fn mode_for(&self, agent: &store::GroupAgent, user: UserId) -> Result<String> {
        if agent.owner == user {
            return Ok(agent.approval.clone());
        }
        match self.store.grant(agent.id, user).await? {
            Some(store::GrantMode::Own) => Ok(agent.approval.clone()),
            // The stricter of the two modes.
            Some(store::GrantMode::Ask) if agent.approval == Mode::Plan.as_str() => {
                Ok(agent.approval.clone())
            }
            Some(store::GrantMode::Ask) => Ok(Mode::Ask.as_str().to_owned()),
            None => Err(Error::refused(
                "forbidden",
                format!(
                    "@{} works on a machine of {}, who has not let you ask it; ask them for a grant",
                    agent.handle, agent.owner_name
                ),
            )),
        }
    }

    /// Returns true if an agent's machine can be used now.
    pub(crate) async fn is_online(&self, agent: &store::GroupAgent) -> Result<bool> {
        let Some(owner) = self.store.user_by_id(agent.owner).await? else { return Ok(false) };
        let request = route_request(&self.store, agent.owner, Some(&agent.runner)).await?;
        Ok(self.router.check(&sandbox_user(&owner), &request).is_ok())
    }
}

fn access(word: &GroupAccess) -> Result<Access> {
    match word {
        GroupAccess::Owner => Ok(Access::Owner),
        GroupAccess::Editor => Ok(Access::Editor),
        GroupAccess::Member => Ok(Access::Member),
        GroupAccess::Reader => Ok(Access::Reader),
        GroupAccess::Unknown(word) => Err(Error::invalid(format!(
            "{word:?} is not a kind of access; use owner, editor, member or reader"
        ))),
    }
}

/// Returns the action that is needed to add, change or remove a person with this access.
fn managing(access: Access) -> Action {
    if access >= Access::Editor { Action::ManageEditors } else { Action::ManagePeople }
}

/// Checks the names of an agent's tools, and returns their stored form without duplicates.
///
/// # Errors
/// [`Error::Refused`] if there are no names or too many, or if one is not a valid tool name.
fn tool_names(wanted: Vec<String>) -> Result<String> {
    let mut names: Vec<String> = wanted.into_iter().map(|name| name.trim().to_owned()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() || names.len() > AGENT_TOOLS_MAX {
        return Err(Error::invalid(format!(
            "name 1 to {AGENT_TOOLS_MAX} tools, or '*' for all of your tools"
        )));
    }
    let is_name = |name: &str| {
        (1..=TOOL_NAME_MAX_BYTES).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-*".contains(&byte))
    };
    match names.iter().find(|name| !is_name(name)) {
        Some(name) => Err(Error::invalid(format!(
            "{name:?} is not the name of a tool: use letters, digits, '_' and '-', and '*' for any text"
        ))),
        None => Ok(serde_json::to_string(&names).expect("names are always JSON")),
    }
}
