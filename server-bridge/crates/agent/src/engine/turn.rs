//! One turn: a message of a user, and all that a model does about it.
//!
//! ```text
//!   begin ─▶ ask ──no calls──▶ done
//!             ▲  └──calls──▶ run them ─┐        cancelled, failed: at any point, with what was done so far kept
//!             └────────────────────────┘
//! ```

mod approve;
mod ask;
mod room;
mod run_tools;

use std::sync::Arc;

use llm::{Reply, Request, Stop, SystemPart, Usage};
use sandbox::Wish;
use store::{ChatId, TurnStatus, TurnUsage, User};
use tokio_util::sync::CancellationToken;

use super::show::{Screen, UsageDocument};
use super::{AgentDocument, ModelSetup, prompt};
use crate::context::Conversation;
use crate::limits::{REPLY_WINDOW_SHARE, TURN_ITERATIONS};
use crate::place::{self, sandbox_user};
use crate::service::Inner;
use crate::tools;
pub(super) use room::compress_now;

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
    /// The provider says that the conversation is too long; in its words.
    TooLong(String),
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
    /// How often it compressed because the window was full.
    forced: usize,
}

impl Progress {
    /// Adds what a request took; the same for the store.
    fn took(&mut self, setup: &ModelSetup, usage: Usage) -> TurnUsage {
        let cost_micros = setup.price.cost_micros(usage);
        self.usage = self.usage.plus(usage);
        self.cost_micros += cost_micros;
        TurnUsage {
            input_tokens: usage.input_tokens.cast_signed(),
            cache_read_tokens: usage.cache_read_tokens.cast_signed(),
            cache_write_tokens: usage.cache_write_tokens.cast_signed(),
            output_tokens: usage.output_tokens.cast_signed(),
            cost_micros: cost_micros.cast_signed(),
        }
    }
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
            Err(End::Failed(error) | End::TooLong(error)) => (TurnStatus::Failed, Some(error)),
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
        let conversation = &mut tokio::select! {
            conversation = self.conversation(setup, &wish) => conversation?,
            () = self.cancelled.cancelled() => return Err(End::Cancelled),
        };
        for _ in 0..TURN_ITERATIONS {
            self.make_room(setup, conversation, progress).await?;
            let reply = self.ask_within(setup, conversation, progress).await?;
            let is_full = reply.stop == Stop::ContextFull;
            if !is_full && self.ends_with(&reply)? {
                return Ok(());
            }
            let calls = &reply.message.tool_calls;
            self.run_tools(calls, is_full || reply.stop == Stop::MaxTokens, &wish, conversation).await?;
            self.look_around(calls, &wish, conversation).await?;
            if is_full {
                self.go_on_with_less(&reply, setup, conversation, progress).await?;
            }
        }
        Err(End::Failed(format!("it stopped after {TURN_ITERATIONS} rounds; say anything to let it go on")))
    }

    /// All that was said, in front of what the model is told of where it works and may do there.
    async fn conversation(&self, setup: &ModelSetup, wish: &Wish) -> Result<Conversation, End> {
        let (system, tools) = self.surroundings(wish).await;
        let stored = self.service.store.stored_context(self.user.id, self.chat, self.waiting.turn).await?;
        let mut conversation = Conversation::new(request(setup, system, tools), setup.window_tokens, stored);
        self.look_for_news(wish, &mut conversation).await?;
        Ok(conversation)
    }

    /// What the model is told of where it works, and what it may do there.
    async fn surroundings(&self, wish: &Wish) -> (Vec<SystemPart>, Vec<llm::Tool>) {
        let found = match self.service.router.for_user(&sandbox_user(self.user), wish).await {
            Ok(sandbox) => prompt::system(&sandbox).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match found {
            Ok(system) => (system, tools::catalogue()),
            Err(why) => (prompt::without_machine(&why), Vec::new()),
        }
    }

    /// Whether nothing is left to do behind an answer.
    fn ends_with(&self, reply: &Reply) -> Result<bool, End> {
        match &reply.stop {
            Stop::Refused => Err(End::Failed("the model does not want to answer that".to_owned())),
            Stop::MaxTokens if reply.message.tool_calls.is_empty() => {
                Err(End::Failed("the answer was cut off at its longest; say \"go on\"".to_owned()))
            }
            Stop::End | Stop::ToolCalls | Stop::MaxTokens | Stop::ContextFull | Stop::Other(_) => {
                Ok(reply.message.tool_calls.is_empty())
            }
        }
    }
}

/// What is asked, but for the messages.
fn request(setup: &ModelSetup, system: Vec<SystemPart>, tools: Vec<llm::Tool>) -> Request {
    Request {
        model: setup.name.clone(),
        tools,
        system,
        messages: Vec::new(),
        reminder: None,
        max_tokens: setup.reply_tokens.min(setup.window_tokens / REPLY_WINDOW_SHARE).max(1),
        thinking_tokens: setup.thinking_tokens,
    }
}

fn log(told: store::Result<()>) {
    if let Err(error) = told {
        tracing::error!(%error, "the end of a turn cannot be kept; the next start of the server tells it");
    }
}
