//! One turn: a message of a user, and all that a model does about it.
//!
//! ```text
//!   begin ─▶ ask ──no calls──▶ done
//!             ▲  └──calls──▶ run them ─┐        cancelled, failed: at any point, with what was done so far kept
//!             └────────────────────────┘
//! ```

mod approve;
mod ask;
mod host;
mod model;
mod room;
mod run_tools;

use std::sync::Arc;

use llm::{Reply, Request, Stop, SystemPart, Usage};
use sandbox::{Sandbox, Wish};
use store::{ChatId, MessageId, TurnStatus, TurnUsage, User};
use tokio_util::sync::CancellationToken;

use super::AgentDocument;
use super::agents::Lineage;
use super::pipeline::{self, PartError, Prompt, Scene};
use super::show::{Screen, UsageDocument};
use crate::approval::Mode;
use crate::context::{Conversation, history};
use crate::limits::REPLY_WINDOW_SHARE;
use crate::models::{Lineup, ModelSetup};
use crate::place::{self, sandbox_user};
use crate::service::Inner;
use crate::tool::gone;
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
    /// What it is beneath, and what that allows it.
    pub(super) lineage: &'a Lineage,
}

/// What a turn begins with.
struct Setting {
    conversation: Conversation,
    /// What the model is to be told with the next message.
    note: String,
    /// Why no machine can be reached, where none can.
    away: Option<String>,
}

/// Why a turn ends before the model has said all.
enum End {
    Cancelled,
    /// For the user to read.
    Failed(String),
    /// The model did not answer; another one may.
    NotAnswered(llm::Error),
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
    /// What shows an answer that came to nothing; the next one is shown there.
    void: Option<MessageId>,
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
    let screen = Screen { service, user, chat, turn: waiting.turn };
    screen.settle_behind(shown.id).await?;
    screen.change(shown.id, &shown.text, &document).await
}

fn document(
    status: TurnStatus,
    reasoning: String,
    error: Option<String>,
    usage: Option<UsageDocument>,
) -> AgentDocument {
    AgentDocument::Reply { status: status.as_str().to_owned(), reasoning, error, usage, waits: false }
}

