//! One turn: a message of a user, and all that a model does about it.
//!
//! ```text
//!   begin ─▶ ask ──no calls──▶ done
//!             ▲  └──calls──▶ run them ─┐        cancelled, failed: at any point, with what was done so far kept
//!             └────────────────────────┘
//! ```

mod approve;
mod ask;
mod run_tools;

use std::sync::Arc;

use llm::{Message, Reply, Request, Stop, SystemPart, Usage};
use sandbox::Wish;
use store::{ChatId, TurnStatus, User};
use tokio_util::sync::CancellationToken;

use super::show::{Screen, UsageDocument};
use super::{AgentDocument, ModelSetup, history, prompt};
use crate::limits::TURN_ITERATIONS;
use crate::place::{self, sandbox_user};
use crate::service::Inner;
use crate::tools;

use super::queue::Waiting;

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
        reminder: None,
        max_tokens: setup.reply_tokens,
        thinking_tokens: setup.thinking_tokens,
    }
}

fn log(told: store::Result<()>) {
    if let Err(error) = told {
        tracing::error!(%error, "the end of a turn cannot be kept; the next start of the server tells it");
    }
}
