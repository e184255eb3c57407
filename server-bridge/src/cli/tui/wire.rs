//! What a server tells, in types; every text in it is made fit to be shown as it comes in.

use agent::{AgentDocument, ExecDocument};
use serde::Deserialize;
use serde_json::Value;

use super::text::{one_line, visible};

/// A conversation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
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
pub(super) fn told(event: &Value) -> Option<Told> {
    let word = |key: &str| event[key].as_str().unwrap_or_default();
    Some(match word("type") {
        "message" => Told::Message(Box::new(message(&event["message"])?)),
        "output" => Told::Output {
            chat: word("chat_id").to_owned(),
            message: event["message_id"].as_i64()?,
            channel: word("channel").to_owned(),
            text: word("text").to_owned(),
        },
        "chat" => Told::Chat(chat(&event["chat"])?),
        "chat_removed" => Told::ChatRemoved(word("id").to_owned()),
        "runner" | "runner_removed" | "settings" => Told::Places,
        "notice" => Told::Notice { is_warning: word("level") == "warning", text: visible(word("text")) },
        "lagged" => Told::Lagged,
        _ => return None,
    })
}

/// Reads a message.
pub(super) fn message(value: &Value) -> Option<Message> {
    let role = match value["role"].as_str()? {
        "user" => Role::User,
        "exec" => Role::Exec,
        "notice" => Role::Notice,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    Some(Message {
        id: value["id"].as_i64()?,
        chat: value["chat_id"].as_str()?.to_owned(),
        role,
        text: value["text"].as_str().unwrap_or_default().to_owned(),
        created_at: value["created_at"].as_i64().unwrap_or_default(),
        // A document of a newer server that cannot be read leaves the message's text.
        exec: ExecDocument::deserialize(&value["exec"]).ok(),
        agent: AgentDocument::deserialize(&value["agent"]).ok(),
        undone: value["undone"] == true,
    })
}

/// Reads messages.
pub(super) fn messages(list: &Value) -> Vec<Message> {
    list.as_array().into_iter().flatten().filter_map(message).collect()
}

/// Reads a chat.
pub(super) fn chat(value: &Value) -> Option<Chat> {
    let chat = Chat::deserialize(value).ok()?;
    Some(Chat { title: one_line(&chat.title), runner: chat.runner.as_deref().map(one_line), ..chat })
}

/// Reads chats.
pub(super) fn chats(list: &Value) -> Vec<Chat> {
    list.as_array().into_iter().flatten().filter_map(chat).collect()
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
