//! One message and all its effects.

use std::collections::BTreeSet;

use api::chat::{MessageView, NewMessage, PostedView};
use api::document::{AgentDocument, ExecDocument, ToolData};
use api::event::Event;
use api::words::{Approval, Channel, ExecStatus, Role, ToolStatus, TurnStatus};
use tokio::signal::unix::Signal;

use super::asking::{Answer, Answers, Asking, Questions};
use super::catch_up::{self, Live, Pages};
use super::printer::Printer;
use super::sessions;
use crate::events::Events;
use crate::failure::{self, Failure};
use crate::http::Client;
use crate::session::Session;

/// The chat to continue.
pub(super) enum Which {
    /// The chat that was used here last, or a new one.
    Used,
    /// A new chat.
    New,
    /// The most recently active chat, here or elsewhere.
    Last,
    /// The chat whose id begins with this.
    Id(String),
}

/// The chat being talked to.
pub(super) struct Conversation {
    session: Session,
    client: Client,
    chat: String,
    printer: Printer,
}

impl Conversation {
    /// Continues a chat, or begins a new one.
    pub(super) async fn open(session: Session, which: Which, printer: Printer) -> Result<Self, Failure> {
        let client = Client::new(&session)?;
        let used = session.login().and_then(|login| login.chat.clone());
        let mut conversation = Self { session, client, chat: String::new(), printer };
        let found = match which {
            Which::Used => used,
            Which::New => None,
            Which::Last => Some(sessions::last(&mut conversation.client).await?),
            Which::Id(id) => Some(sessions::find(&mut conversation.client, &id).await?),
        };
        match found {
            Some(chat) => conversation.switch_to(&chat)?,
            None => conversation.begin().await?,
        }
        Ok(conversation)
    }

    /// The session and the chat, for the full-screen chat to continue.
    pub(super) fn into_parts(self) -> (Session, String) {
        (self.session, self.chat)
    }

    /// Sends a message, prints its effects, and returns the matching exit code. The first Ctrl-C cancels it, a second one
    /// stops waiting for that.
    pub(super) async fn say(
        &mut self,
        text: &str,
        ctrl_c: &mut Signal,
        answers: &mut Answers,
    ) -> Result<u8, Failure> {
        // Starts to listen before it sends the message, so that no event is missed.
        let mut events = tokio::select! {
            events = Events::open(&self.session) => events?,
            _ = ctrl_c.recv() => return Ok(failure::INTERRUPTED),
        };
        let Some((answer, mut wants_cancel)) = self.post_through(text, ctrl_c).await? else {
            return Ok(failure::INTERRUPTED);
        };
        let first = answer.messages.first().map_or(0, |message| message.id);
        let mut turn = Turn::new(&mut self.printer, &self.chat);
        for message in &answer.messages {
            turn.take_message(message, true);
        }
        let mut is_cancelled = false;
        while !turn.pending.is_empty() {
            if let Some(answer) = turn.questions.ask(turn.printer, answers) {
                send(&mut self.client, &self.chat, answer).await?;
                continue;
            }
            if wants_cancel && !is_cancelled {
                is_cancelled = true;
                tokio::select! {
                    cancelled = self.client.cancel_chat(&self.chat) => {
                        cancelled.map_err(Failure::into_not_run)?;
                    }
                    _ = ctrl_c.recv() => return Ok(failure::INTERRUPTED),
                }
            }
            tokio::select! {
                line = turn.questions.line(answers) => {
                    if let Some(answer) = turn.questions.answered(line) {
                        send(&mut self.client, &self.chat, answer).await?;
                    }
                }
                // The command's outcome is unknown once its events stop.
                event = events.next() => match event.map_err(|failure| catch_up::lost(failure, &self.chat))? {
                    Event::Lagged => {
                        turn.printer.lagged();
                        turn.live.miss();
                        let mut pages = Pages::from(&mut self.client, &self.chat, first);
                        while let Some(page) = pages.next().await.map_err(Failure::into_not_run)? {
                            page.iter().for_each(|message| turn.take_message(message, false));
                        }
                    }
                    event => turn.take_event(&event),
                },
                _ = ctrl_c.recv() => {
                    if is_cancelled {
                        return Ok(failure::INTERRUPTED);
                    }
                    wants_cancel = true;
                }
            }
        }
        if let Some(text) = &answer.input {
            turn.printer.input(text);
        }
        let mut code = turn.code;
        if let Some(kind) = &answer.error {
            let last = answer.messages.last();
            turn.printer.refused(kind, last.map_or("", |message| message.text.as_str()));
            code = failure::FAILED;
        }
        if let Some(chat) = &answer.chat {
            self.switch_to(&chat.id)?;
        }
        self.printer.done(&self.chat, code);
        Ok(code)
    }

