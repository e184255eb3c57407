//! Groups as clients see them.

use api::chain::{ChainDraft, ChainRunView, ChainStepView, ChainView, GateView, HandOver};
use api::group::{GroupAgent, GroupCall, GroupEntry, GroupGrant, GroupPerson, GroupView};
use api::words::{
    Approval, CallState, ChainState, EntryAuthor, GateKind, GrantMode, GroupAccess, HandOverState, StepState,
};
use store::{ChainRun, GateRow, Group, GroupChain, User};

use crate::calls::chat_of;
use crate::error::Result;
use crate::house::Inner;
use crate::known::{Known, is_of};
use crate::limits::ALL_TOOLS;

impl Inner {
    /// Creates the view of a group, as one of its people sees it.
    pub(crate) async fn view(&self, user: &User, group: &Group) -> Result<GroupView> {
        let grants = self.store.group_grants(group.id).await?;
        let (mut agents, mut lead) = (Vec::new(), None);
        for agent in self.store.group_agents(group.id).await? {
            if Some(agent.id) == group.lead_id {
                lead = Some(agent.handle.clone());
            }
            let of_agent = grants.iter().filter(|grant| grant.agent_id == agent.id);
            agents.push(GroupAgent {
                online: self.is_online(&agent).await?,
                may_ask: agent.owner == user.id || of_agent.clone().any(|grant| grant.user == user.id),
                chat_id: chat_of(&agent, user).map(|chat| chat.to_string()),
                grants: of_agent
                    .map(|grant| GroupGrant {
                        name: grant.name.clone(),
                        mode: GrantMode::from(grant.mode.as_str()),
                    })
                    .collect(),
                approval: Approval::from(agent.approval.as_str()),
                id: agent.id,
                handle: agent.handle,
                owner: agent.owner_name,
                runner: agent.runner,
                model: agent.model,
                persona: agent.persona,
                folder: agent.folder,
                tools: agent
                    .tools_json
                    .map(|names| serde_json::from_str(&names).unwrap_or_default())
                    .filter(|names: &Vec<String>| *names != [ALL_TOOLS]),
            });
        }
        let people = self.store.group_people(group.id).await?;
        let person = |person: store::GroupPerson| GroupPerson {
            access: GroupAccess::from(person.access.as_str()),
            name: person.name,
        };
        Ok(GroupView {
            id: group.id,
            title: group.title.clone(),
            access: GroupAccess::from(group.access.as_str()),
            lead,
            people: people.into_iter().map(person).collect(),
            agents,
            updated_at: group.updated_at_ms,
        })
    }
}

/// Creates the view of an entry of the log.
pub(crate) fn entry(entry: &store::GroupEntry) -> GroupEntry {
    GroupEntry {
        id: entry.id,
        kind: EntryAuthor::from(entry.kind.as_str()),
        author: entry.author.clone(),
        text: entry.text.clone(),
        asks: serde_json::from_str(&entry.asks_json).unwrap_or_default(),
        call_id: entry.call_id,
        created_at: entry.created_at_ms,
    }
}

/// Creates the view of a call.
pub(crate) fn call(call: &store::GroupCall) -> GroupCall {
    let (tokens, cost_micro_usd) = call.spent();
    GroupCall {
        id: call.id,
        agent: call.handle.clone(),
        runner: call.runner.clone(),
        asked_by: call.asked_by.clone(),
        by_agent: call.by_agent.clone().filter(|_| call.mode != Some(store::CallMode::Answer)),
        entry_id: call.entry_id,
        run_id: call.run_id,
        state: CallState::from(call.state.as_str()),
        reason: call.reason.clone(),
        tokens,
        cost_micro_usd,
        created_at: call.created_at_ms,
        ended_at: call.ended_at_ms,
    }
}