impl Turn<'_> {
    /// Runs it to its end, which is kept and shown.
    pub(super) async fn run(self) {
        let mut progress = Progress::default();
        let mut lineup = self.lineup().await;
        if let Ok(found) = &lineup {
            match self.is_admitted(found).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(end) => lineup = Err(end),
            }
        }
        let end = tokio::select! {
            end = self.attempt(lineup, &mut progress) => end,
            () = self.service.stop.cancelled() => {
                let told = interrupted(self.service, self.user, self.chat, self.waiting).await;
                return log(told);
            }
        };
        let (status, error) = match end {
            Ok(()) => (TurnStatus::Done, None),
            Err(End::Cancelled) => (TurnStatus::Cancelled, None),
            Err(End::Failed(error) | End::TooLong(error)) => (TurnStatus::Failed, Some(error)),
            Err(End::NotAnswered(error)) => (TurnStatus::Failed, Some(error.to_string())),
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
        Screen { service: self.service, user: self.user, chat: self.chat, turn: self.waiting.turn }
    }

    async fn attempt(&self, lineup: Result<Lineup, End>, progress: &mut Progress) -> Result<(), End> {
        let (service, turn) = (self.service, self.waiting.turn);
        let mut lineup = lineup?;
        if self.cancelled.is_cancelled() {
            return Err(End::Cancelled);
        }
        if !service.store.begin_turn(turn, &lineup.setup.name).await? {
            return Err(End::Failed("it was ended elsewhere".to_owned()));
        }
        self.screen().change(self.waiting.message, "", &AgentDocument::reply(TurnStatus::Running)).await?;
        let wish = match self.lineage.errand() {
            Some(errand) => errand.wish().clone(),
            None => place::wish(&service.store, self.user.id, Some(self.chat)).await?,
        };
        let Setting { mut conversation, note, away } = tokio::select! {
            conversation = self.conversation(&lineup.setup, &wish) => conversation?,
            () = self.cancelled.cancelled() => return Err(End::Cancelled),
        };
        let conversation = &mut conversation;
        let note = |messages: &mut [_]| pipeline::put_note(messages, &note).is_some();
        if let Some(noted) = conversation.amend_last(turn, note) {
            service.store.amend_item(noted.id, &history::to_json(&noted.message)).await?;
        }
        let rounds = self.lineage.iterations();
        for _ in 0..rounds {
            self.make_room(&mut lineup, conversation, progress).await?;
            let reply = self.ask_within(&mut lineup, conversation, progress).await?;
            let is_full = reply.stop == Stop::ContextFull;
            if !is_full && self.ends_with(&reply)? {
                return Ok(());
            }
            let calls = &reply.message.tool_calls;
            let is_cut = is_full || reply.stop == Stop::MaxTokens;
            self.run_tools(calls, is_cut, (&wish, away.as_deref()), conversation).await?;
            self.look_around(calls, &wish, conversation).await?;
            if is_full {
                self.go_on_with_less(&reply, &mut lineup, conversation, progress).await?;
            }
        }
        Err(End::Failed(format!("it stopped after {rounds} rounds; say anything to let it go on")))
    }

    /// All that was said, behind what the model is told of where it works and may do there; and what it is to be told of that
    /// with the next message.
    async fn conversation(&self, setup: &ModelSetup, wish: &Wish) -> Result<Setting, End> {
        let (prompt, away) = self.surroundings(wish).await?;
        // Where there is no machine too: what is said calls them, and providers refuse calls of tools that they are not told of.
        let tools = self.lineage.tools().catalogue();
        let stored = self.service.store.stored_context(self.user.id, self.chat, self.waiting.turn).await?;
        let request = request(setup, prompt.system, tools);
        let mut conversation = Conversation::new(request, &setup.origin(), setup.window_tokens, stored);
        let gone = gone(conversation.items().iter().map(|item| &item.message), self.lineage.tools());
        conversation.declare(gone);
        self.look_for_news(wish, &mut conversation).await?;
        Ok(Setting { conversation, note: prompt.note, away })
    }

    /// What the model is told of where it works, and why there is no machine where there is none.
    async fn surroundings(&self, wish: &Wish) -> Result<(Prompt, Option<String>), End> {
        let mode = self.mode().await?;
        let found = self.service.router.for_user(&sandbox_user(self.user), wish).await;
        let why = match found {
            Ok(sandbox) => match pipeline::assemble(&self.scene(mode, Ok(&sandbox))).await {
                Ok(prompt) => return Ok((prompt, None)),
                Err(PartError::Store(error)) => return Err(error.into()),
                Err(PartError::Away(error)) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        match pipeline::assemble(&self.scene(mode, Err(&why))).await {
            Ok(prompt) => Ok((prompt, Some(why))),
            Err(PartError::Store(error)) => Err(error.into()),
            Err(PartError::Away(error)) => Err(End::Failed(error.to_string())),
        }
    }

    fn scene<'s>(&'s self, mode: Mode, sandbox: Result<&'s Sandbox, &'s str>) -> Scene<'s> {
        let Self { service, user, chat, lineage, .. } = *self;
        Scene { service, user, chat, lineage, mode, sandbox }
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
        max_tokens: reply_tokens(setup),
        thinking_tokens: setup.thinking_tokens,
    }
}

/// Asks another model the same.
fn aim(request: &mut Request, setup: &ModelSetup) {
    request.model.clone_from(&setup.name);
    request.max_tokens = reply_tokens(setup);
    request.thinking_tokens = setup.thinking_tokens;
}

fn reply_tokens(setup: &ModelSetup) -> u32 {
    setup.reply_tokens.min(setup.window_tokens / REPLY_WINDOW_SHARE).max(1)
}

fn log(told: store::Result<()>) {
    if let Err(error) = told {
        tracing::error!(%error, "the end of a turn cannot be kept; the next start of the server tells it");
    }
}
