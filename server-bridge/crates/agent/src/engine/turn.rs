//! One turn: a message of a user, and everything a model does in response.
//!
//! ```text
//!   begin ─▶ ask ──no calls──▶ done
//!             ▲  └──calls──▶ run them ─┐        cancelled, failed: at any point, with what was done so far kept
//!             └────────────────────────┘
//! ```
//! A turn that is cut off when a server ends stays on record as it is, and the next run of the server resumes it: see `go_on`.

mod approve;
mod ask;
mod before;
mod go_on;
mod hold;
mod host;
mod judge;
mod model;
mod output;
mod room;
mod run_tools;
mod sample;

use std::sync::Mutex;

use llm::{Content, Message, Reply, Request, Stop, SystemPart, Usage};
use records::{ChatId, MessageId, Spent, TurnId, TurnStatus, User};
use sandbox::Sandbox;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::agents::TurnAncestry;
use super::pipeline::{self, PartError, Prompt, PromptContext, PromptParts};
use super::ports::{Begins, Change, Display, Entry, Ports, ReplyState, TurnEnd};
use crate::approval::Mode;
use crate::context::{ContextMode, Conversation};
use crate::hooks::{HookedTurn, Hooks, Place, Words};
use crate::limits::{REPLY_WINDOW_SHARE, STOPS_DENIED};
use crate::models::{ModelChain, ModelSetup};
use crate::tool::{Failure, TurnCost, deferred};
use crate::{Cause, PortError};
use ask::Shown;
use run_tools::Calls;

/// The inputs of a turn.
pub struct Turn<'a> {
    /// The interface to everything around the turn.
    pub ports: &'a Ports,
    /// The parts of the turn's prompt.
    pub parts: &'a PromptParts,
    /// The hooks that the turn runs.
    pub hooks: &'a Hooks,
    /// The user whose agent answers.
    pub user: &'a User,
    /// The chat that the turn belongs to.
    pub chat: &'a ChatId,
    /// The turn's id.
    pub turn: TurnId,
    /// The message that shows the turn's first answer.
    pub message: MessageId,
    /// Cancelled when the turn's user stops it.
    pub cancelled: &'a CancellationToken,
    /// Cancelled when the server stops.
    pub stop: &'a CancellationToken,
    /// The turns above this turn, and the permissions it inherits.
    pub ancestry: &'a TurnAncestry,
    /// The layers that change the conversation automatically.
    pub context: ContextMode,
}

/// The surroundings of a turn at its beginning.
struct Setting {
    conversation: Conversation,
    /// The note for the model, with the next message.
    note: String,
    /// The reason why no machine can be reached, if none can.
    away: Option<String>,
}

/// The reason why a turn ends before the model is done.
enum End {
    Cancelled,
    /// The cause, and an error for the user to read.
    Failed(Cause, String),
    /// The model did not answer; another one may.
    NotAnswered(llm::Error),
    /// The provider reports, with this message, that the conversation is too long.
    TooLong(String),
    /// The chat was deleted, or the store fails.
    Port(PortError),
}

impl From<PortError> for End {
    fn from(error: PortError) -> Self {
        Self::Port(error)
    }
}

/// The turn's progress so far.
#[derive(Default)]
struct Progress {
    /// The text of the message that represents the turn.
    text: String,
    reasoning: String,
    has_first: bool,
    /// The message of an answer that was discarded; the next answer is shown there.
    void: Option<MessageId>,
    /// The answer in progress, in the form that is shown.
    shown: Option<Shown>,
    /// The model's last text.
    words: Option<String>,
    /// The number of answers on record.
    answers: usize,
    usage: Usage,
    cost_micros: u64,
    /// The number of compressions that were forced because the window was full.
    forced: usize,
}

impl Progress {
    /// Adds the cost of a request; returns the same cost for the store.
    fn took<'a>(&mut self, setup: &'a ModelSetup, usage: Usage) -> Spent<'a> {
        self.usage = self.usage.plus(usage);
        self.cost_micros += setup.price.cost_micros(usage);
        setup.spent(usage)
    }

    /// Takes the last tool result of the conversation as the turn's answer.
    fn relayed(&mut self, conversation: &Conversation) {
        // Notes of hooks may follow the result.
        let mut messages = conversation.items().iter().rev().map(|item| &item.message);
        if let Some(Message::Tool(result)) = messages.find(|message| matches!(message, Message::Tool(_))) {
            self.text = result.content.iter().filter_map(Content::text).collect::<Vec<_>>().join("\n");
            self.words = Some(self.text.clone());
        }
    }

    /// Stores the model's text, if it has any.
    fn said(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.words = Some(text.to_owned());
        }
    }
}

/// The error for a model that wants to change something in plan mode.
const PLAN_MODE: &str = "This chat is in plan mode: nothing is changed";

