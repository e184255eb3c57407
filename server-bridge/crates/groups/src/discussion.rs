//! Begins runs for an agent: a discussion of agents in rounds, or a chain of the group.
//!
//! A discussion is a chain in which each round is a series of steps, so it is on record, continues after a restart, asks a person if a step fails,
//! and has a budget. Beginning one counts as one of the messages that agents may exchange without a person.

use agent::approval::Mode;
use agent::tool::{AgentTurn, Failure};
use api::chain::{ChainBudget, ChainDraft, ChainRunView, ChainStep};
use chains::limits::REQUEST_MAX_BYTES;
use store::{AgentMessage, CallMode, GroupAgent, NewRunOfChain, Passed, RunEnd};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};
use crate::house::Inner;
use crate::known::{Known, unreadable};
use crate::limits::{DISCUSSION_AGENTS, DISCUSSION_ROUNDS, LONGEST_SLEEP, RUN_PATIENCE};
use crate::rights::Action;
use crate::talk::{Speaker, key_of};
use crate::views;

/// The kind of run that an agent begins.
pub(crate) enum Begins<'a> {
    /// A discussion of these agents, in rounds.
    Discussion {
        /// The handles of the agents.
        agents: &'a [String],
        /// The number of rounds.
        rounds: u32,
        /// The number of tokens that the discussion may use before a person is asked.
        tokens: Option<i64>,
    },
    /// A chain of the group, by name.
    Chain(&'a str),
}

impl Inner {
    /// Begins a run for an agent, once for the same words of its turn; returns the group and the run.
    ///
    /// # Errors
    /// [`Error::Refused`], which states what the agent should do instead.
    pub(crate) async fn begin_for(
        &self,
        turn: &AgentTurn<'_>,
        begins: Begins<'_>,
        request: &str,
        waits: bool,
    ) -> Result<(i64, i64)> {
        let speaker = self.speaker(turn).await?;
        let group = speaker.agent.group_id;
        self.group_for(&speaker.user, group, Action::RunChain).await?;
        if request.trim().is_empty() || request.len() > REQUEST_MAX_BYTES {
            return Err(Error::invalid(format!("describe the topic, in at most {REQUEST_MAX_BYTES} bytes")));
        }
        if self.root_call(&speaker.origin).await?.is_some_and(|root| root.run_id.is_some()) {
            return Err(Error::invalid(
                "a step of a chain or a discussion cannot begin another chain or discussion; do your step",
            ));
        }
        let (name, draft) = match &begins {
            Begins::Discussion { agents, rounds, tokens } => {
                ("discussion", self.discussion(&speaker, agents, *rounds, *tokens).await?)
            }
            Begins::Chain(name) => {
                let chain = self.store.group_chain(group, name).await?;
                (*name, serde_json::from_str(&chain.document_json).map_err(|_| unreadable())?)
            }
        };
        chains::check(&draft)?;
        let mut handles: Vec<String> = Vec::new();
        for step in &draft.steps {
            let agent = self.agent_named(group, &step.agent).await?;
            if handles.contains(&agent.handle) {
                continue;
            }
            self.may_take_part(&speaker, &agent, waits).await?;
            handles.push(agent.handle);
        }
        let document_json = serde_json::to_string(&draft).expect("texts are always JSON");
        let words = format!("{name}\n{document_json}\n{request}");
        let key = key_of("run", turn, speaker.agent.id, &words);
        let with: Vec<_> = handles.iter().map(|handle| format!("@{handle}")).collect();
        let what = match begins {
            Begins::Discussion { .. } => "A discussion among".to_owned(),
            Begins::Chain(name) => format!("The chain {name} of"),
        };
        let notice = speaker.notice();
        let text = format!("{what} {} begins: {request}", with.join(", "));
        let message = AgentMessage {
            group,
            handle: &speaker.agent.handle,
            origin: &speaker.origin,
            key: &key,
            text: &text,
            asks_json: "[]",
            asks: None,
            notice: &notice,
        };
        if !matches!(self.store.pass_message(message).await?, Passed::Posted(_)) {
            return Err(self.too_many(&speaker, &text).await);
        }
        let new = NewRunOfChain {
            group,
            chain: name,
            document_json: &document_json,
            request,
            user: speaker.user.id,
            user_name: &speaker.user.name,
            send_id: Some(&key),
            gate: None,
        };
        let run = self.store.begin_run(new).await?;
        self.changed(group).await;
        Ok((group, run))
    }

