//! One call of a sub-agent, from its arguments to its result.

use std::ops::ControlFlow;
use std::sync::Arc;

use records::{ChatId, MessageId, SubAgent};

use super::delegation::Delegation;
use super::result::told;
use super::{Background, Named};
use crate::PortError;
use crate::engine::ports::{
    BackgroundMessage, BackgroundTask, CalledAgent, NewSubAgent, SubAgentTask, SubAgents,
};
use crate::engine::turn::Turn;
use crate::library::Role;
use crate::limits::SUB_AGENT_NAME_CHARS;
use crate::models::Tier;
use crate::tool::{DelegationRequest, Failure, Outcome, SubAgentState, Toolbox};

/// A sub-agent that was found or made.
struct Found {
    chat: ChatId,
    role: Option<Role>,
    instance: Option<String>,
    tools: Toolbox,
    /// The machine that the sub-agent works on, if that differs from its parent's.
    place: Option<String>,
    /// A note for the sub-agent's parent, put before the result.
    remark: Option<String>,
}

/// Runs a sub-agent to the end of its turn; `card` is the message that shows the call. A server that was killed may already have `called`
/// a sub-agent for this card.
///
/// Fails with [`Failure::Message`] if it cannot be called this way, and with another failure if the parent's turn cannot
/// continue.
pub(in crate::engine) async fn call(
    wanted: DelegationRequest<'_>,
    caller: &Turn<'_>,
    (card, called): (MessageId, Option<&CalledAgent>),
) -> Result<Outcome, Failure> {
    if wanted.task.trim().is_empty() {
        return Err(Failure::Message("the task is empty; say what the sub-agent should do".to_owned()));
    }
    if let Some(name) = wanted.instance
        && (name.trim().is_empty()
            || name.chars().count() > SUB_AGENT_NAME_CHARS
            || name.contains(char::is_control))
    {
        let text =
            format!("the name of an instance must have 1 to {SUB_AGENT_NAME_CHARS} characters on one line");
        return Err(Failure::Message(text));
    }
    let no_tier =
        |why| Failure::Message(format!("that is not a model for a sub-agent: {why}, or leave it out"));
    let tier = wanted.model.map(str::parse::<Tier>).transpose().map_err(no_tier)?;
    if wanted.background && caller.ancestry.delegation().is_some() {
        let text = "only the chat's own agent can call sub-agents in the background; leave `background` out";
        return Err(Failure::Message(text.to_owned()));
    }
    caller.ancestry.take_place().map_err(Failure::Message)?;
    let sub_agents = &caller.ports.sub_agents;
    let is_over = called.is_some_and(|called| called.is_over);
    let _name = match wanted.instance {
        // Another call may have taken the name in the meantime.
        Some(_) if is_over => None,
        Some(name) => Some(sub_agents.take_name(name).ok_or_else(|| {
            Failure::Message(format!("the sub-agent {name:?} is already at work; wait for its result"))
        })?),
        None => None,
    };
    let found = tokio::select! {
        found = async {
            match called {
                Some(called) => again(&wanted, caller, called).await.map(ControlFlow::Continue),
                None => find(&wanted, caller, card).await,
            }
        } => found?,
        () = caller.cancelled.cancelled() => return Ok(Outcome::failed("cancelled by the user")),
    };
    let found = match found {
        ControlFlow::Continue(found) => found,
        ControlFlow::Break(sent) => return Ok(sent),
    };
    let steps = called.map_or(0, |called| called.steps);
    let agent = SubAgentState {
        chat: found.chat,
        role: match called {
            Some(called) => called.agent.role.clone(),
            None => found.role.as_ref().map(|role| role.name.clone()),
        },
        instance: found.instance,
        place: found.place.clone(),
        steps,
        doing: String::new(),
        cost: None,
        is_background: wanted.background,
    };
    // If the model named by a role is not a tier, it is the name of another product's model, and is ignored.
    let tier = tier.or_else(|| found.role.as_ref()?.model.parse().ok());
    let role_text = found.role.map(|role| role.text).unwrap_or_default();
    let place = match &found.place {
        Some(place) => Some(place.clone()),
        None => caller.ports.workplace.name().await?,
    };
    if wanted.background {
        let background = Background {
            tool: wanted.tool.to_owned(),
            hint: wanted.hint,
            role_text,
            tier: tier.map(|tier| tier.as_str().to_owned()),
            tools_json: found.tools.to_json(),
            place,
            worktree: wanted.worktree,
        };
        let task = BackgroundTask { chat: &agent.chat, card, text: wanted.task, background: &background };
        caller.ports.background.begin(task).await?;
        let remark = found.remark.map(|remark| format!("{remark}\n\n")).unwrap_or_default();
        let mut outcome = Outcome::done(format!("{remark}{}", in_background(&agent.chat)));
        outcome.sub_agent = Some(agent);
        return Ok(outcome);
    }
    let delegation = Delegation {
        role_text,
        tier,
        display: Arc::clone(&caller.ports.display),
        card,
        tool: wanted.tool.to_owned(),
        hint: wanted.hint,
        place,
        agent: agent.clone(),
        steps: steps.into(),
    };
    delegation.show(&agent).await?;
    let ancestry = caller.ancestry.below(found.tools, delegation);
    let cancelled = caller.cancelled.child_token();
    let task = SubAgentTask {
        chat: &agent.chat,
        card,
        text: wanted.task,
        worktree: wanted.worktree,
        goes_on: called.is_some(),
        ancestry: &ancestry,
        cancelled: &cancelled,
    };
    let end = match sub_agents.run(task).await {
        Ok(end) => end,
        Err(Failure::Port(PortError::Gone(_))) => {
            return Err(Failure::Message(
                "the sub-agent's conversation was deleted in the meantime".to_owned(),
            ));
        }
        Err(error) => return Err(error),
    };
    Ok(match ancestry.delegation() {
        Some(delegation) => delegation.outcome(end, found.remark),
        None => told(&end.turn),
    })
}

