//! The screen's events, and its requests.

use api::chain::{ChainRunView, GateAnswer};
use api::chat::{ChatView, CommandView, MessagePage, NewMessage, PostedView};
use api::group::{GroupCall, GroupEntries, GroupPost, GroupPosted, GroupView};
use api::model::ModelList;
use api::runner::RunnerView;
use api::settings::{SettingsChanged, SettingsView};
use api::tui::{ClientId, TuiAnswer};
use api::turn::{ApprovalAnswer, QuestionAnswer};
use api::words::{Approval, GateReply, TuiState};
use ratatui::crossterm::event::KeyEvent;

use super::text::{cut, one_line};
use super::wire::{Control, ServerNews};
use crate::failure::Failure;
use crate::http::Client;
use crate::limits::{OLDER_MESSAGES, SHOWN_MESSAGES, TUI_ANSWER_CHARS};
use crate::routes::Page;

/// An event that the screen handles.
pub(super) enum Event {
    /// A key.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// The mouse wheel was turned, by this many lines downwards.
    Wheel(i32),
    /// A SIGINT that no key on this terminal caused.
    Interrupt,
    /// Time passed, or the terminal has another size.
    Tick,
    /// The server can be reached and sends events from now on.
    Connected {
        /// True if no event since the earlier connection is missing.
        is_whole: bool,
    },
    /// The server cannot be reached, or the connection to it was lost.
    Lost {
        /// The reason, and what to do.
        why: String,
        /// When this program reconnects, in milliseconds from now.
        retry_ms: u64,
    },
    /// The server has ended and will not return; contains the text for the user.
    Ended(String),
    /// An event of the server.
    Server(ServerNews),
    /// A request is done, or failed.
    Done(Effect, Result<Answer, Failure>),
}

/// A request to the server.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    /// Read the list of chats.
    LoadChats,
    /// Read the places where commands could run.
    LoadPlaces,
    /// Read the commands of a chat.
    LoadCommands,
    /// Read the models, and the chat's current one.
    LoadModels { chat: String },
    /// Read the newest messages; `asked` is the transcript's clock.
    LoadMessages { chat: String, asked: u64 },
    /// Read messages from the given one on.
    LoadFrom { chat: String, first: i64, asked: u64 },
    /// Read messages before the given one.
    LoadOlder { chat: String, before: i64 },
    /// Send a message, written in this terminal; a repetition with the same `send_id` counts once.
    Post { chat: String, text: String, send_id: String, client: ClientId },
    /// Take an action that an agent asks for; it is carried out only if that succeeds.
    TakeControl(Box<Control>),
    /// Report how an action that was taken ended, in words for the agent.
    EndControl { control: Box<Control>, state: TuiState, text: String },
    /// Allow or deny a tool.
    Approve { chat: String, message: i64, allow: bool, always: bool },
    /// Answer a question; `None` means that there is no answer.
    Answer { chat: String, message: i64, text: Option<String> },
    /// Cancel running commands and answers.
    Cancel { chat: String },
    /// Begin a chat.
    NewChat,
    /// Copy a chat, so that both can be continued.
    Fork { chat: String },
    /// Give a chat another title.
    Rename { chat: String, title: String },
    /// Delete a chat.
    Delete { chat: String },
    /// Choose the active place.
    Use { place: Option<String> },
    /// Set the approval mode.
    SetMode { chat: String, mode: Approval },
    /// Choose the chat's model.
    SetModel { chat: String, model: Option<String> },
    /// Take back the last message.
    Undo { chat: String, force: bool },
    /// Read the list of groups.
    LoadGroups,
    /// Read a group: its newest messages, its calls, and the run in progress.
    LoadGroup { group: i64 },
    /// Read messages of a group before the given one.
    LoadOlderEntries { group: i64, before: i64 },
    /// Post to a group; a repetition with the same `send_id` counts once.
    PostToGroup { group: i64, text: String, send_id: String },
    /// Answer a gate.
    AnswerGate { group: i64, gate: i64, reply: GateReply, text: Option<String> },
    /// Remember the chat for the next start.
    Remember { chat: String },
    /// Try to reach the server now, if it cannot be reached.
    Reconnect,
    /// Redraw everything.
    Redraw,
    /// End this program.
    Quit,
}