    /// Sets the approval mode from now on.
    pub(super) async fn set_approval(&mut self, mode: &Approval) -> Result<(), Failure> {
        match self.client.set_approval(&self.chat, mode.clone()).await {
            // The chat used last was deleted elsewhere.
            Err(failure) if failure.kind == "not_found" => {
                self.begin().await?;
                self.client.set_approval(&self.chat, mode.clone()).await.map(drop)
            }
            set => set.map(drop),
        }
    }

    /// Posts a message, and waits for the server's response even after Ctrl-C, since the server may have begun the command already. Returns
    /// the response, and true if Ctrl-C was pressed meanwhile; `None` if it was pressed twice.
    async fn post_through(
        &mut self,
        text: &str,
        ctrl_c: &mut Signal,
    ) -> Result<Option<(PostedView, bool)>, Failure> {
        let mut posting = std::pin::pin!(self.post_somewhere(text));
        let mut wants_cancel = false;
        loop {
            tokio::select! {
                answer = &mut posting => return Ok(Some((answer?, wants_cancel))),
                _ = ctrl_c.recv() => {
                    if wants_cancel {
                        return Ok(None);
                    }
                    wants_cancel = true;
                }
            }
        }
    }

    async fn post_somewhere(&mut self, text: &str) -> Result<PostedView, Failure> {
        match self.post(text).await {
            // The chat used last was deleted elsewhere.
            Err(failure) if failure.kind == "not_found" => {
                self.begin().await?;
                self.post(text).await
            }
            answer => answer,
        }
    }

    async fn post(&mut self, text: &str) -> Result<PostedView, Failure> {
        let message = NewMessage { text: text.to_owned(), ..NewMessage::default() };
        self.client.say(&self.chat, &message).await
    }

    async fn begin(&mut self) -> Result<(), Failure> {
        let chat = self.client.new_chat().await?;
        self.switch_to(&chat.id)
    }

    fn switch_to(&mut self, chat: &str) -> Result<(), Failure> {
        chat.clone_into(&mut self.chat);
        self.session.remember_chat(chat)
    }
}

/// Sends an answer to a model's question.
async fn send(client: &mut Client, chat: &str, answer: Answer) -> Result<(), Failure> {
    let sent = match &answer {
        Answer::Approval(answer) => client.approve(chat, answer).await,
        Answer::Question(answer) => client.answer(chat, answer).await,
    };
    match sent {
        // Another client was faster.
        Err(failure) if ["not_found", "conflict"].contains(&failure.kind.as_str()) => Ok(()),
        sent => sent.map_err(Failure::into_not_run),
    }
}

/// The parts of a message that are still awaited.
struct Turn<'a> {
    printer: &'a mut Printer,
    chat: &'a str,
    /// Running commands, and the running answer.
    pending: BTreeSet<i64>,
    /// The message that represents a model's answer.
    answer: Option<i64>,
    /// True if that answer has begun.
    has_begun: bool,
    /// The tools that the answer called.
    tools: BTreeSet<i64>,
    /// Those of these tools that have ended.
    ended_tools: BTreeSet<i64>,
    noticed: BTreeSet<i64>,
    /// The tools that wait for an answer, and what they want to do.
    questions: Questions,
    live: Live,
    code: u8,
}

impl<'a> Turn<'a> {
    fn new(printer: &'a mut Printer, chat: &'a str) -> Self {
        let empty = BTreeSet::new;
        let (pending, tools, ended_tools, noticed) = (empty(), empty(), empty(), empty());
        let questions = Questions::default();
        Self {
            printer,
            chat,
            pending,
            answer: None,
            has_begun: false,
            tools,
            ended_tools,
            noticed,
            questions,
            live: Live::default(),
            code: 0,
        }
    }

    /// Takes the current state of a message. `is_answer` is true for messages that the server returned for the post.
    fn take_message(&mut self, message: &MessageView, is_answer: bool) {
        match (&message.role, &message.agent) {
            (Role::Exec, _) => self.take_exec(message, is_answer),
            (Role::Assistant, Some(reply @ AgentDocument::Reply { .. })) => {
                self.take_reply(message, reply, is_answer);
            }
            (Role::Assistant, Some(tool @ AgentDocument::Tool { .. })) if self.follows(message) => {
                self.take_tool(message, tool);
            }
            (Role::Assistant, _) if is_answer => self.printer.text(&message.text),
            (Role::Notice, _) if is_answer || self.follows(message) && self.noticed.insert(message.id) => {
                self.printer.notice(&message.text);
            }
            _ => {}
        }
    }

    /// True if a message belongs to the awaited answer.
    fn follows(&self, message: &MessageView) -> bool {
        // Until it begins, live output belongs to the answer before it.
        let is_own = self.answer == Some(message.id);
        message.chat_id == self.chat
            && (is_own || self.has_begun && self.answer.is_some_and(|answer| message.id > answer))
    }