/// Creates the view of a chain.
pub(crate) fn chain(chain: &GroupChain) -> ChainView {
    let draft: ChainDraft = serde_json::from_str(&chain.document_json).unwrap_or_default();
    ChainView {
        name: chain.name.clone(),
        text: chains::text::write(&draft),
        chain: draft,
        updated_at: chain.updated_at_ms,
    }
}

/// Creates the view of a gate.
pub(crate) fn gate(gate: &GateRow) -> GateView {
    let kind = GateKind::from(gate.kind.as_str());
    let attempt = u32::try_from(gate.attempt).unwrap_or(u32::MAX);
    GateView {
        id: gate.id,
        step: usize::try_from(gate.step).unwrap_or(0),
        attempt,
        question: gate.question.clone(),
        replies: chains::replies(&kind, attempt),
        kind,
    }
}

/// Creates the view of a hand-over of files from one agent to the next.
fn handover(row: &store::HandOver) -> HandOver {
    HandOver {
        state: HandOverState::from(row.state.as_str()),
        from_step: usize::try_from(row.from_step).unwrap_or(0),
        from_runner: row.from_runner.clone(),
        to_runner: row.to_runner.clone(),
        directory: row.directory.clone(),
        files: row.files,
        size: row.size_bytes,
        sha256: row.sha256.clone(),
        error: row.error.clone(),
        begun_at: row.created_at_ms,
        ended_at: row.ended_at_ms,
    }
}

/// Creates the view of a run of a chain, with its steps.
pub(crate) fn run(run: &ChainRun, known: &Known) -> ChainRunView {
    let has_ended = run.ended_at_ms.is_some();
    let open = known.gates.iter().find(|gate| gate.reply.is_none()).filter(|_| !has_ended);
    let outputs = chains::next::outputs(&known.run(run));
    let mut is_past = true;
    let steps: Vec<_> = known
        .draft
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let calls: Vec<_> = known.calls.iter().filter(|call| is_of(call, index)).collect();
            let newest = calls.last();
            let output = outputs.get(index).cloned();
            let asks = open.is_some_and(|gate| usize::try_from(gate.step).ok() == Some(index));
            let state = match newest {
                _ if asks => StepState::Asking,
                _ if output.is_some() => StepState::Done,
                _ if has_ended && is_past => StepState::Stopped,
                None => StepState::Pending,
                Some(call) => match call.state {
                    store::CallState::Queued => StepState::Queued,
                    store::CallState::Waiting => StepState::Waiting,
                    store::CallState::Running | store::CallState::Done => StepState::Running,
                    store::CallState::Failed => StepState::Failed,
                    store::CallState::Stopped => StepState::Stopped,
                },
            };
            if output.is_none() {
                is_past = false;
            }
            let sums =
                calls.iter().map(|call| call.spent()).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            ChainStepView {
                step: step.clone(),
                state,
                attempts: u32::try_from(calls.len()).unwrap_or(u32::MAX),
                runner: newest.map(|call| call.runner.clone()),
                call_id: newest.map(|call| call.id),
                output: output.unwrap_or_else(|| newest.map(|call| call.output.clone()).unwrap_or_default()),
                error: newest.map(|call| call.reason.clone()).unwrap_or_default(),
                received: newest
                    .and_then(|call| known.handovers.iter().find(|row| row.call_id == call.id))
                    .map(handover),
                tokens: sums.0,
                cost_micro_usd: sums.1,
                begun_at: calls.first().map(|call| call.created_at_ms),
                ended_at: newest.and_then(|call| call.ended_at_ms),
            }
        })
        .collect();
    let spent = known.spent();
    ChainRunView {
        id: run.id,
        chain: run.chain.clone(),
        request: run.request.clone(),
        begun_by: run.begun_by.clone(),
        state: ChainState::from(run.state.as_str()),
        steps,
        gate: open.map(gate),
        budget: known.draft.budget,
        tokens: spent.0,
        cost_micro_usd: spent.1,
        created_at: run.created_at_ms,
        ended_at: run.ended_at_ms,
    }
}
