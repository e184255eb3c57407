//! What happens to the screen, and what it wants done.

use api::chat::{ChatView, CommandView, MessagePage, NewMessage, PostedView};
use api::model::ModelList;
use api::runner::RunnerView;
use api::settings::{SettingsChanged, SettingsView};
use api::turn::{ApprovalAnswer, QuestionAnswer};
use api::words::Approval;
use ratatui::crossterm::event::KeyEvent;

use super::wire::Told;
use crate::failure::Failure;
use crate::http::Client;
use crate::limits::{OLDER_MESSAGES, SHOWN_MESSAGES};
use crate::routes::Page;

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
    Done(Effect, Result<Answer, Failure>),
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

/// What the server answered.
#[derive(Debug)]
pub(super) enum Answer {
    /// That it is done, and nothing else of interest.
    Done,
    Chats(Vec<ChatView>),
    Places(SettingsView, Vec<RunnerView>),
    Commands(Vec<CommandView>),
    Models(ModelList),
    Messages(MessagePage),
    Posted(PostedView),
    /// How much was told to stop.
    Cancelled(usize),
    /// A new chat.
    Chat(ChatView),
    /// Where work goes now.
    Place(SettingsChanged),
    /// The message that was taken back.
    Undone(String),
}

/// Does it at the server, and gives the answer.
pub(super) async fn perform(client: &mut Client, effect: &Effect) -> Result<Answer, Failure> {
    Ok(match effect {
        Effect::LoadPlaces => Answer::Places(client.settings().await?, client.runners().await?),
        Effect::LoadCommands => Answer::Commands(client.commands().await?),
        Effect::LoadChats => Answer::Chats(client.chats().await?),
        Effect::LoadModels { chat } => Answer::Models(client.models(Some(chat)).await?),
        Effect::LoadMessages { chat, .. } => {
            Answer::Messages(client.messages(chat, Page::Newest, SHOWN_MESSAGES).await?)
        }
        Effect::LoadFrom { chat, first, .. } => {
            Answer::Messages(client.messages(chat, Page::After(first - 1), SHOWN_MESSAGES).await?)
        }
        Effect::LoadOlder { chat, before } => {
            Answer::Messages(client.messages(chat, Page::Before(*before), OLDER_MESSAGES).await?)
        }
        Effect::Post { chat, text, send_id } => {
            let (text, send_id) = (text.clone(), Some(send_id.clone()));
            let message = NewMessage { text, send_id, ..NewMessage::default() };
            Answer::Posted(client.say(chat, &message).await?)
        }
        &Effect::Approve { ref chat, message, allow, always } => {
            let answer = ApprovalAnswer { message_id: message, allow, always, nobody: false };
            client.approve(chat, &answer).await?;
            Answer::Done
        }
        Effect::Answer { chat, message, text } => {
            let answer = QuestionAnswer { message_id: *message, text: text.clone() };
            client.answer(chat, &answer).await?;
            Answer::Done
        }
        Effect::Cancel { chat } => Answer::Cancelled(client.cancel_chat(chat).await?.cancelled),
        Effect::NewChat => Answer::Chat(client.empty_chat().await?),
        Effect::Fork { chat } => Answer::Chat(client.fork_chat(chat).await?),
        Effect::Rename { chat, title } => {
            client.rename_chat(chat, title.clone()).await?;
            Answer::Done
        }
        Effect::Delete { chat } => {
            client.delete_chat(chat).await?;
            Answer::Done
        }
        Effect::Use { place } => Answer::Place(client.use_place(place.clone()).await?),
        Effect::SetMode { chat, mode } => {
            client.set_approval(chat, mode.clone()).await?;
            Answer::Done
        }
        Effect::SetModel { chat, model } => {
            client.choose_chat_model(chat, model.clone()).await?;
            Answer::Done
        }
        Effect::Undo { chat, force } => Answer::Undone(client.undo(chat, *force).await?.text),
        // These are done here, not there.
        Effect::Remember { .. } | Effect::Reconnect | Effect::Redraw | Effect::Quit => Answer::Done,
    })
}
