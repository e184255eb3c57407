//! Conversations and what is said in them.

use agent::approval::{Answer, Mode};
use agent::{AgentDocument, ExecDocument, Told};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use store::{Chat, ChatId, Message, MessageId};
use utoipa::{IntoParams, ToSchema};

use crate::limits::{CHAT_PAGE_ROWS, MESSAGE_PAGE_MAX_ROWS, MESSAGE_PAGE_ROWS};
use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::hub::Event;

/// A conversation. Times are Unix milliseconds.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChatView {
    id: String,
    title: String,
    /// The place this chat is bound to, whatever the active runner is.
    runner: Option<String>,
    created_at: i64,
    updated_at: i64,
}

/// A message of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct MessageView {
    id: i64,
    chat_id: String,
    /// `user`, `exec`, `notice` or `assistant`.
    role: &'static str,
    text: String,
    /// Unix milliseconds.
    created_at: i64,
    /// For the role `exec`: what ran and how it ended.
    #[schema(value_type = Option<ExecView>)]
    exec: Option<ExecDocument>,
    /// For the role `assistant`: an answer, or a tool that was called; its `kind` says which.
    #[schema(value_type = Option<Object>)]
    agent: Option<AgentDocument>,
    /// Whether it was taken back, and is no part of the conversation any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    undone: bool,
    /// Where messages are asked for: what was told of one under way, as its events told it, and its text does not hold
    /// yet; the newest 256 KiB.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    live: Vec<LiveView>,
}

/// Something that was told of a message under way.
#[derive(Debug, Serialize, ToSchema)]
pub struct LiveView {
    /// `stdout` or `stderr`, `text` or `reasoning`.
    channel: &'static str,
    /// How much was told of the message before, in UTF-16 code units; an `output` event of the message says the same.
    at: u64,
    text: String,
}

/// A command shown in a chat. Describes what `agent` writes; see there.
#[derive(ToSchema)]
#[schema(as = Exec)]
#[expect(dead_code, reason = "only its schema is used: the document itself is the agent's")]
pub struct ExecView {
    exec_id: String,
    command: String,
    /// `running`, `exited`, `signaled`, `timed_out`, `cancelled`, `failed` or `lost`.
    status: String,
    exit_code: Option<i32>,
    signal: Option<i32>,
    duration_ms: Option<u64>,
    runner: Option<String>,
    sandbox_denied: bool,
    truncated: bool,
    stdout_bytes: u64,
    stderr_bytes: u64,
    output_path: Option<String>,
    error: Option<String>,
}

/// Which messages are wanted.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Only messages before this one.
    before: Option<i64>,
    /// Only messages after this one, the first of them; not beside `before`.
    after: Option<i64>,
    /// At most 500; 200 if absent.
    limit: Option<u32>,
}

/// Some messages, the oldest first.
#[derive(Serialize, ToSchema)]
pub struct MessagePage {
    messages: Vec<MessageView>,
    /// Whether there are older ones; where `after` was asked for, newer ones.
    more: bool,
}

/// What the user says.
#[derive(Deserialize, ToSchema)]
pub struct NewMessage {
    /// A message, a slash command, or `!` and a shell command.
    text: String,
}

/// What is known at once; the rest comes as events.
#[derive(Serialize, ToSchema)]
pub struct PostedView {
    messages: Vec<MessageView>,
    /// The conversation to switch to, if the message began one.
    #[serde(skip_serializing_if = "Option::is_none")]
    chat: Option<ChatView>,
    /// Where nothing came of the message: why, for programs; its answer says it in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    /// What a client may put back into its input: the message that was taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
}

/// How many commands were told to stop.
#[derive(Serialize, ToSchema)]
pub struct Cancelled {
    cancelled: usize,
}

/// The caller's conversations, the one where something last happened first.
#[utoipa::path(get, path = "/api/v1/chats", tag = "chats", responses((status = 200, body = [ChatView])))]
pub async fn list(State(state): State<AppState>, caller: Caller) -> Result<Json<Vec<ChatView>>, ApiError> {
    let chats = state.store.chats(caller.user.id, CHAT_PAGE_ROWS).await?;
    Ok(Json(chats.into_iter().map(ChatView::from).collect()))
}

