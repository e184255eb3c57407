//! One call of a sub-agent, from its arguments to its result.

use llm::{Content, Message};
use sandbox::Sandbox;
use store::{MessageRole, NewSubAgent, SubAgent, TurnStatus};
use tokio_util::sync::CancellationToken;

use super::errand::{Card, Errand, SubAgentDocument};
use super::lineage::Lineage;
use crate::ChatEvent;
use crate::engine::queue::Waiting;
use crate::engine::show::UsageDocument;
use crate::engine::turn::Turn;
use crate::engine::{AgentDocument, history};
use crate::library::roles::{self, Role};
use crate::limits::{SUB_AGENT_IDLE_MS, SUB_AGENT_NAME_CHARS, SUB_AGENT_RESULT_BYTES};
use crate::models::{Place, Tier};
use crate::tools::{Failure, Outcome, Toolbox, Workshop};

/// What a model wants of a sub-agent.
pub(crate) struct Wanted<'a> {
    /// The tool's own name, and what the call is about, for people.
    pub(crate) tool: &'static str,
    pub(crate) hint: String,
    /// What it shall do: all it is told.
    pub(crate) task: &'a str,
    /// Who it shall be.
    pub(crate) role: Option<&'a str>,
    /// What it may use; no more than its parent and its role.
    pub(crate) tools: Option<&'a [String]>,
    /// How able a model it shall ask.
    pub(crate) model: Option<&'a str>,
    /// The name it is called by again.
    pub(crate) instance: Option<&'a str>,
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
pub(crate) async fn call(wanted: Wanted<'_>, workshop: &Workshop<'_>) -> Result<Outcome, Failure> {
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
    workshop.lineage.take_place().map_err(Failure::Told)?;
    let at_work = &workshop.service.engine.at_work;
    let _name = match wanted.instance {
        Some(name) => Some(at_work.take_name(workshop.chat, name).ok_or_else(|| {
            Failure::Told(format!("the sub-agent {name:?} is at work already; wait for its result"))
        })?),
        None => None,
    };
    let found = async {
        let sandbox = workshop.sandbox().await?;
        Ok::<_, Failure>((find(&wanted, workshop, &sandbox).await?, sandbox.place().to_owned()))
    };
    let (found, place) = tokio::select! {
        found = found => found?,
        () = workshop.cancelled.cancelled() => return Ok(Outcome::failed("cancelled by the user")),
    };
    let cancelled = workshop.cancelled.child_token();
    let _work = at_work.begin(workshop.user.id, &found.agent.chat, &cancelled);
    let agent = SubAgentDocument {
        chat_id: found.agent.chat.to_string(),
        role: found.agent.role.clone(),
        instance: found.agent.instance.clone(),
        ..SubAgentDocument::default()
    };
    let card = Card {
        chat: workshop.chat.clone(),
        message: workshop.card,
        tool: wanted.tool,
        hint: wanted.hint.clone(),
        place,
    };
    let tier = tier(wanted.model, found.role.as_ref()).map_err(Failure::Told)?;
    let role_text = found.role.map(|role| role.text).unwrap_or_default();
    let errand =
        Errand { role_text, tier, wish: workshop.wish.clone(), card, agent: agent.clone(), steps: 0.into() };
    errand.show(workshop.service, workshop.user, agent).await?;
    let lineage = workshop.lineage.beneath(found.tools, errand);
    let (mut outcome, usage) = run(&wanted, workshop, &found.agent, &lineage, &cancelled).await?;
    if let Some(remark) = found.remark {
        outcome.text = format!("{remark}\n\n{}", outcome.text);
    }
    outcome.sub_agent = lineage.errand().map(|errand| errand.done(usage));
    Ok(outcome)
}

