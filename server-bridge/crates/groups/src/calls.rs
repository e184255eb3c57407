//! Carries out one call, from asking the agent to its answer.
//!
//! ```text
//!   may the person still ask? ─▶ can the machine be used? ─▶ are the files there? ─▶ text and chat on record
//!       ─▶ posted with the call's send id ─▶ its turn ends
//! ```
//! Each step is on record before the next one begins, and repeating a step changes nothing.

use api::document::AgentDocument;
use chats::{Author, NewPost};
use store::{Access, CallEnd, CallState, ChatId, GroupAgent, GroupCall, MessageRole, TurnStatus, User};

use crate::ask;
use crate::budget::USED_UP;
use crate::error::{Error, Result};
use crate::files;
use crate::handing::Checked;
use crate::house::Inner;
use crate::limits::{DIGEST_ENTRIES, DIGEST_MAX_BYTES};
use crate::obstacle::Obstacle;

/// The result of working on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing changed.
    None,
    /// The call's state changed.
    Changed,
    /// The call ended.
    Ended,
}

/// Whether a call can be posted.
enum Ready {
    /// The call can be posted to this agent's chat, in this approval mode.
    Go(Box<GroupAgent>, String),
    /// The machine cannot be used now, for this reason.
    Wait(String),
    /// The call can no longer be posted, for this reason.
    Never(String),
}

impl Inner {
    /// Takes all steps of a call that are possible now.
    pub(crate) async fn work_on_call(&self, call: &GroupCall) -> Result<Progress> {
        if call.is_unwanted {
            return self.stop_call(call).await;
        }
        match call.state {
            CallState::Queued | CallState::Waiting => match self.ready(call).await? {
                Ready::Go(agent, approval) => match self.files_for(call, &agent).await? {
                    files::Ready::Go(files) => self.begin(call, &agent, &approval, &files).await,
                    files::Ready::Wait(why) => self.wait(call, &why).await,
                    files::Ready::Never(why) => self.fail(call, &why).await,
                },
                Ready::Wait(why) => self.wait(call, &why).await,
                Ready::Never(why) => self.fail(call, &why).await,
            },
            CallState::Running => self.follow(call).await,
            CallState::Done | CallState::Failed | CallState::Stopped => Ok(Progress::None),
        }
    }

    async fn ready(&self, call: &GroupCall) -> Result<Ready> {
        let agent = self.store.group_agent(call.agent_id).await?;
        let never = |why: &str| Ok(Ready::Never(why.to_owned()));
        if agent.is_removed {
            return never("the agent was removed from the group");
        }
        let Some(user) = call.user else { return never("the person who asked was removed from this server") };
        match self.store.group(user, call.group_id).await {
            Ok(group) if group.access >= Access::Member => {}
            Ok(_) | Err(store::Error::NotFound { .. }) => {
                return never("the person who asked no longer has permission to ask agents in this group");
            }
            Err(error) => return Err(error.into()),
        }
        let approval = match self.mode_for(&agent, user).await {
            Ok(approval) => self.mode_for_wish(call, &agent, approval).await,
            Err(error) => Err(error),
        };
        let approval = match approval {
            Ok(approval) => self.careful(call, &agent, approval).await?,
            Err(Error::Refused { text, .. }) => return Ok(Ready::Never(text)),
            Err(error) => return Err(error),
        };
        let Some(owner) = self.store.user_by_id(agent.owner).await? else {
            return never("the agent's owner was removed from this server");
        };
        // A gate asks before a step's call is made; what agents ask each other has no gate. While an agent answers, its requests to the model are
        // checked: see `budget`.
        if let Some(origin) = call.origin.as_ref().filter(|_| call.run_id.is_none()) {
            match self.has_used_up(origin).await {
                Ok(false) => {}
                Ok(true) => return never(USED_UP),
                Err(Error::Refused { text, .. }) => return Ok(Ready::Never(text)),
                Err(error) => return Err(error),
            }
        }
        Ok(match self.obstacle(&agent, &owner).await? {
            None => Ready::Go(Box::new(agent), approval),
            Some(Obstacle::Now(why)) => Ready::Wait(why),
            Some(Obstacle::Revoked(name)) => Ready::Never(format!(
                "the runner {name} was revoked; the agent's owner must choose another machine for @{}",
                agent.handle
            )),
            Some(Obstacle::Lasting(why)) => Ready::Never(why),
        })
    }