/// Begin a conversation.
#[utoipa::path(post, path = "/api/v1/chats", tag = "chats", responses((status = 201, body = ChatView)))]
pub async fn create(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<(StatusCode, Json<ChatView>), ApiError> {
    let chat = state.store.create_chat(caller.user.id).await?;
    state.hub.publish(caller.user.id, &Event::Chat { chat: chat.clone().into() });
    Ok((StatusCode::CREATED, Json(chat.into())))
}

/// Delete a conversation; what still runs in it is cancelled, commands that went on by themselves too.
#[utoipa::path(delete, path = "/api/v1/chats/{id}", tag = "chats",
    params(("id" = String, Path)), responses((status = 204), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let id = chat_id(&id)?;
    state.chats.delete(&caller.user, &id).await?;
    state.hub.publish(caller.user.id, &Event::ChatRemoved { id: id.to_string() });
    Ok(StatusCode::NO_CONTENT)
}

/// A new title for a conversation.
#[derive(Deserialize, ToSchema)]
pub struct NewTitle {
    /// At most 200 characters.
    title: String,
}

/// Give a conversation a title.
#[utoipa::path(put, path = "/api/v1/chats/{id}", tag = "chats", request_body = NewTitle,
    params(("id" = String, Path)), responses((status = 200, body = ChatView), (status = 404)))]
pub async fn rename(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(wanted): extract::Json<NewTitle>,
) -> Result<Json<ChatView>, ApiError> {
    let title = wanted.title.trim();
    if title.is_empty() {
        return Err(ApiError::invalid("the title is empty; give one"));
    }
    let chat = state.store.rename_chat(caller.user.id, &chat_id(&id)?, title).await?;
    state.hub.publish(caller.user.id, &Event::Chat { chat: chat.clone().into() });
    Ok(Json(chat.into()))
}

/// A conversation's messages, the last ones unless asked otherwise.
#[utoipa::path(get, path = "/api/v1/chats/{id}/messages", tag = "chats",
    params(("id" = String, Path), PageQuery), responses((status = 200, body = MessagePage), (status = 404)))]
pub async fn messages(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Query(page): extract::Query<PageQuery>,
) -> Result<Json<MessagePage>, ApiError> {
    let limit = page.limit.unwrap_or(MESSAGE_PAGE_ROWS).min(MESSAGE_PAGE_MAX_ROWS);
    let (id, before) = (chat_id(&id)?, page.before.map(MessageId));
    let (mut messages, more) = match page.after {
        Some(_) if before.is_some() => {
            return Err(ApiError::invalid("before and after exclude each other; leave one out"));
        }
        Some(after) => state.store.messages_after(caller.user.id, &id, MessageId(after), limit).await?,
        None => state.store.messages(caller.user.id, &id, before, limit).await?,
    };
    state.chats.fill_live(&mut messages);
    let live = |message: Message| MessageView {
        live: state.chats.told(message.id).into_iter().map(LiveView::from).collect(),
        ..message.into()
    };
    Ok(Json(MessagePage { messages: messages.into_iter().map(live).collect(), more }))
}

/// Say something. `!command` runs in the active sandbox; its output comes as events.
#[utoipa::path(post, path = "/api/v1/chats/{id}/messages", tag = "chats", request_body = NewMessage,
    params(("id" = String, Path)), responses((status = 202, body = PostedView), (status = 404)))]
pub async fn post(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(message): extract::Json<NewMessage>,
) -> Result<(StatusCode, Json<PostedView>), ApiError> {
    let posted = state.chats.post(&caller.user, &chat_id(&id)?, &message.text).await?;
    let (error, input) = (posted.error, posted.input);
    let messages = posted.messages.into_iter().map(MessageView::from).collect();
    let chat = posted.chat.map(ChatView::from);
    Ok((StatusCode::ACCEPTED, Json(PostedView { messages, chat, error, input })))
}

