//! What happens to the screen, and what it wants done.

use api::words::Approval;
use hyper::Method;
use ratatui::crossterm::event::KeyEvent;
use serde_json::{Value, json};

use super::wire::Told;
use crate::failure::Failure;
use crate::http::{Client, percent_encoded};
use crate::limits::{OLDER_MESSAGES, SHOWN_MESSAGES};

/// One thing that happened.
pub(super) enum Event {
    /// A key.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// The wheel was turned, lines downwards.
    Wheel(i32),
    /// Ctrl-C from elsewhere.
    Interrupt,
    /// Time passed, or the terminal has another size.
    Tick,
    /// The server is there and tells events from now on.
    Connected {
        /// Whether none of those since it was there last are missing.
        is_whole: bool,
    },
    /// It is not, or not any more.
    Lost {
        /// Why, and what to do.
        why: String,
        /// When it is tried again, in milliseconds from now.
        retry_ms: u64,
    },
    /// It is not, and will not be again: what to say and to do.
    Ended(String),
    /// The server told something.
    Told(Told),
    /// Something that was wanted is done, or failed.
    Done(Effect, Result<Value, Failure>),
}

/// Something to be done at the server.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    /// Read the list of chats.
    LoadChats,
    /// Read where work could go.
    LoadPlaces,
    /// Read what can be written into a chat besides messages.
    LoadCommands,
    /// Read which models there are, and which one answers in the chat.
    LoadModels { chat: String },
    /// Read the newest messages; `asked` is the transcript's clock.
    LoadMessages { chat: String, asked: u64 },
    /// Read messages from one on.
    LoadFrom { chat: String, first: i64, asked: u64 },
    /// Read messages before one.
    LoadOlder { chat: String, before: i64 },
    /// Say something; what is said again under the same `send_id` is said once.
    Post { chat: String, text: String, send_id: String },
    /// Let a tool go on, or not.
    Approve { chat: String, message: i64, allow: bool, always: bool },
    /// Answer a question; none means that there is no answer.
    Answer { chat: String, message: i64, text: Option<String> },
    /// Cancel what runs.
    Cancel { chat: String },
    /// Begin a chat.
    NewChat,
    /// Go on with a chat as two.
    Fork { chat: String },
    /// Give a chat another title.
    Rename { chat: String, title: String },
    /// Delete a chat.
    Delete { chat: String },
    /// Choose where work goes.
    Use { place: Option<String> },
    /// Say how much may be done without asking.
    SetMode { chat: String, mode: Approval },
    /// Choose the chat's model.
    SetModel { chat: String, model: Option<String> },
    /// Take back the last message.
    Undo { chat: String, force: bool },
    /// Remember the chat for the next start.
    Remember { chat: String },
    /// Try to reach the server now, if it is away.
    Reconnect,
    /// Draw everything anew.
    Redraw,
    /// End.
    Quit,
}

/// Does it at the server, and gives the answer.
pub(super) async fn perform(client: &mut Client, effect: &Effect) -> Result<Value, Failure> {
    let of_chat = |chat: &str, what: &str| format!("/api/v1/chats/{}{what}", percent_encoded(chat));
    let (method, path, body) = match effect {
        Effect::LoadPlaces => {
            let settings = client.get("/api/v1/settings").await?;
            let runners = client.get("/api/v1/runners").await?;
            return Ok(json!({"settings": settings, "runners": runners}));
        }
        Effect::LoadCommands => (Method::GET, "/api/v1/commands".to_owned(), json!({})),
        Effect::LoadChats => (Method::GET, "/api/v1/chats".to_owned(), json!({})),
        Effect::LoadModels { chat } => {
            (Method::GET, format!("/api/v1/models?chat={}", percent_encoded(chat)), json!({}))
        }
        Effect::LoadMessages { chat, .. } => {
            (Method::GET, of_chat(chat, &format!("/messages?limit={SHOWN_MESSAGES}")), json!({}))
        }
        Effect::LoadFrom { chat, first, .. } => {
            let query = format!("/messages?after={}&limit={SHOWN_MESSAGES}", first - 1);
            (Method::GET, of_chat(chat, &query), json!({}))
        }
        Effect::LoadOlder { chat, before } => {
            let query = format!("/messages?before={before}&limit={OLDER_MESSAGES}");
            (Method::GET, of_chat(chat, &query), json!({}))
        }
        Effect::Post { chat, text, send_id } => {
            (Method::POST, of_chat(chat, "/messages"), json!({"text": text, "send_id": send_id}))
        }
        Effect::Approve { chat, message, allow, always } => (
            Method::POST,
            of_chat(chat, "/approvals"),
            json!({"message_id": message, "allow": allow, "always": always}),
        ),
        Effect::Answer { chat, message, text } => {
            (Method::POST, of_chat(chat, "/answers"), json!({"message_id": message, "text": text}))
        }
        Effect::Cancel { chat } => (Method::POST, of_chat(chat, "/cancel"), json!({})),
        Effect::NewChat => (Method::POST, "/api/v1/chats".to_owned(), json!({})),
        Effect::Fork { chat } => (Method::POST, of_chat(chat, "/fork"), json!({})),
        Effect::Rename { chat, title } => (Method::PUT, of_chat(chat, ""), json!({"title": title})),
        Effect::Delete { chat } => (Method::DELETE, of_chat(chat, ""), json!({})),
        Effect::Use { place } => {
            (Method::PUT, "/api/v1/settings".to_owned(), json!({"active_runner": place}))
        }
        Effect::SetMode { chat, mode } => {
            (Method::PUT, of_chat(chat, "/approval"), json!({"mode": mode.as_str()}))
        }
        Effect::SetModel { chat, model } => (Method::PUT, of_chat(chat, "/model"), json!({"model": model})),
        Effect::Undo { chat, force } => (Method::POST, of_chat(chat, "/undo"), json!({"force": force})),
        // These are done here, not there.
        Effect::Remember { .. } | Effect::Reconnect | Effect::Redraw | Effect::Quit => {
            return Ok(Value::Null);
        }
    };
    match method {
        Method::GET => client.get(&path).await,
        Method::PUT => client.put(&path, &body).await,
        Method::DELETE => client.delete(&path).await,
        _ => client.post(&path, &body).await,
    }
}