    async fn wait(&self, call: &GroupCall, why: &str) -> Result<Progress> {
        let is_new = self.store.wait_call(call, why).await?;
        Ok(if is_new { Progress::Changed } else { Progress::None })
    }

    async fn begin(
        &self,
        call: &GroupCall,
        agent: &GroupAgent,
        approval: &str,
        files: &str,
    ) -> Result<Progress> {
        let Some(user) = call.user else { return Ok(Progress::None) };
        let group = self.store.group(user, call.group_id).await?;
        let (after, most) = (agent.seen_id, i64::try_from(DIGEST_MAX_BYTES).unwrap_or(i64::MAX));
        let mut since = self.store.newest_entries(call.group_id, after, DIGEST_ENTRIES, most).await?;
        let seen = since.first().map_or(agent.seen_id, |newest| newest.id);
        since.retain(|entry| {
            Some(entry.id) != call.entry_id
                && !(entry.kind == store::EntryKind::Agent && entry.author == agent.handle)
        });
        since.reverse();
        let text = ask::text(call, &group.title, &since, files);
        let title = format!("@{} · {}", agent.handle, group.title);
        let chat = self.store.agent_chat(agent, &title, approval).await?;
        self.store.begin_group_call(call, &text, &chat, seen).await?;
        let call = self.store.group_call(call.id).await?;
        self.post(&call).await?;
        Ok(Progress::Changed)
    }

    /// Posts a call's text to its agent's chat, once.
    async fn post(&self, call: &GroupCall) -> Result<Progress> {
        let (Some(text), Some(chat)) = (&call.posted_text, &call.chat) else {
            return self.fail(call, "the agent's chat was deleted").await;
        };
        let agent = self.store.group_agent(call.agent_id).await?;
        let Some(owner) = self.store.user_by_id(agent.owner).await? else { return Ok(Progress::None) };
        let send_id = send_id(call);
        let post =
            NewPost { text, send_id: Some(&send_id), attachments: &[], author: Author::Others, client: None };
        let answered = match self.chats.say(&owner, chat, post).await {
            Ok(answered) => answered,
            // Too many messages wait in the chat, or the server is stopping: the call is posted later.
            Err(error) if matches!(error.kind(), "busy" | "unavailable") => return Ok(Progress::None),
            Err(chats::Error::Store(error)) if !error.is_callers() => return Err(error.into()),
            Err(error) if error.kind() == "internal" => {
                tracing::error!(%error, "a call of an agent could not be posted");
                return self
                    .fail(call, "the server could not ask the agent; see the server's log for the reason")
                    .await;
            }
            Err(error) => return self.fail(call, &error.message()).await,
        };
        let Some((said, answers)) = answered.messages.split_first() else {
            return self.fail(call, "the message could not be posted").await;
        };
        let shown = match answers.iter().find(|answer| answer.role == MessageRole::Assistant) {
            Some(answer) => Some(answer.id),
            None => self.store.answer_to(owner.id, said.id).await?,
        };
        match (shown, answers.iter().find(|answer| answer.role == MessageRole::Notice)) {
            (Some(shown), _) => {
                self.store.posted_call(call, shown).await?;
                Ok(Progress::Changed)
            }
            (None, Some(notice)) => self.fail(call, &notice.text).await,
            (None, None) => self.fail(call, "no model answered; the agent's owner must choose a model").await,
        }
    }

    /// Checks a call that has begun: posts it if that is still to be done, and ends it if its answer has ended or took too long.
    async fn follow(&self, call: &GroupCall) -> Result<Progress> {
        if call.message.is_none() {
            return self.post(call).await;
        }
        let end = |state, reason| CallEnd { state, reason, output: "", note: "" };
        match call.turn_status {
            Some(TurnStatus::Queued | TurnStatus::Running) => {
                let until =
                    call.limit_ms.zip(call.posted_at_ms).map(|(limit, posted)| posted.saturating_add(limit));
                if until.is_none_or(|until| self.store.now_ms() < until) {
                    return Ok(Progress::None);
                }
                self.cancel_turn(call).await?;
                let seconds = call.limit_ms.unwrap_or(0) / 1000;
                self.fail(call, &format!("it took longer than its limit of {seconds} s")).await
            }
            Some(TurnStatus::Done) => {
                match self.check_outputs(call).await? {
                    Checked::There => {}
                    Checked::Running => return Ok(Progress::None),
                    Checked::Later(why) => {
                        let is_new = self.store.note_call(call, &why).await?;
                        return Ok(if is_new { Progress::Changed } else { Progress::None });
                    }
                    Checked::Never(why) => return self.fail(call, &why).await,
                }
                let output = self.answer(call).await?;
                let output = if output.is_empty() { "The answer is empty." } else { &output };
                self.end(call, CallEnd { output, ..end(CallState::Done, "") }).await
            }
            Some(TurnStatus::Cancelled) => {
                self.end(call, end(CallState::Stopped, "its answer was stopped")).await
            }
            Some(TurnStatus::Failed | TurnStatus::Interrupted) => {
                let why = call.turn_error.as_deref().unwrap_or("its answer was interrupted");
                self.fail(call, why).await
            }
            None => self.fail(call, "its answer was undone").await,
        }
    }

