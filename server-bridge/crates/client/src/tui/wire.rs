//! The server's documents, as types; every text in them is made safe to show when it arrives.

use api::chat::{ChatView, CommandView, MessageView};
use api::document::{AgentDocument, ExecDocument};
use api::event::Event;
use api::runner::RunnerView;
use api::settings::ChoiceView;
use api::tui::{ClientId, TuiAction};
use api::words::{self, Level};

use super::text::{one_line, visible};

/// A conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Chat {
    pub(super) id: String,
    pub(super) title: String,
    /// The place that it is bound to, regardless of the active runner.
    pub(super) runner: Option<String>,
    /// The time of its latest activity, in Unix milliseconds.
    pub(super) updated_at: i64,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Exec,
    Notice,
    Assistant,
}

/// A message in its current state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) id: i64,
    pub(super) chat: String,
    pub(super) role: Role,
    /// The text. The output of a command still has to be made safe before it is shown.
    pub(super) text: String,
    /// When it was created, in Unix milliseconds.
    pub(super) created_at: i64,
    pub(super) exec: Option<ExecDocument>,
    pub(super) agent: Option<AgentDocument>,
    pub(super) undone: bool,
}

/// A registered machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Runner {
    pub(super) name: String,
    pub(super) online: bool,
    pub(super) profile: Option<String>,
}

/// An action that an agent asks a terminal for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Control {
    /// The terminal that is asked.
    pub(super) client: ClientId,
    /// The id of the call.
    pub(super) call: String,
    /// The chat whose agent asks.
    pub(super) chat: String,
    pub(super) action: TuiAction,
}

/// One event.
#[derive(Debug, PartialEq)]
pub(super) enum ServerNews {
    /// A message is new or changed.
    Message(Box<Message>),
    /// Output of a command, or text of a model.
    Output { chat: String, message: i64, channel: String, text: String },
    /// A chat is new or changed.
    Chat(Chat),
    /// A chat was deleted.
    ChatRemoved(String),
    /// A runner, or the active place, changed.
    Places,
    /// Something the user should know.
    Notice { is_warning: bool, text: String },
    /// An agent asks a terminal for an action.
    Control(Box<Control>),
    /// Something in this group changed.
    Group(i64),
    /// The client was too slow, and missed some events.
    Lagged,
}

/// Reads an event; `None` for an unknown one.
pub(super) fn told(event: Event) -> Option<ServerNews> {
    Some(match event {
        Event::Message { message: view } => ServerNews::Message(Box::new(message(*view)?)),
        Event::Output { chat_id, message_id, channel, text, .. } => {
            ServerNews::Output { chat: chat_id, message: message_id, channel: channel.to_string(), text }
        }
        Event::Chat { chat: view } => ServerNews::Chat(chat(view)),
        Event::ChatRemoved { id } => ServerNews::ChatRemoved(id),
        Event::Runner { .. } | Event::RunnerRemoved { .. } | Event::Settings { .. } => ServerNews::Places,
        Event::Notice { level, text } => {
            ServerNews::Notice { is_warning: level == Level::Warning, text: visible(&text) }
        }
        Event::TuiControl { client_id: client, call_id: call, chat_id: chat, action } => {
            let action = match action {
                TuiAction::OpenChat { chat_id } => TuiAction::OpenChat { chat_id: one_line(&chat_id) },
                TuiAction::Write { text } => TuiAction::Write { text: visible(&text) },
                action => action,
            };
            ServerNews::Control(Box::new(Control { client, call, chat, action }))
        }
        Event::Group { id } => ServerNews::Group(id),
        Event::Lagged => ServerNews::Lagged,
        Event::Hello { .. } | Event::Reset | Event::ServerSettings { .. } | Event::Unknown => return None,
    })
}

/// Reads a message; `None` for an unknown author.
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

/// Reads messages; those of unknown authors are skipped.
pub(super) fn messages(views: Vec<MessageView>) -> Vec<Message> {
    views.into_iter().filter_map(message).collect()
}

/// Reads a chat.
pub(super) fn chat(view: ChatView) -> Chat {
    let ChatView { id, title, runner, updated_at, .. } = view;
    Chat { id, title: one_line(&title), runner: runner.as_deref().map(one_line), updated_at }
}

/// Reads chats.
pub(super) fn chats(views: Vec<ChatView>) -> Vec<Chat> {
    views.into_iter().map(chat).collect()
}

/// Reads the slash commands.
pub(super) fn commands(views: Vec<CommandView>) -> Vec<CommandView> {
    let command = |CommandView { word, usage, about }| CommandView {
        word: one_line(&word),
        usage: one_line(&usage),
        about: one_line(&about),
    };
    views.into_iter().map(command).collect()
}

/// Reads the places where commands could run.
pub(super) fn choices(views: Vec<ChoiceView>) -> Vec<ChoiceView> {
    let choice = |view: ChoiceView| ChoiceView {
        name: one_line(&view.name),
        note: view.note.as_deref().map(one_line),
        ..view
    };
    views.into_iter().map(choice).collect()
}

/// Reads the runners.
pub(super) fn runners(views: Vec<RunnerView>) -> Vec<Runner> {
    let runner = |RunnerView { name, online, profile, .. }| Runner {
        name: one_line(&name),
        online,
        profile: profile.as_deref().map(one_line),
    };
    views.into_iter().map(runner).collect()
}
