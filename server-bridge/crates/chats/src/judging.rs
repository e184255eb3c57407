//! Judgements for hooks: the answer of a model, or of an agent that may first read files of the workspace, in a few rounds.
//!
//! The agent has three tools, which only read. If a rule denies or asks about one of its calls, the call is denied, because no one can be
//! asked. Hooks do not run for these calls.

use agent::approval::{Access, Ruling};
use agent::context::tokens;
use agent::engine::Ports;
use agent::hooks::{Estimate, HookedTurn, Hooks};
use agent::judge::{HookCall, Judge, Question};
use agent::models::NoModel;
use agent::tool::{
    AgentTurn, Bound, DelegationRequest, Failure, Host, Outcome, SampleRequest, Sampled, Subject, ToolCaller,
    ToolContext, Toolbox,
};
use futures_util::future::BoxFuture;
use llm::{Content, Draft, Message, Request, Stop, SystemPart, ToolCall, ToolResult, call};
use sandbox::Sandbox;
use store::ChatId;
use tokio_util::sync::CancellationToken;

use crate::house::ChatService;
use crate::limits::{JUDGE_CALLS, JUDGE_RESULT_BYTES, JUDGE_ROUNDS, JUDGE_TOKENS};
use crate::stored::Stored;

/// The tools of a hook's agent, by name.
const READERS: [&str; 3] = ["Read", "Glob", "Grep"];

impl Judge for ChatService {
    fn judge<'a>(&'a self, question: &'a Question<'a>) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let ports = Stored::top(&self.0, question.user, question.root, question.turn).ports();
            let tools: Vec<_> = self
                .0
                .tools
                .snapshot()
                .iter()
                .filter(|tool| READERS.contains(&tool.name()))
                .cloned()
                .collect();
            let tools = if question.reads { Toolbox::from(tools) } else { Toolbox::default() };
            Judging { question, ports, tools, hooks: &self.0.hooks }.answer().await
        })
    }

    fn permits<'a>(&'a self, call: HookCall<'a>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let HookCall { user, root, turn, tool, subject } = call;
            permitted(&Stored::top(&self.0, user, root, turn).ports(), tool, subject).await
        })
    }
}

/// Checks a call of a hook, or of a hook's agent, against the rules. No one can be asked, so a call that a rule asks about is denied.
async fn permitted(ports: &Ports, tool: &str, subject: Subject<'_>) -> Result<(), String> {
    match ports.permissions.ruling(tool, subject, false).await.map_err(|error| error.to_string())? {
        Ruling::Silent | Ruling::Allow => Ok(()),
        Ruling::Ask(why) | Ruling::Deny(why) => Err(format!("a rule denies this: {why}")),
    }
}

/// A judgement in progress.
struct Judging<'a> {
    question: &'a Question<'a>,
    ports: Ports,
    tools: Toolbox,
    /// Hold what its requests may use.
    hooks: &'a Hooks,
}