    /// Returns the last text of a call's answer.
    async fn answer(&self, call: &GroupCall) -> Result<String> {
        let Some(shown) = call.message else { return Ok(String::new()) };
        let agent = self.store.group_agent(call.agent_id).await?;
        let messages = self.store.turn_messages(agent.owner, shown).await?;
        let text = messages.iter().rev().find_map(|message| {
            let document = message.document_json.as_deref().and_then(|json| serde_json::from_str(json).ok());
            let is_reply = matches!(document, Some(AgentDocument::Reply { .. }));
            let text = message.text.trim();
            (is_reply && !message.undone && !text.is_empty()).then(|| text.to_owned())
        });
        Ok(text.unwrap_or_default())
    }

    /// Stops a call on request.
    async fn stop_call(&self, call: &GroupCall) -> Result<Progress> {
        let stopped = CallEnd { state: CallState::Stopped, reason: "it was stopped", output: "", note: "" };
        if call.state != CallState::Running {
            return self.end(call, stopped).await;
        }
        if call.message.is_none() && self.was_posted(call).await? {
            // The server died right after posting the call; posting it again finds its turn, which has to be stopped.
            self.post(call).await?;
        }
        let call = self.store.group_call(call.id).await?;
        match call.turn_status {
            Some(TurnStatus::Running) => self.cancel_turn(&call).await?,
            // Cancelling now would stop the turn that is ahead of this one in the queue.
            Some(TurnStatus::Queued) => return Ok(Progress::None),
            _ => {}
        }
        self.end(&call, stopped).await
    }

    async fn was_posted(&self, call: &GroupCall) -> Result<bool> {
        let Some(chat) = &call.chat else { return Ok(false) };
        let agent = self.store.group_agent(call.agent_id).await?;
        Ok(self.store.was_said(agent.owner, chat, &send_id(call)).await?)
    }

    /// Cancels the turn that answers a call, if it is running.
    pub(crate) async fn cancel_turn(&self, call: &GroupCall) -> Result<()> {
        let Some(chat) = call.chat.as_ref().filter(|_| call.turn_status == Some(TurnStatus::Running)) else {
            return Ok(());
        };
        let agent = self.store.group_agent(call.agent_id).await?;
        match self.chats.cancel(agent.owner, chat).await {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == "not_found" => Ok(()),
            Err(chats::Error::Store(error)) => Err(error.into()),
            Err(error) => Err(Error::refused("failed", error.message())),
        }
    }

    async fn fail(&self, call: &GroupCall, why: &str) -> Result<Progress> {
        let note = format!("@{} could not answer: {why}", call.handle);
        self.end(call, CallEnd { state: CallState::Failed, reason: why, output: "", note: &note }).await
    }

    async fn end(&self, call: &GroupCall, end: CallEnd<'_>) -> Result<Progress> {
        self.carrier.forget(call.id);
        // The call is read again to get the tokens and the cost of its turn.
        let call = self.store.group_call(call.id).await?;
        let is_ended = self.store.end_call(&call, end).await?;
        Ok(if is_ended { Progress::Ended } else { Progress::None })
    }
}

/// Returns the send id under which a call is posted.
fn send_id(call: &GroupCall) -> String {
    format!("call/{}", call.id)
}

/// Returns the chat that a call was posted to, if the user is the agent's owner.
pub(crate) fn chat_of(agent: &GroupAgent, user: &User) -> Option<ChatId> {
    agent.chat.clone().filter(|_| agent.owner == user.id)
}
