//! One turn: a message of a user, and all that a model does about it.
//!
//! ```text
//!   begin ─▶ ask ──no calls──▶ done
//!             ▲  └──calls──▶ run them ─┐        cancelled, failed: at any point, with what was done so far kept
//!             └────────────────────────┘
//! ```

mod approve;
mod ask;

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use llm::{Content, Message, Reply, Request, Stop, SystemPart, ToolCall, ToolResult, Usage};
use sandbox::Wish;
use store::{ChatId, MessageId, TurnStatus, TurnUsage, User};
use tokio_util::sync::CancellationToken;

use super::show::{Output, Screen, UsageDocument, shortened};
use super::{AgentDocument, ModelSetup, history, offload, prompt, tools_of_reply};
use crate::limits::{APPROVAL_DETAIL_BYTES, TOOL_NAME_CHARS, TOOLS_AT_ONCE, TURN_ITERATIONS};
use crate::place::{self, sandbox_user};
use crate::service::Inner;
use crate::tools::{self, Call, Failure, Outcome, Workshop};

use super::queue::Waiting;
use crate::approval::{Asking, Mode, Verdict, verdict};

/// What a turn works with.
pub(super) struct Turn<'a> {
    pub(super) service: &'a Arc<Inner>,
    pub(super) user: &'a User,
    pub(super) chat: &'a ChatId,
    pub(super) waiting: Waiting,
    /// Its user wants it to stop.
    pub(super) cancelled: &'a CancellationToken,
}

/// Why a turn ends before the model has said all.
enum End {
    Cancelled,
    /// For the user to read.
    Failed(String),
    /// The chat is gone, or the store fails.
    Store(store::Error),
}

impl From<store::Error> for End {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}

/// What came of it so far.
#[derive(Default)]
struct Progress {
    /// What the message that stands for the turn shows.
    text: String,
    reasoning: String,
    has_first: bool,
    usage: Usage,
    cost_micros: u64,
}

/// What the model is told that wants to change something where nothing is to be changed.
const PLAN_MODE: &str = "This chat is in plan mode: nothing is changed";

/// What the user is told of a turn that the server's end cut off.
const INTERRUPTED: &str =
    "the server was stopped amid this answer; what was done so far is kept. Say anything to go on.";

/// Ends a turn that a server's end cut off.
pub(super) async fn interrupted(
    service: &Arc<Inner>,
    user: &User,
    chat: &ChatId,
    waiting: Waiting,
) -> store::Result<()> {
    service.store.finish_turn(waiting.turn, TurnStatus::Interrupted, Some(INTERRUPTED)).await?;
    let shown = service.store.message(user.id, waiting.message).await?;
    let document = document(TurnStatus::Interrupted, String::new(), Some(INTERRUPTED.to_owned()), None);
    let screen = Screen { service, user, chat };
    screen.settle_behind(shown.id).await?;
    screen.change(shown.id, &shown.text, &document).await
}

fn document(
    status: TurnStatus,
    reasoning: String,
    error: Option<String>,
    usage: Option<UsageDocument>,
) -> AgentDocument {
    AgentDocument::Reply { status: status.as_str().to_owned(), reasoning, error, usage }
}