/// The server's answer.
#[derive(Debug)]
pub(super) enum Answer {
    /// The request is done, without further data.
    Done,
    Chats(Vec<ChatView>),
    Places(SettingsView, Vec<RunnerView>),
    Commands(Vec<CommandView>),
    Models(ModelList),
    Messages(MessagePage),
    Posted(PostedView),
    /// The number of things that were cancelled.
    Cancelled(usize),
    /// A new chat.
    Chat(ChatView),
    /// The place that is active now.
    Place(SettingsChanged),
    /// The message that was taken back.
    Undone(String),
    Groups(Vec<GroupView>),
    Group(Box<GroupNews>),
    Entries(GroupEntries),
    Said(GroupPosted),
}

/// The data that is read about a group at once.
#[derive(Debug)]
pub(super) struct GroupNews {
    pub(super) view: GroupView,
    /// The newest messages.
    pub(super) entries: GroupEntries,
    pub(super) calls: Vec<GroupCall>,
    /// The newest run that has not ended; one that asks a person comes first.
    pub(super) run: Option<ChainRunView>,
}

/// Sends the request to the server, and returns the answer.
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
        Effect::Post { chat, text, send_id, client: own } => {
            let (text, send_id) = (text.clone(), Some(send_id.clone()));
            let message = NewMessage { text, send_id, client_id: Some(*own), ..NewMessage::default() };
            Answer::Posted(client.say(chat, &message).await?)
        }
        Effect::TakeControl(control) => {
            client.answer_tui(&control.chat, &answer_to(control, TuiState::Taken, "")).await?;
            Answer::Done
        }
        Effect::EndControl { control, state, text } => {
            client.answer_tui(&control.chat, &answer_to(control, state.clone(), text)).await?;
            Answer::Done
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
        Effect::LoadGroups => Answer::Groups(client.groups().await?),
        Effect::LoadGroup { group } => Answer::Group(Box::new(group_news(client, *group).await?)),
        Effect::LoadOlderEntries { group, before } => {
            Answer::Entries(client.group_entries(*group, Some(*before), None).await?)
        }
        Effect::PostToGroup { group, text, send_id } => {
            let post = GroupPost { text: text.clone(), send_id: Some(send_id.clone()) };
            Answer::Said(client.post_to_group(*group, &post).await?)
        }
        Effect::AnswerGate { group, gate, reply, text } => {
            let answer = GateAnswer { reply: reply.clone(), text: text.clone() };
            client.answer_gate(*group, *gate, &answer).await?;
            Answer::Done
        }
        // These requests are handled here, not on the server.
        Effect::Remember { .. } | Effect::Reconnect | Effect::Redraw | Effect::Quit => Answer::Done,
    })
}

fn answer_to(control: &Control, state: TuiState, text: &str) -> TuiAnswer {
    let text = cut(&one_line(text), TUI_ANSWER_CHARS);
    TuiAnswer { client_id: control.client, call_id: control.call.clone(), state, text }
}

async fn group_news(client: &mut Client, group: i64) -> Result<GroupNews, Failure> {
    let view = client.group(group).await?;
    let entries = client.group_entries(group, None, None).await?;
    let calls = client.group_calls(group).await?;
    let runs = client.chain_runs(group, None).await?;
    let open = || runs.iter().filter(|run| run.ended_at.is_none());
    let run = match open().find(|run| run.gate.is_some()).or_else(|| open().next()) {
        // The list of runs does not contain the output of steps.
        Some(run) => Some(client.chain_run(group, run.id).await?),
        None => None,
    };
    Ok(GroupNews { view, entries, calls, run })
}
