//! Messages between agents: who asks, with which rights, and the wait for the answer.
//!
//! An agent asks with the rights of the person who asked for its turn, and these are checked as for that person. If an agent of another owner is in
//! the chain of requests, the owner of the asked agent's machine must approve each change that no rule allows.

use agent::approval::Mode;
use agent::tool::{AgentTurn, Failure};
use sha2::{Digest, Sha256};
use store::{AgentMessage, Asker, Asks, CallMode, CallState, GroupAgent, GroupCall, NewCall, Passed, User};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::ask::check_asking;
use crate::error::{Error, Result};
use crate::house::Inner;
use crate::limits::{ANSWER_PATIENCE, LONGEST_SLEEP};
use crate::mentions::is_everyone;
use crate::rights::Action;

/// A message that an agent sends.
pub(crate) struct Words<'a> {
    /// The tool that sends the message.
    pub(crate) tool: &'static str,
    /// The handle of the agent that is asked; `None` for a message to the group.
    pub(crate) to: Option<&'a str>,
    /// The text of the message.
    pub(crate) text: &'a str,
    /// The way in which the agent asks.
    pub(crate) mode: CallMode,
}

/// The result of waiting for an answer; each variant begins with the handle of the agent that was to answer.
pub(crate) enum Answer {
    /// The agent answered, with this text.
    Given(String, String),
    /// There is no answer, for this reason.
    None(String, String),
    /// The answer arrives later; contains the reason in parentheses, or an empty text.
    Later(String, String),
}

/// The agent of a turn, and the person and call that asked for the turn.
pub(crate) struct Speaker {
    pub(crate) agent: GroupAgent,
    /// The person who asked for the turn.
    pub(crate) user: User,
    /// The call that asked for the turn; `None` if the agent's owner asked for it in the agent's chat.
    pub(crate) call: Option<GroupCall>,
    /// The key of that person's request in the store.
    pub(crate) origin: String,
}

impl Speaker {
    /// Returns the text of the server's entry in the log when the agents have reached the limit on messages.
    pub(crate) fn notice(&self) -> String {
        format!(
            "The agents have exchanged {} messages since {} asked, and stop here until a person lets them go on.",
            store::limits::AGENT_MESSAGES,
            self.user.name
        )
    }
}

/// Returns the key, in the store, of the person's request that a call belongs to.
pub(crate) fn origin_of(call: &GroupCall) -> String {
    call.origin.clone().unwrap_or_else(|| format!("call/{}", call.id))
}