    fn take_exec(&mut self, message: &MessageView, is_answer: bool) {
        let (id, none) = (message.id, ExecDocument::default());
        // A command that cannot be read counts as ended: waiting for its end could take forever.
        let exec = message.exec.as_ref().unwrap_or(&none);
        let is_running = exec.status == ExecStatus::Running;
        if is_answer {
            self.printer.exec_started(id, exec);
            self.pending.insert(id);
        } else if is_running && self.pending.contains(&id) {
            self.printer.exec_waits(exec);
        }
        if !is_running && self.pending.remove(&id) {
            self.printer.exec_ended(exec, message);
            self.code = exit_code(exec);
        }
    }

    /// Takes a message of the model. The first message of an answer represents the whole answer.
    fn take_reply(&mut self, message: &MessageView, reply: &AgentDocument, is_answer: bool) {
        let AgentDocument::Reply { status, error, usage, waits, .. } = reply else { return };
        let id = message.id;
        if is_answer {
            self.answer = Some(id);
            self.pending.insert(id);
        }
        if !self.follows(message) {
            return;
        }
        self.has_begun |= self.answer == Some(id) && (*status != TurnStatus::Queued || *waits);
        self.printer.reply(id, &message.text);
        let is_open = matches!(status, TurnStatus::Queued | TurnStatus::Running);
        if !is_open && self.answer == Some(id) && self.pending.remove(&id) {
            self.printer.reply_ended(status, error.as_deref(), usage.as_ref());
            self.code = answer_code(status);
        }
    }

    fn take_tool(&mut self, message: &MessageView, document: &AgentDocument) {
        let AgentDocument::Tool { tool, hint, status, place, detail, approval, data, sub_agent, .. } =
            document
        else {
            return;
        };
        let id = message.id;
        if self.tools.insert(id) {
            self.printer.tool_started(id, tool, hint, place.as_deref());
        }
        if let Some(sub_agent) = sub_agent {
            self.printer.agent_does(id, sub_agent);
        }
        if *status == ToolStatus::Asking && !self.ended_tools.contains(&id) {
            let asking = Asking { tool: tool.clone(), detail: detail.clone(), data: data.clone() };
            self.printer.asked(id, &asking, approval.as_deref(), place.as_deref());
            self.questions.add(id, asking);
        } else {
            self.questions.settle(id);
        }
        if !matches!(status, ToolStatus::Asking | ToolStatus::Running) && self.ended_tools.insert(id) {
            let card = match data {
                Some(ToolData::Card { card }) => Some(&**card),
                _ => None,
            };
            self.printer.tool_ended(id, tool, status, &message.text, card);
        }
    }

    fn take_event(&mut self, event: &Event) {
        match event {
            Event::Message { message } => {
                self.live.told(message);
                self.take_message(message, false);
            }
            Event::ChatRemoved { id } if id == self.chat => {
                self.pending.clear();
                self.code = failure::FAILED;
            }
            Event::Output { chat_id, message_id: id, channel, text, .. } => {
                let is_later = self.has_begun && self.answer.is_some_and(|answer| *id > answer);
                let is_ours = self.pending.contains(id) || is_later;
                if !is_ours || chat_id != self.chat || self.ended_tools.contains(id) {
                    return;
                }
                if matches!(channel, Channel::Text | Channel::Reasoning) && !self.live.is_whole(*id) {
                    return;
                }
                self.printer.output(*id, channel, text);
            }
            _ => {}
        }
    }
}

/// The exit code for a model's answer.
fn answer_code(status: &TurnStatus) -> u8 {
    match status {
        TurnStatus::Done => 0,
        TurnStatus::Cancelled => failure::INTERRUPTED,
        _ => failure::FAILED,
    }
}

/// The exit code for a command's end.
fn exit_code(exec: &ExecDocument) -> u8 {
    match exec.status {
        ExecStatus::Exited => failure::exit_code(exec.exit_code, None, false, false),
        ExecStatus::Signaled => failure::exit_code(None, exec.signal, false, false),
        ExecStatus::TimedOut => failure::TIMED_OUT,
        ExecStatus::Cancelled => failure::INTERRUPTED,
        _ => failure::NOT_RUN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commands_end_becomes_the_exit_code() {
        for (status, exit_code_of, signal, code) in [
            ("exited", Some(3), None, 3),
            ("signaled", None, Some(9), 137),
            ("timed_out", None, Some(15), 124),
            ("cancelled", None, None, 130),
            ("failed", None, None, 125),
            ("lost", None, None, 125),
            ("vanished", None, None, 125),
        ] {
            let status = status.into();
            let exec = ExecDocument { status, exit_code: exit_code_of, signal, ..ExecDocument::default() };
            assert_eq!(exit_code(&exec), code, "{}", exec.status);
        }
    }
}
