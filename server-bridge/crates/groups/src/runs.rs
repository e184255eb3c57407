//! Chains and their runs. The next action of a run follows from its rows.

use api::chain::{ChainDraft, ChainPut, ChainRunView, ChainStart, ChainTemplate, ChainView, GateAnswer};
use api::language::Language;
use api::words::{GateKind, GateReply};
use chains::limits::{LIMIT_SECONDS, REQUEST_MAX_BYTES};
use chains::prompt::Parts;
use chains::{End, Next, check, next, prompt, replies, text};
use store::limits::AGENT_MESSAGES;
use store::{
    ChainBase, ChainRun, GateRow, GroupAgent, GroupCall, NewCall, NewGate, NewRunOfChain, RunEnd, User,
};

use crate::budget::USED_UP;
use crate::chain_templates;
use crate::error::{Error, Result};
use crate::house::Inner;
use crate::known::{Known, unreadable};
use crate::limits::RUNS_LISTED;
use crate::rights::Action;
use crate::service::Groups;
use crate::views;

impl Groups {
    /// Returns the templates of chains, in a language.
    pub fn chain_templates(&self, language: Language) -> Vec<ChainTemplate> {
        chain_templates::all(language)
    }

    /// Returns the chains of a group, sorted by name.
    ///
    /// # Errors
    /// [`Error::Store`] for a group that the user is not in.
    pub async fn chains(&self, user: &User, group: i64) -> Result<Vec<ChainView>> {
        self.0.group_for(user, group, Action::Read).await?;
        Ok(self.0.store.group_chains(group).await?.iter().map(views::chain).collect())
    }

    /// Adds a chain, or changes the one with this name; runs that have begun keep the old steps.
    ///
    /// # Errors
    /// [`Error::Refused`] that names the step at fault, and as a conflict if the name is taken or the chain is another one by now.
    pub async fn put_chain(&self, user: &User, group: i64, name: &str, put: ChainPut) -> Result<ChainView> {
        self.0.put_chain(user, group, name, put).await
    }

    /// Removes a chain; its runs go on.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no chain with this name.
    pub async fn remove_chain(&self, user: &User, group: i64, name: &str) -> Result<()> {
        self.0.group_for(user, group, Action::ChangeChains).await?;
        if !self.0.store.remove_chain(group, name).await? {
            return Err(Error::refused("not_found", format!("there is no chain {name:?} in this group")));
        }
        self.0.audit(user, "group.chain.remove", &format!("{group}: {name}")).await;
        self.0.changed(group).await;
        Ok(())
    }

    /// Begins a run of a chain. The user must have permission to ask each of its agents. A repeated send id does not begin a second run.
    ///
    /// # Errors
    /// [`Error::Refused`], which names the invalid step.
    pub async fn begin_run(
        &self,
        user: &User,
        group: i64,
        name: &str,
        start: ChainStart,
    ) -> Result<ChainRunView> {
        self.0.group_for(user, group, Action::RunChain).await?;
        if start.request.trim().is_empty() || start.request.len() > REQUEST_MAX_BYTES {
            return Err(Error::invalid(format!(
                "describe the request that the chain is to work on, in at most {REQUEST_MAX_BYTES} bytes"
            )));
        }
        let chain = self.0.store.group_chain(group, name).await?;
        let draft: ChainDraft = serde_json::from_str(&chain.document_json).map_err(|_| unreadable())?;
        for (number, step) in (1..).zip(&draft.steps) {
            let agent = self.0.agent_named(group, &step.agent).await;
            let checked = match agent {
                Ok(agent) => self.0.mode_for(&agent, user.id).await.map(|_| ()),
                Err(error) => Err(error),
            };
            if let Err(Error::Refused { kind, text }) = checked {
                return Err(Error::refused(kind, format!("step {number}: {text}")));
            }
            checked?;
        }
        let new = NewRunOfChain {
            group,
            chain: name,
            document_json: &chain.document_json,
            request: &start.request,
            user: user.id,
            user_name: &user.name,
            send_id: start.send_id.as_deref(),
            gate: None,
        };
        let run = self.0.store.begin_run(new).await?;
        self.0.audit(user, "group.run", &format!("{group}: {name}")).await;
        self.0.changed(group).await;
        self.run(user, group, run).await
    }