/// Returns the key of a message that an agent sends with a tool. The same words in the same turn give the same key, so that a message repeated after
/// a restart is not posted twice.
pub(crate) fn key_of(tool: &str, turn: &AgentTurn<'_>, agent: i64, words: &str) -> String {
    let words = format!("{tool} {} {agent} {words}", turn.turn);
    Sha256::digest(words).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl Inner {
    /// Posts an agent's message, once, and returns the resulting call if the message asks an agent.
    ///
    /// # Errors
    /// [`Error::Refused`], which states what the agent should do instead.
    pub(crate) async fn say(&self, turn: &AgentTurn<'_>, words: Words<'_>) -> Result<Option<i64>> {
        let Words { tool, to, text, mode } = words;
        let speaker = self.speaker(turn).await?;
        let Speaker { agent, user, call, origin } = &speaker;
        if text.trim().is_empty() {
            return Err(Error::invalid("the message is empty; write something"));
        }
        self.group_for(user, agent.group_id, if to.is_some() { Action::Ask } else { Action::Post }).await?;
        let asked = match to {
            Some(to) => Some(self.asked_agent(&speaker, to).await?),
            None => None,
        };
        if mode == CallMode::HandOff && call.is_none() {
            let why = "only what was asked in the group can be handed over; use SendMessage";
            return Err(Error::invalid(why));
        }
        if asked.is_some() {
            check_asking(text)?;
            self.check_budget(origin).await?;
        }
        let to = asked.as_ref().map_or(0, |asked| asked.id);
        let key = key_of(tool, turn, agent.id, &format!("{to}\n{text}"));
        let shown = match &asked {
            Some(asked) => format!("@{} {text}", asked.handle),
            None => text.to_owned(),
        };
        let limit_ms = match call {
            Some(call) if mode == CallMode::HandOff => call.limit_ms.map(|limit| {
                (limit - (self.store.now_ms() - call.posted_at_ms.unwrap_or(call.created_at_ms))).max(1)
            }),
            _ => None,
        };
        let notice = speaker.notice();
        let asks = asked.as_ref().map(|asked| Asks {
            call: NewCall {
                group: agent.group_id,
                agent: asked.id,
                user: user.id,
                user_name: &user.name,
                request: text,
                step: None,
                limit_ms,
            },
            mode,
            by_agent: agent.id,
            parent: call.as_ref().map(|call| call.id),
        });
        let handles: Vec<_> = asked.iter().map(|asked| asked.handle.as_str()).collect();
        let message = AgentMessage {
            group: agent.group_id,
            handle: &agent.handle,
            origin,
            key: &key,
            text: &shown,
            asks_json: &serde_json::to_string(&handles).expect("texts are always JSON"),
            asks,
            notice: &notice,
        };
        let passed = self.store.pass_message(message).await?;
        self.changed(agent.group_id).await;
        let handle = asked.as_ref().map_or("", |asked| asked.handle.as_str());
        match passed {
            Passed::Posted(call) => Ok(call),
            Passed::TooMany => Err(self.too_many(&speaker, &shown).await),
            Passed::Circle => Err(Error::refused(
                "conflict",
                format!(
                    "@{handle} is waiting for your answer and cannot answer you before that; give your answer, or ask it with background: true"
                ),
            )),
            Passed::HandedOver => {
                Err(Error::refused("conflict", "you have handed this over already; end your answer"))
            }
        }
    }

    /// Finds the agent of a turn, and the person who asked for the turn.
    pub(crate) async fn speaker(&self, turn: &AgentTurn<'_>) -> Result<Speaker> {
        let agent = self.store.agent_of_chat(turn.root).await?;
        let agent = agent.ok_or_else(|| Error::invalid("you are no longer an agent of a group"))?;
        let over =
            || Error::refused("gone", "the request that you are working on has ended; end your answer");
        let (user, call) = match self.store.asker_of_turn(turn.root, turn.turn).await? {
            Asker::Call(call) => (call.user.ok_or_else(over)?, Some(*call)),
            Asker::Owner => (agent.owner, None),
            Asker::Nobody => return Err(over()),
        };
        let user = self.store.user_by_id(user).await?.ok_or_else(over)?;
        let origin = match &call {
            Some(call) => origin_of(call),
            None => format!("turn/{}", turn.turn),
        };
        Ok(Speaker { agent, user, call, origin })
    }

    /// Finds the agent that another one asks, if the person who asked for the turn may ask it.
    pub(crate) async fn asked_agent(&self, speaker: &Speaker, to: &str) -> Result<GroupAgent> {
        let to = to.trim().trim_start_matches('@');
        let own = &speaker.agent;
        if is_everyone(to) {
            return Err(Error::invalid("only a person can ask everyone; ask the agents one by one"));
        }
        let agents = self.store.group_agents(own.group_id).await?;
        let asked = agents.iter().find(|agent| agent.handle.to_lowercase() == to.to_lowercase());
        let Some(asked) = asked else {
            let others: Vec<_> = agents
                .iter()
                .filter(|agent| agent.id != own.id)
                .map(|agent| format!("@{}", agent.handle))
                .collect();
            let others = if others.is_empty() { "nobody".to_owned() } else { others.join(", ") };
            let to: String = to.chars().take(chains::limits::HANDLE_MAX_CHARS).collect();
            return Err(Error::refused(
                "not_found",
                format!("there is no agent @{to} in this group; you can ask {others}"),
            ));
        };
        if asked.id == own.id {
            return Err(Error::invalid(format!("you are @{} yourself; ask another agent", own.handle)));
        }
        match self.mode_for(asked, speaker.user.id).await {
            Ok(_) => Ok(asked.clone()),
            Err(Error::Refused { kind, .. }) => Err(Error::refused(
                kind,
                format!(
                    "{} asked you, and {} has not let {} ask @{}",
                    speaker.user.name, asked.owner_name, speaker.user.name, asked.handle
                ),
            )),
            Err(error) => Err(error),
        }
    }

    /// Returns the original call, made by a person or by a step of a chain; `None` if an agent's owner asked for the turn in the agent's chat.
    pub(crate) async fn root_call(&self, origin: &str) -> Result<Option<GroupCall>> {
        match origin.strip_prefix("call/").map(str::parse) {
            Some(Ok(call)) => Ok(Some(self.store.group_call(call).await?)),
            Some(Err(_)) | None => Ok(None),
        }
    }

    /// Waits for the answer to a call, until the call ends or takes too long to wait for.
    ///
    /// # Errors
    /// [`Failure::Message`] if the wait is cancelled; the call is stopped then.
    pub(crate) async fn answer_of(
        &self,
        call: i64,
        cancelled: &CancellationToken,
    ) -> std::result::Result<Answer, Failure> {
        let until = Instant::now() + ANSWER_PATIENCE;
        let mut moved = self.moved.subscribe();
        loop {
            moved.mark_unchanged();
            let asked = self.store.group_call(call).await.map_err(Error::from)?;
            let now = self.store.answering_call(call).await.map_err(Error::from)?;
            match now.state {
                CallState::Done => return Ok(Answer::Given(now.handle, now.output)),
                CallState::Failed | CallState::Stopped => return Ok(Answer::None(now.handle, now.reason)),
                // The wait was given up before, by an earlier server process or because it took too long, so the answer arrives as a message.
                _ if asked.mode == Some(CallMode::Background) => {
                    return Ok(Answer::Later(now.handle, String::new()));
                }
                CallState::Waiting | CallState::Running | CallState::Queued => {}
            }
            if (now.state == CallState::Waiting || Instant::now() >= until)
                && self.store.stop_waiting(&asked).await.map_err(Error::from)?
            {
                let why = if now.reason.is_empty() { String::new() } else { format!(" ({})", now.reason) };
                return Ok(Answer::Later(now.handle, why));
            }
            tokio::select! {
                _ = moved.changed() => {}
                () = sleep_until(until.min(Instant::now() + LONGEST_SLEEP)) => {}
                () = cancelled.cancelled() => {
                    self.store.unwant_call(now.group_id, now.id).await.map_err(Error::from)?;
                    self.changed(now.group_id).await;
                    return Err(Failure::Message("the wait for the answer was stopped".to_owned()));
                }
            }
        }
    }

    /// Returns the approval mode of an agent for a call: at most `ask` if an agent of another owner is in the chain of requests.
    pub(crate) async fn careful(&self, call: &GroupCall, agent: &GroupAgent, mode: String) -> Result<String> {
        let mut at = call.parent_id;
        while let Some(parent) = at {
            let parent = match self.store.group_call(parent).await {
                Ok(parent) => parent,
                Err(store::Error::NotFound { .. }) => break,
                Err(error) => return Err(error.into()),
            };
            let asking = self.store.group_agent(parent.agent_id).await?;
            if asking.owner != agent.owner && mode != Mode::Plan.as_str() {
                return Ok(Mode::Ask.as_str().to_owned());
            }
            at = parent.parent_id;
        }
        Ok(mode)
    }
}
