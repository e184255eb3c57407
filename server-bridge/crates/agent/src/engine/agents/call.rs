//! One call of a sub-agent, from its arguments to its result.

use std::sync::Arc;

use llm::{Content, Message};
use sandbox::{Sandbox, Wish};
use store::{ChatId, MessageId, MessageRole, NewSubAgent, SubAgent, TurnStatus, User};
use tokio_util::sync::CancellationToken;

use super::errand::{Card, Errand, SubAgentDocument};
use super::idle::{Named, named};
use super::lineage::Lineage;
use super::result::{last_words, told};
use crate::ChatEvent;
use crate::engine::queue::Waiting;
use crate::engine::show::UsageDocument;
use crate::engine::turn::Turn;
use crate::engine::{AgentDocument, history};
use crate::library::roles::{self, Role};
use crate::limits::SUB_AGENT_NAME_CHARS;
use crate::models::Tier;
use crate::place::sandbox_user;
use crate::service::Inner;
use crate::tool::{DelegationRequest, Failure, Outcome, Toolbox};

/// Who calls a sub-agent, and where.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) service: &'a Arc<Inner>,
    pub(crate) user: &'a User,
    /// The caller's own chat.
    pub(crate) chat: &'a ChatId,
    pub(crate) lineage: &'a Lineage,
    pub(crate) cancelled: &'a CancellationToken,
    /// What shows the call.
    pub(crate) card: MessageId,
    /// Where the caller works.
    pub(crate) wish: &'a Wish,
}

/// A sub-agent that was found or made.
struct Found {
    agent: SubAgent,
    tools: Toolbox,
    role: Option<Role>,
    /// What its parent has to know of it.
    remark: Option<String>,
}

/// Runs a sub-agent to the end of its turn.
///
/// Fails with [`Failure::Told`] where it cannot be called so, and where the parent's turn cannot go on either.
pub(crate) async fn call(wanted: DelegationRequest<'_>, caller: Caller<'_>) -> Result<Outcome, Failure> {
    if wanted.task.trim().is_empty() {
        return Err(Failure::Told("the task is empty; say what the sub-agent shall do".to_owned()));
    }
    if let Some(name) = wanted.instance
        && (name.trim().is_empty()
            || name.chars().count() > SUB_AGENT_NAME_CHARS
            || name.contains(char::is_control))
    {
        let text = format!("an instance has a name of 1 to {SUB_AGENT_NAME_CHARS} characters on one line");
        return Err(Failure::Told(text));
    }
    let no_tier = |why| Failure::Told(format!("that is no model of a sub-agent: {why}, or leave it out"));
    let tier = wanted.model.map(str::parse::<Tier>).transpose().map_err(no_tier)?;
    caller.lineage.take_place().map_err(Failure::Told)?;
    let at_work = &caller.service.engine.at_work;
    let _name = match wanted.instance {
        Some(name) => Some(at_work.take_name(caller.chat, name).ok_or_else(|| {
            Failure::Told(format!("the sub-agent {name:?} is at work already; wait for its result"))
        })?),
        None => None,
    };
    let found = async {
        let sandbox = caller.service.router.for_user(&sandbox_user(caller.user), caller.wish).await?;
        Ok::<_, Failure>((find(&wanted, caller, &sandbox).await?, sandbox.place().to_owned()))
    };
    let (found, place) = tokio::select! {
        found = found => found?,
        () = caller.cancelled.cancelled() => return Ok(Outcome::failed("cancelled by the user")),
    };
    let cancelled = caller.cancelled.child_token();
    let _work = at_work.begin(caller.user.id, &found.agent.chat, &cancelled);
    let agent = SubAgentDocument {
        chat_id: found.agent.chat.to_string(),
        role: found.agent.role.clone(),
        instance: found.agent.instance.clone(),
        ..SubAgentDocument::default()
    };
    let card = Card {
        chat: caller.chat.clone(),
        message: caller.card,
        turn: caller.lineage.turn(),
        tool: wanted.tool,
        hint: wanted.hint.clone(),
        place,
    };
    // A role's word that is no tier is another product's model.
    let tier = tier.or_else(|| found.role.as_ref()?.model.parse().ok());
    let role_text = found.role.map(|role| role.text).unwrap_or_default();
    let errand =
        Errand { role_text, tier, wish: caller.wish.clone(), card, agent: agent.clone(), steps: 0.into() };
    errand.show(caller.service, caller.user, agent).await?;
    let lineage = caller.lineage.beneath(found.tools, errand);
    let (mut outcome, usage) = run(&wanted, caller, &found.agent, &lineage, &cancelled).await?;
    if let Some(remark) = found.remark {
        outcome.text = format!("{remark}\n\n{}", outcome.text);
    }
    outcome.sub_agent = lineage.errand().map(|errand| errand.done(usage));
    Ok(outcome)
}