/// Cancel what runs in a conversation.
#[utoipa::path(post, path = "/api/v1/chats/{id}/cancel", tag = "chats",
    params(("id" = String, Path)), responses((status = 200, body = Cancelled), (status = 404)))]
pub async fn cancel(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Cancelled>, ApiError> {
    let cancelled = state.chats.cancel(caller.user.id, &chat_id(&id)?).await?;
    Ok(Json(Cancelled { cancelled }))
}

/// An answer to what a model asks.
#[derive(Deserialize, ToSchema)]
pub struct ApprovalAnswer {
    /// The message that shows the tool which waits.
    message_id: i64,
    /// Whether it may go on.
    allow: bool,
    /// Whether it may from now on in this chat: this very command, or every change of a file.
    #[serde(default)]
    always: bool,
}

/// How much a chat's model may do without asking.
#[derive(Deserialize, Serialize, ToSchema)]
pub struct ApprovalMode {
    /// `plan`, `ask`, `auto-edit` or `full`.
    mode: String,
}

/// Answer what a model asks: whether a tool may go on.
#[utoipa::path(post, path = "/api/v1/chats/{id}/approvals", tag = "chats", request_body = ApprovalAnswer,
    params(("id" = String, Path)), responses((status = 204), (status = 404, description = "nothing waits for it")))]
pub async fn approve(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(asked): extract::Json<ApprovalAnswer>,
) -> Result<StatusCode, ApiError> {
    state.store.chat(caller.user.id, &chat_id(&id)?).await?;
    let answer = match (asked.allow, asked.always) {
        (false, _) => Answer::Deny,
        (true, false) => Answer::Allow,
        (true, true) => Answer::AllowForGood,
    };
    let word = if asked.allow { "allow" } else { "deny" };
    if !state.chats.answer(caller.user.id, MessageId(asked.message_id), answer) {
        return Err(ApiError::new("not_found", "nothing waits for this answer any more"));
    }
    state
        .audit(Some(&caller.user.name), "approval", None, &format!("message {}", asked.message_id), word)
        .await;
    Ok(StatusCode::NO_CONTENT)
}

/// Say how much a chat's model may do without asking.
#[utoipa::path(put, path = "/api/v1/chats/{id}/approval", tag = "chats", request_body = ApprovalMode,
    params(("id" = String, Path)), responses((status = 200, body = ApprovalMode), (status = 404)))]
pub async fn set_approval(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(wanted): extract::Json<ApprovalMode>,
) -> Result<Json<ApprovalMode>, ApiError> {
    let mode: Mode = wanted.mode.parse().map_err(|error| ApiError::invalid(format!("mode {error}")))?;
    state.store.set_approval(caller.user.id, &chat_id(&id)?, mode.as_str()).await?;
    state.audit(Some(&caller.user.name), "approval.mode", None, &id, mode.as_str()).await;
    Ok(Json(ApprovalMode { mode: mode.to_string() }))
}

/// An id that is none is nobody's chat.
pub(super) fn chat_id(text: &str) -> Result<ChatId, ApiError> {
    ChatId::parse(text).map_err(|_| ApiError::new("not_found", "there is no such chat"))
}

impl From<Chat> for ChatView {
    fn from(chat: Chat) -> Self {
        Self {
            id: chat.id.to_string(),
            title: chat.title,
            runner: chat.runner,
            created_at: chat.created_at_ms,
            updated_at: chat.updated_at_ms,
        }
    }
}

impl From<Message> for MessageView {
    fn from(message: Message) -> Self {
        let document = message.exec_json.as_deref();
        Self {
            id: message.id.0,
            chat_id: message.chat.to_string(),
            role: message.role.as_str(),
            text: message.text,
            created_at: message.created_at_ms,
            exec: document.and_then(|json| serde_json::from_str(json).ok()),
            agent: document.and_then(|json| serde_json::from_str(json).ok()),
            undone: message.undone,
            live: Vec::new(),
        }
    }
}

impl From<Told> for LiveView {
    fn from(Told { channel, at, text }: Told) -> Self {
        Self { channel, at, text }
    }
}