/// The result of a call that does not wait for its sub-agent.
fn in_background(task: &ChatId) -> String {
    format!(
        "The sub-agent works in the background as task {task}. You will be notified when it has ended: go on with something else, or end your \
         answer. task_status and task_read show its progress, and task_kill ends it."
    )
}

/// Finds the sub-agent that the server called before it was restarted.
async fn again(
    wanted: &DelegationRequest<'_>,
    caller: &Turn<'_>,
    called: &CalledAgent,
) -> Result<Found, Failure> {
    let SubAgent { chat, role: name, instance, place, tools_json, .. } = called.agent.clone();
    // The role of a sub-agent that has ended no longer has an effect.
    let role = if called.is_over { None } else { role(caller, name.as_deref()).await? };
    let mut tools = caller.ancestry.tools().of_json(&tools_json);
    if let Some(named) = wanted.tools {
        // The names were checked when the call began. A tool may be missing now, for example because its MCP server is unavailable.
        tools = tools.named(|tool| named.iter().any(|name| name == tool));
    }
    Ok(Found { chat, role, instance, tools, place, remark: None })
}

/// Finds the sub-agent with the wanted name, or creates one. If that sub-agent is at work in the background, sends it the task as a
/// message instead, which completes the call.
async fn find(
    wanted: &DelegationRequest<'_>,
    caller: &Turn<'_>,
    card: MessageId,
) -> Result<ControlFlow<Outcome, Found>, Failure> {
    let sub_agents: &dyn SubAgents = &*caller.ports.sub_agents;
    let own = caller.ancestry.tools();
    let place = match wanted.on {
        Some(name) => sub_agents.place(name).await?,
        None => None,
    };
    let mut remark = None;
    if let Some(name) = wanted.instance {
        match sub_agents.named(name).await? {
            Named::Open(agent) => {
                if wanted.role.is_some() && wanted.role != agent.role.as_deref() {
                    let is = agent.role.as_deref().unwrap_or("none");
                    return Err(Failure::Message(format!(
                        "the sub-agent of that name has the role {is}; leave the role out, or use another name"
                    )));
                }
                if wanted.on.is_some() && place != agent.place {
                    let is = agent.place.as_deref().unwrap_or("your own machine");
                    return Err(Failure::Message(format!(
                        "the sub-agent of that name works on {is}; leave the machine out, or use another name"
                    )));
                }
                if let (None, Some(name)) = (wanted.on, &agent.place) {
                    // The machine may have gone offline, or have been removed.
                    sub_agents.place(name).await?;
                }
                let message = BackgroundMessage { chat: &agent.chat, card, text: wanted.task };
                if caller.ports.background.send(message).await? {
                    return Ok(ControlFlow::Break(sent(wanted, &agent.chat)));
                }
                check(wanted, caller).await?;
                // The sub-agent already has a conversation. It keeps its role, and gets no tools that it did not have.
                let role = role(caller, agent.role.as_deref()).await?;
                let mut tools = own.of_json(&agent.tools_json);
                if wanted.tools.is_some() {
                    tools = tools.for_sub_agent(None, wanted.tools).map_err(Failure::Message)?;
                }
                let SubAgent { chat, instance, place, .. } = *agent;
                return Ok(ControlFlow::Continue(Found { chat, role, instance, tools, place, remark }));
            }
            Named::Closed => {
                remark = Some(format!(
                    "(The earlier sub-agent {name:?} was closed: nobody called it for 30 minutes. This is a new one that knows \
                     nothing about it.)"
                ));
            }
            Named::Nobody => {}
        }
    }
    check(wanted, caller).await?;
    let role = role(caller, wanted.role).await?;
    let tools = own.for_sub_agent(role.as_ref(), wanted.tools).map_err(Failure::Message)?;
    let name = role.as_ref().map(|role| role.name.as_str());
    let (instance, tools_json) = (wanted.instance, &tools.to_json());
    let new = NewSubAgent { card, role: name, instance, place: place.as_deref(), tools_json };
    let SubAgent { chat, instance, .. } = sub_agents.create(new).await?;
    Ok(ControlFlow::Continue(Found { chat, role, instance, tools, place, remark }))
}

/// Fails if the call is for the background and no further sub-agent may run there.
async fn check(wanted: &DelegationRequest<'_>, caller: &Turn<'_>) -> Result<(), Failure> {
    if wanted.background { caller.ports.background.check().await } else { Ok(()) }
}

/// The result of a call whose task became a message to a running sub-agent.
fn sent(wanted: &DelegationRequest<'_>, task: &ChatId) -> Outcome {
    let left_out = match wanted.tools.is_some() || wanted.model.is_some() || wanted.worktree {
        true => " It keeps the tools, the model and the folder that it began with.",
        false => "",
    };
    Outcome::done(format!(
        "The sub-agent is at work in the background, as task {task}: it reads this before its next step.{left_out} You will be notified when it has \
         ended."
    ))
}

/// The role with this name.
async fn role(caller: &Turn<'_>, name: Option<&str>) -> Result<Option<Role>, Failure> {
    let Some(name) = name else { return Ok(None) };
    let (sandbox, library) = (caller.ports.workplace.sandbox().await?, &caller.ports.library);
    if let Some(role) = library.role(caller.user, &sandbox, name).await? {
        return Ok(Some(role));
    }
    let known = library.roles(caller.user, Some(&sandbox)).await?;
    let known = known.map_or_else(String::new, |known| format!(", or use one of these:\n{known}"));
    Err(Failure::Message(format!("there is no role {name:?}; leave it out{known}")))
}