    /// Returns the steps of a discussion: in each round, each agent speaks once and knows everything said before.
    async fn discussion(
        &self,
        speaker: &Speaker,
        agents: &[String],
        rounds: u32,
        tokens: Option<i64>,
    ) -> Result<ChainDraft> {
        if !(2..=DISCUSSION_AGENTS).contains(&agents.len()) || !(1..=DISCUSSION_ROUNDS).contains(&rounds) {
            return Err(Error::invalid(format!(
                "a discussion needs 2 to {DISCUSSION_AGENTS} agents and 1 to {DISCUSSION_ROUNDS} rounds"
            )));
        }
        let mut handles: Vec<String> = Vec::new();
        for agent in agents {
            let agent = self.asked_agent(speaker, agent).await?;
            if handles.contains(&agent.handle) {
                return Err(Error::invalid(format!(
                    "@{} is listed twice; list each agent once",
                    agent.handle
                )));
            }
            handles.push(agent.handle);
        }
        let everyone: Vec<_> = handles.iter().map(|handle| format!("@{handle}")).collect();
        let everyone = everyone.join(", ");
        let step = |round: u32, handle: &String| ChainStep {
            agent: handle.clone(),
            instruction: format!(
                "This is round {round} of {rounds} of a discussion among {everyone} about the request. Say what you think, and answer what the \
                 others said: what you agree with, what is wrong, what is missing. Do not repeat yourself."
            ),
            ..ChainStep::default()
        };
        let steps =
            (1..=rounds).flat_map(|round| handles.iter().map(move |handle| step(round, handle))).collect();
        let budget = tokens.map(|tokens| ChainBudget { tokens: Some(tokens), ..ChainBudget::default() });
        Ok(ChainDraft { steps, budget })
    }

    /// Refuses an agent that the person who asked may not ask, that is itself waiting for the agent that begins, or that changes its machine
    /// without asking its owner while another owner's agent begins.
    async fn may_take_part(&self, speaker: &Speaker, agent: &GroupAgent, waits: bool) -> Result<()> {
        let mode = self.mode_for(agent, speaker.user.id).await?;
        let mut at = speaker.call.clone();
        let mut busy = vec![speaker.agent.clone()];
        while let Some(call) = at {
            at = match call.parent_id.filter(|_| call.mode.is_some()) {
                Some(parent) => Some(self.store.group_call(parent).await?),
                None => None,
            };
            if let Some(parent) = &at
                && matches!(call.mode, Some(CallMode::Wait | CallMode::HandOff))
            {
                busy.push(self.store.group_agent(parent.agent_id).await?);
            }
        }
        if waits && busy.iter().any(|other| other.id == agent.id) {
            return Err(Error::refused(
                "conflict",
                format!(
                    "@{} is waiting for your answer and cannot take part before that; begin the discussion with background: true",
                    agent.handle
                ),
            ));
        }
        let is_asked = mode == Mode::Ask.as_str() || mode == Mode::Plan.as_str();
        if !is_asked && busy.iter().any(|other| other.owner != agent.owner) {
            return Err(Error::refused(
                "forbidden",
                format!(
                    "@{} changes its machine without asking {}, so an agent of another owner cannot begin a discussion with it; ask it with \
                     SendMessage",
                    agent.handle, agent.owner_name
                ),
            ));
        }
        Ok(())
    }

    /// Waits until a run has ended, asks a person, or takes long; returns its state at that time.
    ///
    /// # Errors
    /// [`Failure::Message`] if the wait is cancelled; the run is stopped then.
    pub(crate) async fn run_of(
        &self,
        group: i64,
        run: i64,
        cancelled: &CancellationToken,
    ) -> std::result::Result<ChainRunView, Failure> {
        let until = Instant::now() + RUN_PATIENCE;
        let mut moved = self.moved.subscribe();
        loop {
            moved.mark_unchanged();
            let row = self.store.group_run(group, run).await.map_err(Error::from)?;
            if row.state != "running" || Instant::now() >= until {
                return Ok(views::run(&row, &Known::read(self, &row).await?));
            }
            tokio::select! {
                _ = moved.changed() => {}
                () = sleep_until(until.min(Instant::now() + LONGEST_SLEEP)) => {}
                () = cancelled.cancelled() => {
                    self.end_run(&row, RunEnd::Stopped, "The agent that began it was stopped.").await?;
                    self.changed(group).await;
                    return Err(Failure::Message("the wait was stopped".to_owned()));
                }
            }
        }
    }
}