/// The sub-agent that is called by that name, or a new one.
async fn find(wanted: &Wanted<'_>, workshop: &Workshop<'_>, sandbox: &Sandbox) -> Result<Found, Failure> {
    let (store, user, parent) = (&workshop.service.store, workshop.user.id, workshop.chat);
    let own = workshop.lineage.tools();
    let mut remark = None;
    if let Some(name) = wanted.instance {
        let open_since_ms = store.now_ms() - SUB_AGENT_IDLE_MS;
        if let Some(agent) = store.sub_agent_called(user, parent, name, open_since_ms).await? {
            return call_again(agent, wanted, workshop, sandbox).await;
        }
        if store.sub_agent_called(user, parent, name, 0).await?.is_some() {
            remark = Some(format!(
                "(The sub-agent {name:?} of before was closed: nobody called it for 30 minutes. This is a new one that knows \
                 nothing of it.)"
            ));
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
        message: workshop.card,
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
    wanted: &Wanted<'_>,
    workshop: &Workshop<'_>,
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
    let tools = workshop.lineage.tools().both(&Toolbox::from_json(&agent.tools_json));
    let tools = match wanted.tools {
        Some(_) => tools.for_sub_agent(None, wanted.tools).map_err(Failure::Told)?,
        None => tools,
    };
    workshop.service.store.use_sub_agent(workshop.user.id, &agent.chat, workshop.card).await?;
    Ok(Found { agent, tools, role, remark: None })
}

/// How able a model is asked: what the call says, else the role. A role's word that is no tier is another product's model.
fn tier(wanted: Option<&str>, role: Option<&Role>) -> Result<Option<Tier>, String> {
    match wanted {
        Some(word) => word.parse().map(Some).map_err(|_| {
            format!("there is no model {word:?} for a sub-agent; it is one of vanguard, balance and swift, or left out")
        }),
        None => Ok(role.and_then(|role| role.model.parse().ok())),
    }
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
    wanted: &Wanted<'_>,
    workshop: &Workshop<'_>,
    agent: &SubAgent,
    lineage: &Lineage,
    cancelled: &CancellationToken,
) -> Result<(Outcome, Option<UsageDocument>), Failure> {
    let (service, user, chat) = (workshop.service, workshop.user, &agent.chat);
    let store = &service.store;
    service.say(user.id, chat, MessageRole::User, wanted.task).await?;
    let document = AgentDocument::reply(TurnStatus::Queued).to_json();
    let shown = store.append_message(user.id, chat, MessageRole::Assistant, "", Some(&document)).await?;
    let item = history::to_json(&Message::User(vec![Content::Text(wanted.task.to_owned())]));
    let turn = store.queue_turn(user.id, chat, shown.id, &item).await?;
    service.tell(user.id, ChatEvent::Message(shown.clone()));
    let waiting = Waiting { turn, message: shown.id };
    Turn { service, user, chat, waiting, cancelled, lineage, place: Place::default() }.run().await;
    let ended = async {
        store.use_sub_agent(user.id, chat, workshop.card).await?;
        let items = store.turn_items(user.id, chat, turn).await?;
        let words = last_words(&history::from_items(&items)).map(str::to_owned);
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

/// What an agent said last about what it was asked last.
fn last_words(messages: &[Message]) -> Option<&str> {
    let is_user = |message: &Message| matches!(message, Message::User(_));
    let own = messages.iter().rev().take_while(|message| !is_user(message));
    let mut said = own.filter_map(|message| match message {
        Message::Assistant(said) => Some(said.text.trim()),
        Message::User(_) | Message::Tool(_) => None,
    });
    said.find(|text| !text.is_empty())
}

/// What its parent is told of a turn that has ended, and what that took.
fn told(document: Option<&str>, words: Option<&str>) -> (Outcome, Option<UsageDocument>) {
    let words = words.map(bounded);
    let document = document.and_then(|json| serde_json::from_str(json).ok());
    let (status, error, usage) = match document {
        Some(AgentDocument::Reply { status, error, usage, .. }) => (status, error, usage),
        Some(AgentDocument::Tool { .. }) | None => Default::default(),
    };
    if status == TurnStatus::Done.as_str() {
        let words = words.unwrap_or_else(|| "(the sub-agent ended without a word)".to_owned());
        return (Outcome::done(words), usage);
    }
    let why = match error {
        Some(error) => error,
        None if status == TurnStatus::Cancelled.as_str() => "the user stopped it".to_owned(),
        None => "its end was not told".to_owned(),
    };
    let words = words.map_or_else(String::new, |words| format!("\nWhat it said last:\n{words}"));
    (Outcome::failed(&format!("the sub-agent did not finish: {why}{words}")), usage)
}

fn bounded(words: &str) -> String {
    if words.len() <= SUB_AGENT_RESULT_BYTES {
        return words.to_owned();
    }
    let kept = &words[..words.floor_char_boundary(SUB_AGENT_RESULT_BYTES)];
    format!("{kept}\n(it said {} bytes more, which are left out)", words.len() - kept.len())
}

#[cfg(test)]
mod tests {
    use llm::{Assistant, ToolCall, ToolResult};

    use super::*;

    fn said(text: &str) -> Message {
        Message::Assistant(Assistant { text: text.to_owned(), ..Assistant::default() })
    }

    #[test]
    fn the_last_words_are_those_about_the_last_task() {
        let result =
            Message::Tool(ToolResult { call_id: "1".to_owned(), content: vec!["x".into()], is_error: false });
        let call =
            Message::Assistant(Assistant { tool_calls: vec![ToolCall::default()], ..Assistant::default() });
        let mut messages = vec![Message::user("a"), said("old"), Message::user("b")];
        assert_eq!(last_words(&messages), None);
        messages.extend([said(" first "), call, result]);
        assert_eq!(last_words(&messages), Some("first"));
        messages.push(said("last"));
        assert_eq!(last_words(&messages), Some("last"));
    }

    #[test]
    fn a_parent_is_told_what_came_of_it_and_why_nothing_did() {
        let ended = |status, error: Option<&str>, words| {
            let mut document = AgentDocument::reply(status);
            if let AgentDocument::Reply { error: told, .. } = &mut document {
                *told = error.map(str::to_owned);
            }
            told(Some(&document.to_json()), words).0
        };
        assert_eq!(ended(TurnStatus::Done, None, Some("found it")), Outcome::done("found it"));
        let silent = ended(TurnStatus::Done, None, None);
        assert!(!silent.is_error && silent.text.contains("without a word"));
        let failed = ended(TurnStatus::Failed, Some("offline"), Some("half"));
        assert!(
            failed.is_error && failed.text.contains("offline\nWhat it said last:\nhalf"),
            "{}",
            failed.text
        );
        assert!(ended(TurnStatus::Cancelled, None, None).text.contains("the user stopped it"));
        assert!(told(None, None).0.is_error);
    }

    #[test]
    fn long_words_are_cut_where_it_is_said() {
        let most = "é".repeat(SUB_AGENT_RESULT_BYTES / 2);
        assert_eq!(bounded(&most), most);
        let cut = bounded(&format!("{most}é"));
        assert!(cut.starts_with(&most) && cut.ends_with("(it said 2 bytes more, which are left out)"));
    }
}