    /// Returns at most 20 runs of a group that are older than `before`, the newest first, without their outputs.
    ///
    /// # Errors
    /// [`Error::Store`] for a group that the user is not in.
    pub async fn runs(&self, user: &User, group: i64, before: Option<i64>) -> Result<Vec<ChainRunView>> {
        self.0.group_for(user, group, Action::Read).await?;
        let mut shown = Vec::new();
        for run in self.0.store.group_runs(group, before, RUNS_LISTED).await? {
            let mut view = views::run(&run, &Known::read(&self.0, &run).await?);
            // Each output can have up to 1 MiB, so clients get the outputs only with a single run.
            view.steps.iter_mut().for_each(|step| step.output.clear());
            shown.push(view);
        }
        Ok(shown)
    }

    /// Returns a run, with its steps and its open gate.
    ///
    /// # Errors
    /// [`Error::Store`] for a group that the user is not in, and for a run of another group.
    pub async fn run(&self, user: &User, group: i64, run: i64) -> Result<ChainRunView> {
        self.0.group_for(user, group, Action::Read).await?;
        let run = self.0.store.group_run(group, run).await?;
        Ok(views::run(&run, &Known::read(&self.0, &run).await?))
    }

    /// Stops a run.
    ///
    /// # Errors
    /// [`Error::Refused`] for readers; [`Error::Store`] for a run of another group.
    pub async fn stop_run(&self, user: &User, group: i64, run: i64) -> Result<ChainRunView> {
        self.0.group_for(user, group, Action::RunChain).await?;
        let known = self.0.store.group_run(group, run).await?;
        if self.0.end_run(&known, RunEnd::Stopped, &format!("{} stopped it.", user.name)).await? {
            self.0.audit(user, "group.run.stop", &format!("{group}: {run}")).await;
        }
        self.0.changed(group).await;
        self.run(user, group, run).await
    }

    /// Answers a gate. The first answer counts; the same answer from the same person again changes nothing. A request for a change is also a request
    /// to the step's agent.
    ///
    /// # Errors
    /// [`Error::Refused`] for an answer that this gate does not accept, if the gate was answered before, and for a change request from a person who
    /// has no permission to ask the step's agent.
    pub async fn answer_gate(
        &self,
        user: &User,
        group: i64,
        gate: i64,
        answer: GateAnswer,
    ) -> Result<ChainRunView> {
        self.0.group_for(user, group, Action::AnswerGate).await?;
        let row = self.0.store.gate(group, gate).await?;
        let text = answer.text.unwrap_or_default();
        let takes =
            replies(&GateKind::from(row.kind.as_str()), u32::try_from(row.attempt).unwrap_or(u32::MAX));
        if !takes.contains(&answer.reply) {
            let takes: Vec<_> = takes.iter().map(GateReply::as_str).collect();
            return Err(Error::invalid(format!(
                "this gate accepts only these replies: {}",
                takes.join(", ")
            )));
        }
        if answer.reply == GateReply::Edit && text.trim().is_empty() {
            return Err(Error::invalid(
                "the edited text is empty; write the text that goes to the next step",
            ));
        }
        if answer.reply == GateReply::Redo && !text.trim().is_empty() {
            self.0.check_wish(user, group, &row).await?;
        }
        let is_first =
            self.0.store.answer_gate(group, gate, answer.reply.as_str(), &text, &user.name).await?;
        if !is_first {
            let before = self.0.store.gate(group, gate).await?;
            let is_same = before.reply.as_deref() == Some(answer.reply.as_str())
                && before.text == text
                && before.answered_by.as_ref() == Some(&user.name);
            if is_same {
                // The answer was repeated, perhaps because its author did not receive the response to the first one.
                return self.run(user, group, row.run_id).await;
            }
            let why = before
                .answered_by
                .map_or_else(|| "its run has ended".to_owned(), |by| format!("{by} answered it before"));
            return Err(Error::refused("conflict", format!("the answer was not accepted: {why}")));
        }
        self.0.audit(user, "group.gate", &format!("{group}: {} of run {}", answer.reply, row.run_id)).await;
        self.0.changed(group).await;
        self.run(user, group, row.run_id).await
    }
}