/// The error for a call of a turn that its user stopped.
const CANCELLED: &str = "Cancelled by the user";

impl Turn<'_> {
    /// Runs the turn to its end, which is stored and shown. `None` if the server stops before the end: the turn stays on record as it is,
    /// for the server's next run.
    pub async fn run(self) -> Option<TurnEnd> {
        let mut progress = Progress::default();
        let mut chain = self.chain().await;
        if let Ok(found) = &chain {
            match self.is_admitted(found).await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(end) => chain = Err(end),
            }
        }
        let end = tokio::select! {
            end = self.attempt(chain, &mut progress) => end,
            () = self.stop.cancelled() => return None,
        };
        let (status, failure) = self.status(end);
        let (cause, error) = failure.unzip();
        let cost = TurnCost { usage: progress.usage, cost_micros: progress.cost_micros };
        let words = progress.words.take();
        log(self.finish(progress, status, error.as_deref(), cost).await);
        self.hooks.at(self.hooked(), Place::TurnEnds { status, error: error.as_deref(), cause }).await;
        Some(TurnEnd { status, error, cost, words })
    }

    /// The turn's status; if it failed, with the cause and the reason.
    fn status(&self, end: Result<(), End>) -> (TurnStatus, Option<(Cause, String)>) {
        let failed = |cause: Cause, why: String| (TurnStatus::Failed, Some((cause, why)));
        match end {
            Ok(()) => (TurnStatus::Done, None),
            Err(End::Cancelled) => (TurnStatus::Cancelled, None),
            Err(End::Failed(cause, why)) => failed(cause, why),
            Err(End::TooLong(why)) => failed(Cause::ContextTooLong, why),
            Err(End::NotAnswered(error)) => failed(Cause::from(&error), error.to_string()),
            Err(End::Port(error)) => {
                tracing::error!(%error, turn = %self.turn, "a turn ended because the store failed or the turn's chat was deleted");
                let told = "the server could not store the conversation; its log says why";
                failed(Cause::Internal, told.to_owned())
            }
        }
    }

    async fn finish(
        &self,
        progress: Progress,
        status: TurnStatus,
        error: Option<&str>,
        cost: TurnCost,
    ) -> crate::PortResult<()> {
        if status != TurnStatus::Done {
            self.display().settle(self.message).await?;
        }
        let state =
            ReplyState { reasoning: &progress.reasoning, error, cost: Some(cost), ..ReplyState::of(status) };
        self.ports.journal.end(self.message, &progress.text, state).await
    }

    /// The rulings of hooks at a place. A cancelled turn does not wait for them, and denies the action that they were asked about.
    async fn words(&self, place: Place<'_>) -> Words {
        tokio::select! {
            biased;
            words = self.hooks.at(self.hooked(), place) => words,
            () = self.cancelled.cancelled() => Words::deny(CANCELLED),
        }
    }

    /// The turn in the form that hooks see.
    fn hooked(&self) -> HookedTurn<'_> {
        let (root, turn) = (self.ancestry.root(), self.turn);
        HookedTurn { user: self.user, chat: self.chat, root, turn }
    }

    fn display(&self) -> &dyn Display {
        &*self.ports.display
    }

    async fn attempt(&self, chain: Result<ModelChain, End>, progress: &mut Progress) -> Result<(), End> {
        let mut chain = chain?;
        if self.cancelled.is_cancelled() {
            return Err(End::Cancelled);
        }
        let left = match self.ports.journal.begin(&chain.setup.name).await? {
            Begins::First => None,
            Begins::Again(left) => Some(*left),
            Begins::Over => {
                return Err(End::Failed(Cause::Unknown, "the turn was ended elsewhere".to_owned()));
            }
        };
        progress.take_up(left.as_ref());
        let state = ReplyState { reasoning: &progress.reasoning, ..ReplyState::of(TurnStatus::Running) };
        self.display().reply(self.message, &progress.text, state).await?;
        if let Some(left) = &left {
            self.wait_for_machine(left).await?;
        }
        let Setting { mut conversation, note, away } = tokio::select! {
            conversation = self.conversation(&chain.setup) => conversation?,
            () = self.cancelled.cancelled() => return Err(End::Cancelled),
        };
        let conversation = &mut conversation;
        let is_relay = left.as_ref().is_some_and(|left| left.is_relay);
        let answers = left.map_or(0, |left| left.answers);
        if answers == 0 && conversation.last_answer(self.turn).is_some() {
            return self.relay(away.as_deref(), conversation, progress).await;
        }
        if answers == 0 {
            self.first_words(note, conversation).await?;
        } else if self.go_on(away.as_deref(), conversation).await? {
            return Ok(());
        } else if is_relay {
            progress.relayed(conversation);
            return Ok(());
        }
        let rounds = self.ancestry.iterations();
        let mut stops_denied = 0;
        for _ in answers..rounds {
            self.hear(conversation).await?;
            self.make_room(&mut chain, conversation, progress).await?;
            let reply = self.ask_within(&mut chain, conversation, progress).await?;
            let is_full = reply.stop == Stop::ContextFull;
            if !is_full && self.ends_with(&reply)? {
                if self.hears_more(conversation).await? {
                    continue;
                }
                let Some(why) = self.stops(&reply.message.text, stops_denied).await? else { return Ok(()) };
                stops_denied += 1;
                self.append(conversation, Entry::Said(Message::user(why))).await?;
                continue;
            }
            let calls = &reply.message.tool_calls;
            let is_cut = is_full || reply.stop == Stop::MaxTokens;
            let answer = conversation.last_item();
            self.run_tools(Calls { answer, calls, is_cut, open: None }, away.as_deref(), conversation)
                .await?;
            self.look_around(calls, conversation).await?;
            if is_full {
                self.go_on_with_less(&reply, &mut chain, conversation, progress).await?;
            }
        }
        let why = format!("the model stopped after {rounds} rounds; send any message to let it continue");
        Err(End::Failed(Cause::MaxAnswers, why))
    }

    /// Carries out the calls that a message of the turn's user stands for, such as a call of a sub-agent. The result of the last one is
    /// the answer, and no model is asked.
    async fn relay(
        &self,
        away: Option<&str>,
        conversation: &mut Conversation,
        progress: &mut Progress,
    ) -> Result<(), End> {
        self.begins(conversation).await?;
        let Some(last) = conversation.last_answer(self.turn) else { return Ok(()) };
        let (answer, calls) = (last.item, last.answer.tool_calls.clone());
        self.run_tools(Calls { answer, calls: &calls, is_cut: false, open: None }, away, conversation)
            .await?;
        progress.relayed(conversation);
        Ok(())
    }

    /// Asks the hooks about the turn, and puts the note before the message that it answers.
    async fn first_words(&self, note: String, conversation: &mut Conversation) -> Result<(), End> {
        let words = self.begins(conversation).await?;
        let note = [vec![note], words.notes].concat().join("\n");
        let note = |messages: &mut [_]| pipeline::put_note(messages, &note).is_some();
        if let Some(noted) = conversation.amend_last(self.turn, note) {
            self.ports.journal.change(Change::Amended(noted.id, &noted.message)).await?;
        }
        Ok(())
    }

    /// Asks the hooks about the turn as it begins, and returns their rulings.
    async fn begins(&self, conversation: &Conversation) -> Result<Words, End> {
        let items = conversation.items();
        let own = items.iter().rev().filter(|item| item.turn == self.turn).map(|item| &item.message);
        let text = own.into_iter().find(|message| matches!(message, Message::User(_))).map(text_of);
        let is_first = items.iter().all(|item| item.turn == self.turn);
        let place = Place::TurnBegins { text: &text.unwrap_or_default(), is_first };
        let mut words = self.words(place).await;
        match words.denied.take() {
            Some(_) if self.cancelled.is_cancelled() => Err(End::Cancelled),
            Some(why) => Err(End::Failed(Cause::Denied, why)),
            None => Ok(words),
        }
    }

    /// Asks the hooks about the end of a model's work; returns the reason why the model is to continue, if it is.
    async fn stops(&self, text: &str, denied: usize) -> Result<Option<String>, End> {
        let place = Place::Stops { text, is_again: denied > 0 };
        let words = self.words(place).await;
        let Some(why) = words.denied else { return Ok(None) };
        if self.cancelled.is_cancelled() {
            return Err(End::Cancelled);
        }
        if denied == STOPS_DENIED {
            let text = format!(
                "⚠️ A hook wants the model to continue, but the model has already done so {STOPS_DENIED} times: {why}"
            );
            self.display().notice(&text).await?;
            return Ok(None);
        }
        self.display().notice(&format!("A hook makes the model continue: {why}")).await?;
        Ok(Some([vec![why], words.notes].concat().join("\n\n")))
    }

    /// The conversation after the system prompt, and the note for the next message.
    async fn conversation(&self, setup: &ModelSetup) -> Result<Setting, End> {
        let (prompt, away) = self.surroundings().await?;
        // Tools are declared even without a machine: the conversation contains calls of them, and providers refuse calls of undeclared tools.
        let tools = self.ancestry.tools().catalogue();
        let stored = self.ports.journal.load().await?;
        let request = request(setup, prompt.system, tools);
        let mut conversation = Conversation::new(request, &setup.origin(), setup.window_tokens, stored);
        conversation.names_documents(prompt.documents);
        let messages = || conversation.items().iter().map(|item| &item.message);
        let mut more = deferred::in_use(messages(), self.ancestry.tools());
        let declared = [&conversation.request().tools[..], &more].concat();
        more.extend(deferred::stubs(messages(), self.ancestry.tools(), &declared));
        conversation.declare(more);
        self.look_for_news(&mut conversation).await?;
        Ok(Setting { conversation, note: prompt.note, away })
    }

    /// The prompt about the place of work, and the reason why there is no machine if there is none.
    async fn surroundings(&self) -> Result<(Prompt, Option<String>), End> {
        let mode = self.ports.permissions.mode().await?;
        let why = match self.ports.workplace.sandbox().await {
            Ok(sandbox) => match self.parts.assemble(&self.context(mode, Ok(&sandbox))).await {
                Ok(prompt) => return Ok((prompt, None)),
                Err(PartError::Port(error)) => return Err(error.into()),
                Err(PartError::Away(error)) => error.to_string(),
            },
            Err(Failure::Port(error)) => return Err(error.into()),
            Err(error) => error.to_string(),
        };
        match self.parts.assemble(&self.context(mode, Err(&why))).await {
            Ok(prompt) => Ok((prompt, Some(why))),
            Err(PartError::Port(error)) => Err(error.into()),
            Err(PartError::Away(error)) => Err(End::Failed(Cause::Machine, error.to_string())),
        }
    }

    fn context<'s>(&'s self, mode: Mode, sandbox: Result<&'s Sandbox, &'s str>) -> PromptContext<'s> {
        let Self { user, chat, ancestry, .. } = *self;
        let (workplace, skills, documents) = (&*self.ports.workplace, OnceCell::new(), Mutex::default());
        PromptContext { user, chat, ancestry, mode, sandbox, workplace, skills, documents }
    }

    /// True if nothing is left to do after an answer.
    fn ends_with(&self, reply: &Reply) -> Result<bool, End> {
        match &reply.stop {
            Stop::Refused => Err(End::Failed(Cause::Refusal, "the model refused to answer that".to_owned())),
            Stop::MaxTokens if reply.message.tool_calls.is_empty() => {
                let why = "the answer was cut off at its maximum length; say \"go on\"";
                Err(End::Failed(Cause::MaxOutputTokens, why.to_owned()))
            }
            Stop::End | Stop::ToolCalls | Stop::MaxTokens | Stop::ContextFull | Stop::Other(_) => {
                Ok(reply.message.tool_calls.is_empty())
            }
        }
    }

    /// Adds the news of background work to the conversation: for a parent, sub-agents that have ended; for a sub-agent, messages to it.
    /// Returns true if there was any.
    async fn hear(&self, conversation: &mut Conversation) -> Result<bool, End> {
        let mut has_heard = false;
        while let Some((item, message)) = self.ports.background.hear().await? {
            conversation.push(item, self.turn, message);
            has_heard = true;
        }
        Ok(has_heard)
    }

    /// True if a sub-agent that is done has another message to read. The chat's own agent reads later news in another turn.
    async fn hears_more(&self, conversation: &mut Conversation) -> Result<bool, End> {
        Ok(self.ancestry.delegation().is_some() && self.hear(conversation).await?)
    }

    /// Adds notes of hooks to the end of the conversation, for the model's next request.
    async fn note(&self, notes: Vec<String>, conversation: &mut Conversation) -> Result<(), End> {
        if notes.is_empty() {
            return Ok(());
        }
        self.append(conversation, Entry::Said(Message::user(notes.join("\n\n")))).await
    }

    /// Records an entry, and then adds it to the conversation.
    async fn append(&self, conversation: &mut Conversation, entry: Entry<'_>) -> Result<(), End> {
        let (item, message) = self.ports.journal.append(entry).await?;
        conversation.push(item, self.turn, message);
        Ok(())
    }
}

/// The text of a user's message.
fn text_of(message: &Message) -> String {
    let Message::User(content) = message else { return String::new() };
    content.iter().filter_map(Content::text).collect::<Vec<_>>().join("\n")
}

/// The request to a model, without messages.
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

/// Directs the same request to another model.
fn aim(request: &mut Request, setup: &ModelSetup) {
    request.model.clone_from(&setup.name);
    request.max_tokens = reply_tokens(setup);
    request.thinking_tokens = setup.thinking_tokens;
}

fn reply_tokens(setup: &ModelSetup) -> u32 {
    setup.reply_tokens.min(setup.window_tokens / REPLY_WINDOW_SHARE).max(1)
}

fn log(told: crate::PortResult<()>) {
    if let Err(error) = told {
        tracing::error!(%error, "the end of a turn cannot be stored; the server resumes the turn at its next start");
    }
}