impl Judging<'_> {
    async fn answer(&self) -> Result<String, String> {
        let Question { system, text, tier, reads, .. } = self.question;
        let setup = match self.ports.models.chain(Some(*tier)).await {
            Ok(chain) => chain.setup,
            Err(NoModel::Unavailable(why)) => return Err(why),
            Err(NoModel::Port(error)) => {
                tracing::error!(%error, "a model could not be looked up for a hook");
                return Err(
                    "the server could not look up a model; the server's log has the reason".to_owned()
                );
            }
        };
        let seat = self.ports.models.seat(setup.kind);
        let mut request = Request {
            model: setup.name.clone(),
            tools: self.tools.catalogue(),
            system: vec![SystemPart { text: (*system).to_owned(), is_static: false }],
            messages: vec![Message::user((*text).to_owned()).into()],
            reminder: None,
            max_tokens: JUDGE_TOKENS.min(setup.reply_tokens),
            thinking_tokens: None,
        };
        let rounds = if *reads { JUDGE_ROUNDS } else { 1 };
        let mut calls_left = JUDGE_CALLS;
        for round in 1..=rounds {
            if round == rounds && *reads {
                request.reminder = Some("Answer now, without another tool call.".to_owned());
            }
            let estimate = Estimate::of(&setup, tokens::of_request(&request), request.max_tokens, None);
            let hold = self.hooks.hold(self.turn(), estimate).await?;
            let patience = self.ports.models.patience();
            let reply = call(&setup.model, &request, &mut Draft::default(), patience, &seat, |_| {}).await;
            let reply = reply.map_err(|error| format!("the hook's model did not answer: {error}"))?;
            if let Err(error) = self.ports.journal.spend(setup.spent(reply.usage)).await {
                tracing::error!(%error, "the cost of a hook could not be recorded");
                return Err("the server could not record the cost of the hook's model; the server's log has the reason".to_owned());
            }
            // The cost is on record: the calls below may take long, and another request may wait for this one.
            drop(hold);
            if matches!(reply.stop, Stop::MaxTokens | Stop::ContextFull) {
                return Err(format!(
                    "the answer of the hook's model is longer than {} tokens; ask for a shorter one",
                    request.max_tokens
                ));
            }
            let calls = reply.message.tool_calls.clone();
            if calls.is_empty() || self.tools.is_empty() {
                return Ok(reply.message.text);
            }
            request.messages.push(Message::Assistant(reply.message).into());
            for call in calls {
                let result = match calls_left {
                    0 => {
                        Err(format!("a hook's agent may make at most {JUDGE_CALLS} calls; shorten its task"))
                    }
                    _ => self.call(&call).await,
                };
                calls_left = calls_left.saturating_sub(1);
                let is_error = result.is_err();
                let mut text = result.unwrap_or_else(|why| why);
                if text.len() > JUDGE_RESULT_BYTES {
                    text.truncate(text.floor_char_boundary(JUDGE_RESULT_BYTES));
                    text.push_str("\n[the rest is left out]");
                }
                let content = vec![Content::Text(text)];
                request
                    .messages
                    .push(Message::Tool(ToolResult { call_id: call.id, content, is_error }).into());
            }
        }
        Err(format!("the hook's agent gave no answer within {rounds} rounds; shorten its task"))
    }

    /// The turn that it costs.
    fn turn(&self) -> HookedTurn<'_> {
        let Question { user, root, chat, turn, .. } = *self.question;
        HookedTurn { user, chat, root, turn }
    }

    /// The result of a call; an error is a text for the model as well.
    async fn call(&self, call: &ToolCall) -> Result<String, String> {
        let Question { user, chat, root, turn, .. } = *self.question;
        let understood = self.tools.understand(call)?;
        if understood.access() != Access::Read {
            return Err("a hook's agent can only read files".to_owned());
        }
        permitted(&self.ports, &call.name, understood.subject()).await?;
        let (host, cancelled) = (Reader { ports: &self.ports, tool: &call.name }, CancellationToken::new());
        let context = ToolContext {
            host: &host,
            user,
            caller: ToolCaller::Agent(AgentTurn { chat, root, turn, call: None, is_taken_up: false }),
            cancelled: &cancelled,
            is_plan: true,
            approval: None,
            bound: Bound::default(),
        };
        match understood.run(&context, &mut |_| {}).await {
            Ok(Outcome { text, is_error: false, .. }) => Ok(text),
            Ok(Outcome { text, .. }) => Err(text),
            Err(failure) => Err(failure.to_string()),
        }
    }
}

/// The services for a call of a tool that only reads.
struct Reader<'a> {
    ports: &'a Ports,
    tool: &'a str,
}

impl Host for Reader<'_> {
    fn sandbox(&self) -> BoxFuture<'_, Result<Sandbox, Failure>> {
        self.ports.workplace.sandbox()
    }

    fn hidden<'a>(&'a self, base: &'a str, paths: &'a [String]) -> BoxFuture<'a, Result<Vec<bool>, Failure>> {
        Box::pin(async move { Ok(self.ports.permissions.hidden(self.tool, base, paths).await?) })
    }

    fn ask<'a>(
        &'a self,
        _question: &'a agent::tool::Question,
    ) -> BoxFuture<'a, Result<Option<String>, Failure>> {
        Box::pin(async { Ok(None) })
    }

    fn sample(&self, _request: SampleRequest) -> BoxFuture<'_, Result<Sampled, Failure>> {
        Box::pin(async { Err(Failure::Message("a hook's agent can only read files".to_owned())) })
    }

    fn delegate<'a>(&'a self, _request: DelegationRequest<'a>) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(async { Err(Failure::Message("a hook's agent can only read files".to_owned())) })
    }

    fn is_at_work(&self, _sub_agent: &ChatId) -> bool {
        false
    }
}