impl Inner {
    /// See [`Groups::put_chain`].
    pub(crate) async fn put_chain(
        &self,
        user: &User,
        group: i64,
        name: &str,
        put: ChainPut,
    ) -> Result<ChainView> {
        self.group_for(user, group, Action::ChangeChains).await?;
        store::Name::parse(name)?;
        let chain = self.written_chain(user, group, put.forms).await?;
        check(&chain)?;
        for (number, step) in (1..).zip(&chain.steps) {
            if let Err(Error::Refused { text, .. }) = self.agent_named(group, &step.agent).await {
                return Err(Error::invalid(format!("step {number}: {text}")));
            }
        }
        if put.dry_run {
            return Ok(ChainView { name: name.to_owned(), text: text::write(&chain), chain, updated_at: 0 });
        }
        let document_json = serde_json::to_string(&chain).expect("texts and numbers are always JSON");
        let base = match (put.replace, put.changed_at) {
            (true, _) => ChainBase::Any,
            (false, Some(known)) => ChainBase::ChangedAt(known),
            (false, None) => ChainBase::None,
        };
        if !self.store.put_chain(group, name, &document_json, base).await? {
            // The same again: its author was not told that it was taken.
            if let Ok(stored) = self.store.group_chain(group, name).await
                && stored.document_json == document_json
            {
                return Ok(views::chain(&stored));
            }
            return Err(Error::refused(
                "conflict",
                match base {
                    ChainBase::ChangedAt(_) => format!(
                        "the chain {name} was changed or removed meanwhile; load it again, then make your change"
                    ),
                    _ => format!(
                        "there is already a chain {name} in this group; choose another name, or say that it is to be replaced"
                    ),
                },
            ));
        }
        self.audit(user, "group.chain", &format!("{group}: {name}")).await;
        self.changed(group).await;
        Ok(views::chain(&self.store.group_chain(group, name).await?))
    }

    /// Refuses a change request from a person who has no permission to ask the step's agent.
    async fn check_wish(&self, user: &User, group: i64, gate: &GateRow) -> Result<()> {
        let run = self.store.group_run(group, gate.run_id).await?;
        let draft: ChainDraft = serde_json::from_str(&run.document_json).map_err(|_| unreadable())?;
        let step = usize::try_from(gate.step).ok().and_then(|step| draft.steps.get(step));
        let agent = self.agent_named(group, step.map_or("", |step| step.agent.as_str())).await?;
        self.mode_for(&agent, user.id).await.map(|_| ())
    }

    /// Returns the approval mode for a step that is repeated after a change request, which allows at most what the agent may do for the request's
    /// author. The run has the rights of the person who began it, but the change request has those of its author.
    pub(crate) async fn mode_for_wish(
        &self,
        call: &GroupCall,
        agent: &GroupAgent,
        mode: String,
    ) -> Result<String> {
        let (Some(run), Some(attempt)) = (call.run_id, call.attempt.filter(|attempt| *attempt > 1)) else {
            return Ok(mode);
        };
        let gates = self.store.gates(run).await?;
        let is_wish = |gate: &&GateRow| {
            Some(gate.step) == call.step
                && gate.attempt < attempt
                && gate.reply.as_deref() == Some(GateReply::Redo.as_str())
        };
        let wish = gates.iter().filter(is_wish).max_by_key(|gate| gate.attempt);
        let Some(wish) = wish.filter(|wish| !wish.text.trim().is_empty()) else { return Ok(mode) };
        let author = self.user_named(wish.answered_by.as_deref().unwrap_or_default()).await?;
        let of_author = self.mode_for(agent, author.id).await?;
        // Each of the two modes is either the agent's own mode or the stricter one, so this returns the stricter of the two.
        Ok(if of_author == agent.approval { mode } else { of_author })
    }

