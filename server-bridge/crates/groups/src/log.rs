//! Reading a group's log and posting to it.

use api::group::{GroupCall, GroupEntries, GroupPost, GroupPosted};
use store::{EntryKind, GroupAgent, NewCall, NewEntry, User};

use crate::ask::check_asking;
use crate::error::{Error, Result};
use crate::limits::{CALLS_LISTED, ENTRIES_LISTED};
use crate::mentions::{Mentions, mentions};
use crate::rights::{Action, check};
use crate::service::Groups;
use crate::views;

impl Groups {
    /// Returns entries of a group's log, the oldest first: those after `after`, or else the newest ones before `before`; at most 100 entries and 8
    /// MiB of text.
    ///
    /// # Errors
    /// [`Error::Store`] for a group that the user is not in.
    pub async fn entries(
        &self,
        user: &User,
        group: i64,
        after: Option<i64>,
        before: Option<i64>,
    ) -> Result<GroupEntries> {
        self.0.group_for(user, group, Action::Read).await?;
        let store = &self.0.store;
        let (entries, more) = match after {
            Some(after) => store.entries_after(group, after, ENTRIES_LISTED).await?,
            None => store.entries_before(group, before.unwrap_or(i64::MAX), ENTRIES_LISTED).await?,
        };
        Ok(GroupEntries { entries: entries.iter().map(views::entry).collect(), more })
    }

    /// Returns the calls of a group that have not ended, and the newest 50 that have, the newest first.
    ///
    /// # Errors
    /// [`Error::Store`] for a group that the user is not in.
    pub async fn calls(&self, user: &User, group: i64) -> Result<Vec<GroupCall>> {
        self.0.group_for(user, group, Action::Read).await?;
        let calls = self.0.store.group_calls(group, CALLS_LISTED).await?;
        Ok(calls.iter().map(views::call).collect())
    }

    /// Stops a call. The person who asked, the agent's owner and editors may do this.
    ///
    /// # Errors
    /// [`Error::Refused`] for other people, and if there is no such call.
    pub async fn cancel(&self, user: &User, group: i64, call: i64) -> Result<()> {
        let mine = self.0.group_for(user, group, Action::Read).await?;
        let known = self.0.store.group_call(call).await.ok().filter(|known| known.group_id == group);
        let Some(known) = known else {
            return Err(Error::refused("not_found", format!("there is no call {call} in this group")));
        };
        let agent = self.0.store.group_agent(known.agent_id).await?;
        if known.user != Some(user.id) && agent.owner != user.id {
            check(mine.access, Action::RemoveAgent)?;
        }
        if self.0.store.unwant_call(group, call).await? {
            self.0.audit(user, "group.call.cancel", &format!("{group}: {call} of @{}", agent.handle)).await;
            self.0.changed(group).await;
        }
        Ok(())
    }

    /// Posts a person's message and asks the agents that it mentions, or else the lead. A message with a repeated send id is not posted again.
    ///
    /// # Errors
    /// [`Error::Refused`] for an empty text and for readers; [`Error::Store`], which states what to change.
    pub async fn post(&self, user: &User, group: i64, post: GroupPost) -> Result<GroupPosted> {
        let into = self.0.group_for(user, group, Action::Post).await?;
        if post.text.trim().is_empty() {
            return Err(Error::invalid("the message is empty; write something"));
        }
        let agents = self.0.store.group_agents(group).await?;
        let (asked, notes) = self.asked(user, &post.text, &agents, into.lead_id).await?;
        if !asked.is_empty() {
            check(into.access, Action::Ask)?;
            check_asking(&post.text)?;
        }
        let handles: Vec<_> = asked.iter().map(|agent| agent.handle.as_str()).collect();
        let entry = NewEntry {
            group,
            kind: EntryKind::Person,
            author: &user.name,
            user: Some(user.id),
            text: &post.text,
            asks_json: &serde_json::to_string(&handles).expect("texts are always JSON"),
            send_id: post.send_id.as_deref(),
        };
        let calls: Vec<_> = asked
            .iter()
            .map(|agent| NewCall {
                group,
                agent: agent.id,
                user: user.id,
                user_name: &user.name,
                request: &post.text,
                step: None,
                limit_ms: None,
            })
            .collect();
        let (entry, ids, is_new) = self.0.store.post_entry(entry, &calls).await?;
        if is_new {
            self.0.changed(group).await;
        }
        let mut calls = Vec::new();
        for id in ids {
            calls.push(views::call(&self.0.store.group_call(id).await?));
        }
        Ok(GroupPosted { entry: views::entry(&entry), calls, notes })
    }

    /// Returns the agents that a text asks, and notes for its author.
    async fn asked<'a>(
        &self,
        user: &User,
        text: &str,
        agents: &'a [GroupAgent],
        lead: Option<i64>,
    ) -> Result<(Vec<&'a GroupAgent>, Vec<String>)> {
        let handles: Vec<_> = agents.iter().map(|agent| agent.handle.as_str()).collect();
        let Mentions { handles: mentioned, is_everyone } = mentions(text, &handles);
        let mut wanted: Vec<&GroupAgent> = mentioned.iter().filter_map(|place| agents.get(*place)).collect();
        let named = wanted.len();
        if is_everyone {
            wanted.extend(
                agents
                    .iter()
                    .enumerate()
                    .filter(|(place, _)| !mentioned.contains(place))
                    .map(|(_, agent)| agent),
            );
        } else if wanted.is_empty() {
            wanted.extend(agents.iter().filter(|agent| Some(agent.id) == lead));
        }
        let (mut asked, mut notes) = (Vec::new(), Vec::new());
        for (place, agent) in wanted.into_iter().enumerate() {
            match self.0.mode_for(agent, user.id).await {
                Ok(_) => asked.push(agent),
                // `@all` asks only the agents that the person may ask.
                Err(Error::Refused { .. }) if is_everyone && place >= named => {}
                Err(Error::Refused { text, .. }) => notes.push(text),
                Err(error) => return Err(error),
            }
        }
        if asked.is_empty() && notes.is_empty() {
            let why = if agents.is_empty() {
                "nobody was asked: the group has no agents"
            } else if is_everyone {
                "nobody was asked: you have no permission to ask any of the group's agents"
            } else {
                "nobody was asked: mention an agent with @handle, or choose a lead agent"
            };
            notes.push(why.to_owned());
        }
        Ok((asked, notes))
    }
}
