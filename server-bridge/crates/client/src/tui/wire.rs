//! What a server tells, in types; every text in it is made fit to be shown as it comes in.

use api::chat::{ChatView, CommandView, MessageView};
use api::document::{AgentDocument, ExecDocument};
use api::event::Event;
use api::words::{self, Level};
use serde::Deserialize;
use serde_json::Value;

use super::text::{one_line, visible};

/// A conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Chat {
    pub(super) id: String,
    pub(super) title: String,
    /// The place that it is bound to, whatever the active runner is.
    pub(super) runner: Option<String>,
    /// Unix milliseconds.
    pub(super) updated_at: i64,
}

/// Who said a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Exec,
    Notice,
    Assistant,
}

/// A message as it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) id: i64,
    pub(super) chat: String,
    pub(super) role: Role,
    /// Not yet fit to be shown where it is a command's output.
    pub(super) text: String,
    /// Unix milliseconds.
    pub(super) created_at: i64,
    pub(super) exec: Option<ExecDocument>,
    pub(super) agent: Option<AgentDocument>,
    pub(super) undone: bool,
}

/// A place where work could go.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    pub(super) name: String,
    /// `runner`, `docker` or `none`.
    pub(super) kind: String,
    pub(super) online: bool,
    pub(super) available: bool,
    pub(super) note: Option<String>,
}

/// A registered machine.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Runner {
    pub(super) name: String,
    pub(super) online: bool,
    pub(super) profile: Option<String>,
}

/// One event.
#[derive(Debug, PartialEq)]
pub(super) enum Told {
    /// A message is new or changed.
    Message(Box<Message>),
    /// A command wrote something, or a model said something.
    Output { chat: String, message: i64, channel: String, text: String },
    /// A chat is new or changed.
    Chat(Chat),
    /// A chat was deleted.
    ChatRemoved(String),
    /// A runner, or where work goes, changed.
    Places,
    /// Something the user should know.
    Notice { is_warning: bool, text: String },
    /// Some events were missed.
    Lagged,
}

/// Reads an event; `None` for one that is not known here.
pub(super) fn told(event: Event) -> Option<Told> {
    Some(match event {
        Event::Message { message: view } => Told::Message(Box::new(message(*view)?)),
        Event::Output { chat_id, message_id, channel, text, .. } => {
            Told::Output { chat: chat_id, message: message_id, channel: channel.to_string(), text }
        }
        Event::Chat { chat: view } => Told::Chat(chat(view)),
        Event::ChatRemoved { id } => Told::ChatRemoved(id),
        Event::Runner { .. } | Event::RunnerRemoved { .. } | Event::Settings { .. } => Told::Places,
        Event::Notice { level, text } => {
            Told::Notice { is_warning: level == Level::Warning, text: visible(&text) }
        }
        Event::Lagged => Told::Lagged,
        Event::Hello { .. } | Event::Reset | Event::ServerSettings { .. } | Event::Unknown => return None,
    })
}

/// Reads a message; `None` where its author is not known here.
pub(super) fn message(view: MessageView) -> Option<Message> {
    let role = match view.role {
        words::Role::User => Role::User,
        words::Role::Exec => Role::Exec,
        words::Role::Notice => Role::Notice,
        words::Role::Assistant => Role::Assistant,
        words::Role::Unknown(_) => return None,
    };
    let MessageView { id, chat_id: chat, text, created_at, exec, agent, undone, .. } = view;
    Some(Message { id, chat, role, text, created_at, exec, agent, undone })
}

/// Reads messages.
pub(super) fn messages(list: &Value) -> Vec<Message> {
    let views = list.as_array().into_iter().flatten();
    // What a newer server tells beside is passed over.
    views.filter_map(|view| message(MessageView::deserialize(view).ok()?)).collect()
}

/// Reads a chat.
pub(super) fn chat(view: ChatView) -> Chat {
    let ChatView { id, title, runner, updated_at, .. } = view;
    Chat { id, title: one_line(&title), runner: runner.as_deref().map(one_line), updated_at }
}

/// Reads a chat of an answer; `None` where it holds none.
pub(super) fn chat_of(answer: &Value) -> Option<Chat> {
    ChatView::deserialize(answer).ok().map(chat)
}

/// Reads chats.
pub(super) fn chats(list: &Value) -> Vec<Chat> {
    list.as_array().into_iter().flatten().filter_map(chat_of).collect()
}

/// Reads the slash commands.
pub(super) fn commands(list: &Value) -> Vec<CommandView> {
    let command = |value: &Value| {
        let CommandView { word, usage, about } = CommandView::deserialize(value).ok()?;
        Some(CommandView { word: one_line(&word), usage: one_line(&usage), about: one_line(&about) })
    };
    list.as_array().into_iter().flatten().filter_map(command).collect()
}

/// Reads the places of the settings.
pub(super) fn choices(settings: &Value) -> Vec<Choice> {
    let list = settings["choices"].as_array().into_iter().flatten();
    let choice = |value: &Value| {
        let choice = Choice::deserialize(value).ok()?;
        Some(Choice { name: one_line(&choice.name), note: choice.note.as_deref().map(one_line), ..choice })
    };
    list.filter_map(choice).collect()
}

/// Reads the runners.
pub(super) fn runners(list: &Value) -> Vec<Runner> {
    let runner = |value: &Value| {
        let runner = Runner::deserialize(value).ok()?;
        Some(Runner {
            name: one_line(&runner.name),
            profile: runner.profile.as_deref().map(one_line),
            ..runner
        })
    };
    list.as_array().into_iter().flatten().filter_map(runner).collect()
}