    /// Carries out the next action of a run; returns true if there was one.
    pub(crate) async fn advance(&self, run: &ChainRun) -> Result<bool> {
        let known = match Known::read(self, run).await {
            Ok(known) => known,
            Err(Error::Refused { text, .. }) => return self.end_run(run, RunEnd::Stopped, &text).await,
            Err(error) => return Err(error),
        };
        match next(&known.run(run)) {
            Next::Wait => Ok(false),
            Next::End(End::Done) => self.end_run(run, RunEnd::Done, "").await,
            Next::End(End::Stopped) => self.end_run(run, RunEnd::Stopped, "").await,
            Next::Ask { step, attempt, kind } => {
                let question = question(&known, step, &kind);
                let (step, attempt) = (i64::try_from(step).unwrap_or(i64::MAX), i64::from(attempt));
                let gate = NewGate { step, attempt, kind: kind.as_str(), question: &question };
                self.store.open_gate(run, gate).await?;
                Ok(true)
            }
            Next::Call { step, attempt, before, redo } => {
                let Some(user) = run.user else {
                    return self.end_run(run, RunEnd::Stopped, "The person who began it was removed.").await;
                };
                let Some(definition) = known.draft.steps.get(step) else { return Ok(false) };
                let agent = match self.agent_named(run.group_id, &definition.agent).await {
                    Ok(agent) => agent,
                    Err(Error::Refused { text, .. }) => {
                        return self.end_run(run, RunEnd::Stopped, &text).await;
                    }
                    Err(error) => return Err(error),
                };
                let redo = redo.as_ref().map(|(wish, attempt)| (wish.as_str(), attempt.as_str()));
                let failed = known.failure_before(step, attempt);
                let steps = &known.draft.steps;
                let parts = Parts { steps, step, request: &run.request, before: &before, redo, failed };
                let seconds = definition.limit_seconds.unwrap_or(LIMIT_SECONDS);
                let call = NewCall {
                    group: run.group_id,
                    agent: agent.id,
                    user,
                    user_name: &run.begun_by,
                    request: &prompt::write(&parts),
                    step: Some((run.id, i64::try_from(step).unwrap_or(i64::MAX), i64::from(attempt))),
                    limit_ms: i64::try_from(seconds.saturating_mul(1000)).ok(),
                };
                self.store.call_for_step(run, call).await?;
                Ok(true)
            }
        }
    }

    /// Ends a run, and reports this in the log. Returns true if this call ended the run.
    pub(crate) async fn end_run(&self, run: &ChainRun, end: RunEnd, why: &str) -> Result<bool> {
        let how = match end {
            RunEnd::Done => "is done",
            RunEnd::Stopped => "was stopped",
        };
        let text = format!("The chain {} {how}. {why}", run.chain);
        Ok(self.store.end_chain_run(run.group_id, run.id, end, text.trim_end()).await?)
    }
}

/// Writes the question of a gate.
fn question(known: &Known, step: usize, kind: &GateKind) -> String {
    let number = step + 1;
    let agent = known.draft.steps.get(step).map_or("", |step| step.agent.as_str());
    let newest =
        known.calls.iter().rfind(|call| call.step.and_then(|of| usize::try_from(of).ok()) == Some(step));
    match kind {
        GateKind::Review if known.is_cut(step) => format!(
            "The agents have exchanged {AGENT_MESSAGES} messages in step {number} (@{agent}) and stopped. Does its output go to the next step, or is the step done again?"
        ),
        GateKind::Review => {
            format!("Step {number} (@{agent}) is done. Does its output go to the next step?")
        }
        GateKind::Failure => {
            let why = newest.map_or("", |call| call.reason.as_str());
            format!("Step {number} (@{agent}) failed: {why}. Try again, write its output yourself, or stop?")
        }
        _ if newest.is_some_and(|call| call.reason == USED_UP) => {
            let (tokens, cost) = known.spent();
            format!(
                "The budget was used up during step {number} (@{agent}): {tokens} tokens, ${}.{:02}. May the run use the budget once more, and do the step again?",
                cost / 1_000_000,
                cost % 1_000_000 / 10_000
            )
        }
        _ => {
            let (tokens, cost) = known.spent();
            format!(
                "The budget is used up before step {number} (@{agent}): {tokens} tokens, ${}.{:02}. May the run use the budget once more?",
                cost / 1_000_000,
                cost % 1_000_000 / 10_000
            )
        }
    }
}
