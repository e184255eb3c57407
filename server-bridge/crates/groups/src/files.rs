//! Handles the files of a call, before the call is posted and after it is answered, so that the next step gets the files that it needs.

use api::chain::ChainDraft;
use chains::prompt::{Arrived, Files, files, wanted};
use store::{CallMode, CallState, GroupAgent, GroupCall, HandOver, NewHandOver};

use crate::error::{Error, Result};
use crate::folder::{below, inside};
use crate::handing::{Checked, Pass, Passed};
use crate::house::Inner;
use crate::known::{is_of, unreadable};
use crate::limits::HANDED_DIRECTORY;
use crate::obstacle::Obstacle;

/// The state of a call's files before the call is posted.
pub(crate) enum Ready {
    /// The call can be posted; contains the text about its files.
    Go(String),
    /// The files are on their way, or a machine is offline; contains the reason for people.
    Wait(String),
    /// The files cannot be passed on, for this reason.
    Never(String),
}

/// The step and agent that files come from.
struct Source {
    /// The step, counted from 0.
    step: usize,
    outputs: Vec<String>,
    /// The agent that produced the files.
    agent: GroupAgent,
    run: i64,
}

impl Inner {
    /// Brings the files of the previous step to the machine of a call's agent; for a call that was handed over, lists the files that its agent has to
    /// produce.
    pub(crate) async fn files_for(&self, call: &GroupCall, agent: &GroupAgent) -> Result<Ready> {
        if call.mode == Some(CallMode::HandOff) {
            // The files of the previous step stay with the agent that received them; the agent that continues has to produce the outputs of the step.
            let first = self.handed_from(call).await?;
            let outputs = match step_of(&first) {
                Some(step) => self.outputs(&first, step).await?,
                None => Vec::new(),
            };
            return Ok(Ready::Go(wanted(&outputs)));
        }
        let Some(source) = self.source(call).await? else { return Ok(Ready::Go(String::new())) };
        let Source { step, outputs, agent: from, .. } = &source;
        let never =
            |why: &str| Ready::Never(format!("the files of step {} could not be passed on: {why}", step + 1));
        if from.is_removed {
            return Ok(never(&format!("@{} was removed from the group", from.handle)));
        }
        let Some(user) = call.user else {
            return Ok(never("the person who asked was removed from this server"));
        };
        match self.mode_for(from, user).await {
            Ok(_) => {}
            Err(Error::Refused { text, .. }) => return Ok(never(&text)),
            Err(error) => return Err(error),
        }
        let said = |arrived| files(&Files { step: *step, agent: &from.handle, outputs, arrived });
        if (from.owner, &from.runner, &from.folder) == (agent.owner, &agent.runner, &agent.folder) {
            return Ok(Ready::Go(said(None)));
        }
        let row = self.store.handover(call.id).await?;
        if let Some(row) = row.filter(|row| row.ended_at_ms.is_some()) {
            let HandOver { directory, files, size_bytes, .. } = &row;
            let directory =
                inside(&agent.folder, directory.as_bytes()).and_then(|path| str::from_utf8(path).ok());
            return Ok(match directory.filter(|_| row.to_runner == agent.runner) {
                None => never(&format!(
                    "@{} has moved to another machine or folder since the files arrived; try again",
                    agent.handle
                )),
                Some(directory) => {
                    Ready::Go(said(Some(Arrived { directory, files: *files, size_bytes: *size_bytes })))
                }
            });
        }
        self.carry(call, &source, agent, never).await
    }

    /// Continues to hand over files that have not arrived yet.
    async fn carry(
        &self,
        call: &GroupCall,
        source: &Source,
        agent: &GroupAgent,
        never: impl Fn(&str) -> Ready,
    ) -> Result<Ready> {
        let Source { step, agent: from, .. } = source;
        match self.carrier.passed(call.id) {
            Some(Passed::Running) => {}
            Some(Passed::Later(why)) => {
                self.carrier.forget(call.id);
                return Ok(Ready::Wait(why));
            }
            Some(Passed::Never(why)) => return Ok(never(&why)),
            None => {
                if let Some(away) = self.away(from).await? {
                    return Ok(match away {
                        Obstacle::Now(_) => Ready::Wait(format!(
                            "the files of step {} are on {}, which is offline",
                            step + 1,
                            from.runner
                        )),
                        lasting => never(&lasting.to_string()),
                    });
                }
                let token = format!("{:016x}", rand::random::<u64>());
                let new = NewHandOver {
                    from_step: i64::try_from(*step).unwrap_or(i64::MAX),
                    from_runner: &from.runner,
                    to_runner: &agent.runner,
                    token: &token,
                };
                let row = self.store.begin_handover(call, new).await?;
                self.carrier.pass(Pass {
                    group: call.group_id,
                    call: call.id,
                    row,
                    outputs: source.outputs.clone(),
                    base: below(&agent.folder, &format!("{HANDED_DIRECTORY}/{}/{}", source.run, step + 1)),
                    from: from.clone(),
                    to: agent.clone(),
                });
            }
        }
        let (from, to) = (&from.runner, &agent.runner);
        Ok(Ready::Wait(format!("the files of step {} are on their way from {from} to {to}", step + 1)))
    }