impl Turn<'_> {
    /// Runs it to its end, which is kept and shown.
    pub(super) async fn run(&self) {
        let mut progress = Progress::default();
        let end = tokio::select! {
            end = self.attempt(&mut progress) => end,
            () = self.service.stop.cancelled() => {
                let told = interrupted(self.service, self.user, self.chat, self.waiting).await;
                return log(told);
            }
        };
        let (status, error) = match end {
            Ok(()) => (TurnStatus::Done, None),
            Err(End::Cancelled) => (TurnStatus::Cancelled, None),
            Err(End::Failed(error)) => (TurnStatus::Failed, Some(error)),
            Err(End::Store(error)) => {
                tracing::error!(%error, turn = %self.waiting.turn, "a turn ends: the store fails, or its chat is gone");
                (
                    TurnStatus::Failed,
                    Some("the server could not keep what was said; its log says why".to_owned()),
                )
            }
        };
        log(self.finish(progress, status, error).await);
    }

    async fn finish(
        &self,
        progress: Progress,
        status: TurnStatus,
        error: Option<String>,
    ) -> store::Result<()> {
        self.service.store.finish_turn(self.waiting.turn, status, error.as_deref()).await?;
        let Progress { text, reasoning, usage, cost_micros, .. } = progress;
        let usage = UsageDocument {
            input_tokens: usage.input_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            output_tokens: usage.output_tokens,
            cost_micros,
        };
        let document = document(status, reasoning, error, Some(usage));
        if status != TurnStatus::Done {
            self.screen().settle_behind(self.waiting.message).await?;
        }
        self.screen().change(self.waiting.message, &text, &document).await
    }

    fn screen(&self) -> Screen<'_> {
        Screen { service: self.service, user: self.user, chat: self.chat }
    }

    async fn attempt(&self, progress: &mut Progress) -> Result<(), End> {
        let (service, turn) = (self.service, self.waiting.turn);
        let Some(setup) = &service.engine.model else {
            return Err(End::Failed("no model is set up any more; see the server's settings".to_owned()));
        };
        if self.cancelled.is_cancelled() {
            return Err(End::Cancelled);
        }
        if !service.store.begin_turn(turn, &setup.name).await? {
            return Err(End::Failed("it was ended elsewhere".to_owned()));
        }
        self.screen().change(self.waiting.message, "", &AgentDocument::reply(TurnStatus::Running)).await?;
        let wish = place::wish(&service.store, self.user.id, Some(self.chat)).await?;
        let (system, tools) = tokio::select! {
            found = self.surroundings(&wish) => found?,
            () = self.cancelled.cancelled() => return Err(End::Cancelled),
        };
        let items = service.store.turn_items(self.user.id, self.chat, turn).await?;
        let messages = history::from_items(&items);
        let request = &mut request(setup, system, tools, messages);
        for _ in 0..TURN_ITERATIONS {
            let reply = self.ask(setup, request, progress).await?;
            if self.ends_with(&reply)? {
                return Ok(());
            }
            let calls = reply.message.tool_calls.clone();
            request.messages.push(Message::Assistant(reply.message));
            self.run_tools(&calls, reply.stop == Stop::MaxTokens, &wish, &mut request.messages).await?;
        }
        Err(End::Failed(format!("it stopped after {TURN_ITERATIONS} rounds; say anything to let it go on")))
    }

    /// What the model is told of where it works, and what it may do there.
    async fn surroundings(&self, wish: &Wish) -> Result<(Vec<SystemPart>, Vec<llm::Tool>), End> {
        let cwd = self.service.store.chat_cwd(self.user.id, self.chat).await?;
        let found = match self.service.router.for_user(&sandbox_user(self.user), wish).await {
            Ok(sandbox) => prompt::system(&sandbox, &cwd).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        Ok(match found {
            Ok(system) => (system, tools::catalogue()),
            Err(why) => (prompt::without_machine(&why), Vec::new()),
        })
    }

    /// Whether nothing is left to do behind an answer.
    fn ends_with(&self, reply: &Reply) -> Result<bool, End> {
        match &reply.stop {
            Stop::ContextFull => Err(End::Failed(
                "the conversation fills the model's window; begin a new one with /new".to_owned(),
            )),
            Stop::Refused => Err(End::Failed("the model does not want to answer that".to_owned())),
            Stop::MaxTokens if reply.message.tool_calls.is_empty() => {
                Err(End::Failed("the answer was cut off at its longest; say \"go on\"".to_owned()))
            }
            Stop::End | Stop::ToolCalls | Stop::MaxTokens | Stop::Other(_) => {
                Ok(reply.message.tool_calls.is_empty())
            }
        }
    }

    /// Runs the calls of one answer, and adds what they came to.
    async fn run_tools(
        &self,
        calls: &[ToolCall],
        is_cut: bool,
        wish: &Wish,
        messages: &mut Vec<Message>,
    ) -> Result<(), End> {
        let parsed: Vec<Result<Call, String>> = calls
            .iter()
            .enumerate()
            // The last one was being written when the tokens ran out.
            .map(|(at, call)| match (is_cut && at + 1 == calls.len(), Call::parse(call)) {
                (true, Err(_)) => {
                    Err("the answer was cut off within this call; write less at once".to_owned())
                }
                (_, parsed) => parsed,
            })
            .collect();
        let reads: Vec<bool> =
            parsed.iter().map(|call| call.as_ref().is_ok_and(Call::is_read_only)).collect();
        let mut parsed = parsed.into_iter();
        for group in tools_of_reply::groups(&reads) {
            // Shown in the order of the calls, however they end.
            let mut cards = Vec::with_capacity(group.len());
            for call in group.map(|at| calls[at].clone()) {
                let parsed = parsed.next().expect("there is one for each call");
                cards.push(self.begin_tool(call, parsed, wish).await?);
            }
            let running = cards.into_iter().map(|card| self.run_tool(card, wish));
            // To the end before anything else is awaited: what is not polled may hold the store's only writer.
            let results: Vec<_> = stream::iter(running).buffered(TOOLS_AT_ONCE).collect().await;
            let mut failure = None;
            for result in results {
                let (result, stops) = result?;
                let item = history::to_json(&Message::Tool(result.clone()));
                self.service.store.append_turn_item(self.waiting.turn, &item, TurnUsage::default()).await?;
                messages.push(Message::Tool(result));
                failure = failure.or(stops);
            }
            if let Some(failure) = failure {
                return Err(failure);
            }
            if self.cancelled.is_cancelled() {
                return Err(End::Cancelled);
            }
        }
        Ok(())
    }

    /// Shows a call that is about to begin, and asks for what it needs to be asked for.
    async fn begin_tool(
        &self,
        call: ToolCall,
        parsed: Result<Call, String>,
        wish: &Wish,
    ) -> Result<Card, End> {
        let place = self.service.router.check(&sandbox_user(self.user), wish).ok();
        let place = place.map(|target| target.name().to_owned());
        let mode = self.mode().await?;
        let subject = match &parsed {
            Ok(parsed) => self.subject(parsed, place.as_deref()).await?,
            Err(_) => String::new(),
        };
        let mut parsed = parsed;
        let mut verdict = Verdict::Allowed;
        if let Ok(known) = &parsed {
            verdict = self.verdict(mode, &call, known, &subject).await?;
            if verdict == Verdict::Asks && known.detail().len() > APPROVAL_DETAIL_BYTES {
                verdict = Verdict::Allowed;
                parsed = Err("this is too long to be shown to the user, who has to allow it; do it in parts"
                    .to_owned());
            }
        }
        let mut card =
            Card { call, parsed, place, mode, subject, verdict, message: MessageId(0), asking: None };
        let begins = if verdict == Verdict::Asks { "asking" } else { "running" };
        let message = self.screen().keep("", &card.document(begins)).await?;
        card.message = message.id;
        // Before anybody is told, so that no answer comes too soon.
        card.asking =
            (verdict == Verdict::Asks).then(|| self.service.engine.questions.ask(self.user.id, message.id));
        self.screen().tell(&message);
        Ok(card)
    }

    /// Runs one call and shows it; what it came to, and why the turn ends with it if it does.
    async fn run_tool(&self, mut card: Card, wish: &Wish) -> Result<(ToolResult, Option<End>), End> {
        let asking = card.asking.take();
        let Card { call, parsed, verdict, message, .. } = &card;
        let (verdict, message) = (*verdict, *message);
        let denied = match (verdict, parsed) {
            (Verdict::Asks, Ok(_)) => self.answered(call, &card.subject, asking).await?,
            (Verdict::Denied, _) => Some(Outcome::denied(PLAN_MODE)),
            (Verdict::Asks | Verdict::Allowed, _) => None,
        };
        if verdict == Verdict::Asks && denied.is_none() {
            self.screen().change(message, "", &card.document("running")).await?;
        }
        let output = Output::new(self.screen(), message);
        let (outcome, stops) = match (denied, parsed) {
            (Some(denied), _) => (denied, self.cancelled.is_cancelled().then_some(End::Cancelled)),
            (None, Ok(parsed)) => {
                let mut live = |text: &str| output.push(text);
                tokio::select! {
                    done = self.outcome(parsed, wish, card.mode, &mut live) => done?,
                    never = output.tell() => match never {},
                }
            }
            (None, Err(why)) => (Outcome::failed(why), None),
        };
        let status = match (&stops, outcome.is_error) {
            (Some(End::Cancelled), _) => "cancelled",
            _ if outcome.is_denied => "denied",
            (_, true) => "failed",
            (_, false) => "done",
        };
        self.screen().change(message, &shortened(&outcome.text), &card.document(status)).await?;
        let text = offload::kept(&self.service.store, self.user.id, self.chat, &outcome).await?;
        let content = vec![Content::Text(text)];
        Ok((ToolResult { call_id: call.id.clone(), content, is_error: outcome.is_error }, stops))
    }

    async fn outcome(
        &self,
        call: &Call,
        wish: &Wish,
        begun: Mode,
        live: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(Outcome, Option<End>), End> {
        let Self { service, user, chat, cancelled, .. } = *self;
        let now = self.mode().await?;
        if verdict(now, call.access()) == Verdict::Denied {
            return Ok((Outcome::denied(PLAN_MODE), None));
        }
        let is_plan = begun == Mode::Plan || now == Mode::Plan;
        let workshop = Workshop { service, user, chat, wish, cancelled, is_plan };
        let done = tokio::select! {
            done = call.run(&workshop, live) => done,
            // A command is ended and waited for by its own tool.
            () = cancelled.cancelled(), if !matches!(call, Call::Shell(_)) => {
                return Ok((Outcome::failed("cancelled by the user"), Some(End::Cancelled)));
            }
        };
        match done {
            Ok(outcome) => Ok((outcome, cancelled.is_cancelled().then_some(End::Cancelled))),
            Err(Failure::Told(why)) => Ok((Outcome::failed(&why), None)),
            Err(Failure::Away(why)) => {
                let end =
                    End::Failed(format!("{why}; the turn ends here. Say anything to go on when it is back."));
                Ok((Outcome::failed(&why), Some(end)))
            }
            Err(Failure::Store(error)) => Err(error.into()),
        }
    }
}

/// A call that is shown, and about to begin.
struct Card {
    call: ToolCall,
    parsed: Result<Call, String>,
    place: Option<String>,
    /// How much could be done without asking when it was looked at.
    mode: Mode,
    /// What is allowed for good where its user says so.
    subject: String,
    verdict: Verdict,
    message: MessageId,
    asking: Option<Asking>,
}

impl Card {
    fn document(&self, status: &str) -> AgentDocument {
        AgentDocument::Tool {
            tool: self.call.name.chars().take(TOOL_NAME_CHARS).collect(),
            hint: self.parsed.as_ref().map(Call::hint).unwrap_or_default(),
            status: status.to_owned(),
            place: self.place.clone(),
            detail: match &self.parsed {
                Ok(parsed) if status == "asking" => parsed.detail(),
                _ => String::new(),
            },
        }
    }
}

/// What is asked first; later rounds add to its messages alone.
fn request(
    setup: &ModelSetup,
    system: Vec<SystemPart>,
    tools: Vec<llm::Tool>,
    messages: Vec<Message>,
) -> Request {
    Request {
        model: setup.name.clone(),
        tools,
        system,
        messages,
        max_tokens: setup.reply_tokens,
        thinking_tokens: setup.thinking_tokens,
    }
}

fn log(told: store::Result<()>) {
    if let Err(error) = told {
        tracing::error!(%error, "the end of a turn cannot be kept; the next start of the server tells it");
    }
}