/// The sub-agent that is called by that name, or a new one.
async fn find(
    wanted: &DelegationRequest<'_>,
    caller: Caller<'_>,
    sandbox: &Sandbox,
) -> Result<Found, Failure> {
    let (store, user, parent) = (&caller.service.store, caller.user.id, caller.chat);
    let own = caller.lineage.tools();
    let mut remark = None;
    if let Some(name) = wanted.instance {
        match named(store, user, parent, name).await? {
            Named::Open(agent) => return call_again(agent, wanted, caller, sandbox).await,
            Named::Closed => {
                remark = Some(format!(
                    "(The sub-agent {name:?} of before was closed: nobody called it for 30 minutes. This is a new one that \
                     knows nothing of it.)"
                ));
            }
            Named::Nobody => {}
        }
    }
    let role = match wanted.role {
        Some(name) => Some(role(sandbox, name).await?),
        None => None,
    };
    let of_role = role.as_ref().and_then(|role| role.tools.as_deref());
    let tools = own.for_sub_agent(of_role, wanted.tools).map_err(Failure::Told)?;
    let new = NewSubAgent {
        parent,
        message: caller.card,
        role: role.as_ref().map(|role| role.name.as_str()),
        instance: wanted.instance,
        tools_json: &tools.to_json(),
    };
    let agent = store.create_sub_agent(user, new).await?;
    Ok(Found { agent, tools, role, remark })
}

/// One that knows already what was said before. It stays who it is, and gets no tools that it did not have.
async fn call_again(
    agent: SubAgent,
    wanted: &DelegationRequest<'_>,
    caller: Caller<'_>,
    sandbox: &Sandbox,
) -> Result<Found, Failure> {
    if wanted.role.is_some() && wanted.role != agent.role.as_deref() {
        let is = agent.role.as_deref().unwrap_or("none");
        let text =
            format!("the sub-agent of that name has the role {is}; leave the role out, or take another name");
        return Err(Failure::Told(text));
    }
    let role = match &agent.role {
        Some(name) => Some(role(sandbox, name).await?),
        None => None,
    };
    let tools = caller.lineage.tools().of_json(&agent.tools_json);
    let tools = match wanted.tools {
        Some(_) => tools.for_sub_agent(None, wanted.tools).map_err(Failure::Told)?,
        None => tools,
    };
    caller.service.store.use_sub_agent(caller.user.id, &agent.chat, caller.card).await?;
    Ok(Found { agent, tools, role, remark: None })
}

async fn role(sandbox: &Sandbox, name: &str) -> Result<Role, Failure> {
    if let Some(role) = roles::read(sandbox, name).await? {
        return Ok(role);
    }
    let known =
        roles::catalogue(sandbox).await?.unwrap_or_else(|| "there are none in .sandbridge/agents".to_owned());
    Err(Failure::Told(format!("there is no role {name:?}; leave it out, or take one of these:\n{known}")))
}

/// Runs the sub-agent's turn, and tells what it came to.
async fn run(
    wanted: &DelegationRequest<'_>,
    caller: Caller<'_>,
    agent: &SubAgent,
    lineage: &Lineage,
    cancelled: &CancellationToken,
) -> Result<(Outcome, Option<UsageDocument>), Failure> {
    let (service, user, chat) = (caller.service, caller.user, &agent.chat);
    let store = &service.store;
    let said = service.say(user.id, chat, MessageRole::User, wanted.task).await?;
    let document = AgentDocument::reply(TurnStatus::Queued).to_json();
    let shown = store.append_message(user.id, chat, MessageRole::Assistant, "", Some(&document)).await?;
    let item = history::to_json(&Message::User(vec![Content::Text(wanted.task.to_owned())]));
    let turn = store.queue_turn_beneath(user.id, chat, said.id, shown.id, &item, lineage.turn()).await?;
    service.tell(user.id, ChatEvent::Message(shown.clone()));
    let waiting = Waiting { turn, message: shown.id };
    Turn { service, user, chat, waiting, cancelled, lineage }.run().await;
    let ended = async {
        store.use_sub_agent(user.id, chat, caller.card).await?;
        let items = store.turn_items(user.id, chat, turn).await?;
        let said: Vec<_> = items.iter().filter_map(|item| history::from_json(item)).collect();
        let words = last_words(&said).map(str::to_owned);
        Ok((store.message(user.id, shown.id).await?, words))
    };
    match ended.await {
        Ok((message, words)) => Ok(told(message.exec_json.as_deref(), words.as_deref())),
        Err(store::Error::NotFound { .. }) => {
            Err(Failure::Told("its conversation was deleted meanwhile".to_owned()))
        }
        Err(error) => Err(error.into()),
    }
}