    /// Returns why the machine of an agent cannot be used now; `None` if it can.
    async fn away(&self, agent: &GroupAgent) -> Result<Option<Obstacle>> {
        let Some(owner) = self.store.user_by_id(agent.owner).await? else {
            let why = format!("the owner of @{} was removed from this server", agent.handle);
            return Ok(Some(Obstacle::Lasting(why)));
        };
        self.obstacle(agent, &owner).await
    }

    /// Returns the step before the call's step, if an agent completed it and it has outputs. If a person wrote the step's text after a failure, there
    /// are no files.
    async fn source(&self, call: &GroupCall) -> Result<Option<Source>> {
        let (Some(run), Some(step)) = (call.run_id, step_of(call).and_then(|step| step.checked_sub(1)))
        else {
            return Ok(None);
        };
        let outputs = self.outputs(call, step).await?;
        if outputs.is_empty() {
            return Ok(None);
        }
        let calls = self.store.calls_of_run(run).await?;
        let Some(newest) = calls.iter().rfind(|call| is_of(call, step)) else { return Ok(None) };
        let answering = self.store.answering_call(newest.id).await?;
        if answering.state != CallState::Done {
            return Ok(None);
        }
        let agent = self.store.group_agent(answering.agent_id).await?;
        Ok(Some(Source { step, outputs, agent, run }))
    }

    /// Returns the outputs that a step of the call's run declares.
    async fn outputs(&self, call: &GroupCall, step: usize) -> Result<Vec<String>> {
        let Some(run) = call.run_id else { return Ok(Vec::new()) };
        let run = self.store.group_run(call.group_id, run).await?;
        let mut draft: ChainDraft = serde_json::from_str(&run.document_json).map_err(|_| unreadable())?;
        Ok(draft.steps.get_mut(step).map(|step| std::mem::take(&mut step.outputs)).unwrap_or_default())
    }

    /// Returns the call of the step's own agent if this call was handed over, any number of times; otherwise the call itself.
    async fn handed_from(&self, call: &GroupCall) -> Result<GroupCall> {
        let mut first = call.clone();
        while let Some(parent) = first.parent_id.filter(|_| first.mode == Some(CallMode::HandOff)) {
            first = self.store.group_call(parent).await?;
        }
        Ok(first)
    }

    /// Checks, once a call's agent has answered, whether the outputs of the step exist. They are on the machine of the agent whose answer
    /// counts for the step.
    pub(crate) async fn check_outputs(&self, call: &GroupCall) -> Result<Checked> {
        let first = self.handed_from(call).await?;
        let Some(step) = step_of(&first) else { return Ok(Checked::There) };
        let outputs = self.outputs(&first, step).await?;
        if !outputs.is_empty() && self.store.answering_call(call.id).await?.id != call.id {
            return Ok(Checked::There);
        }
        if outputs.is_empty() {
            return Ok(Checked::There);
        }
        let agent = self.store.group_agent(call.agent_id).await?;
        match self.carrier.checked(call.id) {
            Some(Checked::Later(_)) | None => match self.away(&agent).await? {
                None => {}
                Some(Obstacle::Now(_)) => {
                    let why = format!("its outputs are on {}, which is offline", agent.runner);
                    return Ok(Checked::Later(why));
                }
                Some(lasting) => return Ok(Checked::Never(lasting.to_string())),
            },
            Some(checked) => return Ok(checked),
        }
        self.carrier.check(call.id, outputs, agent);
        Ok(Checked::Running)
    }
}

/// Returns the step of a call, counted from 0.
fn step_of(call: &GroupCall) -> Option<usize> {
    call.step.and_then(|step| usize::try_from(step).ok())
}
