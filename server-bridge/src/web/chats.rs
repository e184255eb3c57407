//! Conversations and their messages.

use agent::approval::{Answer, Mode};
use agent::ask::Reply;
use api::chat::{
    BoundView, Cancelled, ChatView, FoundView, MessagePage, NewMessage, NewTitle, PostedView, RunnerChoice,
};
use api::turn::{ApprovalAnswer, ApprovalMode};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use chats::{Author, ChatId, Find, Found, MessageId, NewPost, Page, chat_view, message_view, shown_view};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of chats and their messages.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Look, route!(list))
        .add(Access::Full, route!(create))
        .add(Access::Full, route!(remove))
        .add(Access::Full, route!(rename))
        .add(Access::Look, route!(messages))
        .add(Access::Full, route!(post))
        .add(Access::Full, route!(cancel))
        .add(Access::Full, route!(approve))
        .add(Access::Full, route!(set_approval))
        .add(Access::Full, route!(set_runner))
}

/// The filter for conversations.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ChatQuery {
    /// Words, all of them in the title or in one message; 8 at most, each of 64 characters at most. The first 16,384
    /// characters of the newest 20,000 messages are searched; a user can run one search at a time.
    #[serde(default)]
    query: String,
    /// Only the conversations that follow the one with this id in the list.
    before: Option<String>,
    /// The maximum number of conversations: 1,000 at most, which is the default; 100 with `query`.
    limit: Option<u32>,
}

/// The part of a conversation's messages to return.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Only messages before the one with this id.
    before: Option<i64>,
    /// Only messages after the one with this id, beginning with the oldest of them; cannot be combined with `before`.
    after: Option<i64>,
    /// The maximum number of messages, 500 at most; 200 if absent.
    limit: Option<u32>,
}

/// The caller's conversations, the most recently active first; or those that contain some words.
#[utoipa::path(get, path = "/api/v1/chats", tag = "chats", params(ChatQuery),
    responses((status = 200, body = [ChatView]), (status = 400), (status = 404), (status = 429)))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(ChatQuery { query, before, limit }): extract::Query<ChatQuery>,
) -> Result<Json<Vec<ChatView>>, ApiError> {
    let words: Vec<&str> = query.split_whitespace().collect();
    let before = before.as_deref().map(chat_id).transpose()?;
    let _turn = if words.is_empty() { None } else { Some(state.searches.begin(caller.user.id).await?) };
    let wanted = Find { words: &words, before: before.as_ref(), limit };
    let found = state.chats.find(caller.user.id, wanted).await?;
    let view = |Found { chat, excerpt }| ChatView {
        found: excerpt.map(|found| FoundView { message_id: found.message.0, excerpt: found.text }),
        ..chat_view(chat)
    };
    Ok(Json(found.into_iter().map(view).collect()))
}

/// The options of a new conversation.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NewChatQuery {
    /// Whether the newest empty conversation without settings may be returned, so that two requests for a new one create only one. Programs
    /// that begin several conversations at the same time should not set it.
    #[serde(default)]
    reuse_empty: bool,
}

/// Begin a conversation.
#[utoipa::path(post, path = "/api/v1/chats", tag = "chats", params(NewChatQuery),
    responses((status = 201, body = ChatView)))]
pub async fn create(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(NewChatQuery { reuse_empty }): extract::Query<NewChatQuery>,
) -> Result<(StatusCode, Json<ChatView>), ApiError> {
    let chat = match reuse_empty {
        true => state.chats.create_or_reuse(&caller.user).await?,
        false => state.chats.create(&caller.user).await?,
    };
    Ok((StatusCode::CREATED, Json(chat_view(chat))))
}

/// Delete a conversation; everything that still runs in it is cancelled, background commands included.
#[utoipa::path(delete, path = "/api/v1/chats/{id}", tag = "chats",
    params(("id" = String, Path)), responses((status = 204), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.chats.delete(&caller.user, &chat_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
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
    let chat = state.chats.rename(&caller.user, &chat_id(&id)?, &wanted.title).await?;
    Ok(Json(chat_view(chat)))
}

/// A conversation's messages, the last ones unless the request says otherwise.
#[utoipa::path(get, path = "/api/v1/chats/{id}/messages", tag = "chats",
    params(("id" = String, Path), PageQuery), responses((status = 200, body = MessagePage), (status = 404)))]
pub async fn messages(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Query(page): extract::Query<PageQuery>,
) -> Result<Json<MessagePage>, ApiError> {
    let wanted = match (page.before, page.after) {
        (None, None) => Page::Last,
        (Some(before), None) => Page::Before(MessageId(before)),
        (None, Some(after)) => Page::After(MessageId(after)),
        (Some(_), Some(_)) => {
            return Err(ApiError::invalid("before and after exclude each other; leave one out"));
        }
    };
    let (messages, more) = state.chats.messages(caller.user.id, &chat_id(&id)?, wanted, page.limit).await?;
    Ok(Json(MessagePage { messages: messages.into_iter().map(shown_view).collect(), more }))
}

/// Send a message. `!command` runs in the active sandbox; its output arrives as events.
#[utoipa::path(post, path = "/api/v1/chats/{id}/messages", tag = "chats", request_body = NewMessage,
    params(("id" = String, Path)), responses((status = 202, body = PostedView), (status = 404)))]
pub async fn post(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(message): extract::Json<NewMessage>,
) -> Result<(StatusCode, Json<PostedView>), ApiError> {
    let NewMessage { text, send_id, attachments, client_id } = &message;
    let (send_id, client) = (send_id.as_deref(), *client_id);
    let post = NewPost { text, send_id, attachments, author: Author::Owner, client };
    let answered = state.chats.say(&caller.user, &chat_id(&id)?, post).await?;
    let (error, input) = (answered.error, answered.input);
    let messages = answered.messages.into_iter().map(message_view).collect();
    let chat = answered.chat.map(chat_view);
    Ok((StatusCode::ACCEPTED, Json(PostedView { messages, chat, error, input })))
}

/// Cancel what is running in a conversation.
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

/// Answer a model's request for approval of a tool call.
#[utoipa::path(post, path = "/api/v1/chats/{id}/approvals", tag = "chats", request_body = ApprovalAnswer,
    params(("id" = String, Path)), responses((status = 204), (status = 404, description = "it no longer waits for an answer")))]
pub async fn approve(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(asked): extract::Json<ApprovalAnswer>,
) -> Result<StatusCode, ApiError> {
    if asked.nobody && asked.allow {
        return Err(ApiError::invalid("`nobody` and `allow` exclude each other; leave one out"));
    }
    let answer = match (asked.allow, asked.always) {
        (false, _) if asked.nobody => Answer::NobodyThere,
        (false, _) => Answer::Deny,
        (true, false) => Answer::Allow,
        (true, true) => Answer::AllowForGood,
    };
    let (chat, message) = (chat_id(&id)?, MessageId(asked.message_id));
    state.chats.answer(&caller.user, &chat, message, Reply::Approval(answer), caller.surface()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Set how much a chat's model may do without asking.
#[utoipa::path(put, path = "/api/v1/chats/{id}/approval", tag = "chats", request_body = ApprovalMode,
    params(("id" = String, Path)), responses((status = 200, body = ApprovalMode), (status = 404)))]
pub async fn set_approval(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(wanted): extract::Json<ApprovalMode>,
) -> Result<Json<ApprovalMode>, ApiError> {
    let mode: Mode =
        wanted.mode.as_str().parse().map_err(|error| ApiError::invalid(format!("mode {error}")))?;
    state.chats.set_approval(&caller.user, &chat_id(&id)?, mode).await?;
    Ok(Json(ApprovalMode { mode: mode.as_str().into() }))
}

/// Set where a chat's commands run.
#[utoipa::path(put, path = "/api/v1/chats/{id}/runner", tag = "chats", request_body = RunnerChoice,
    params(("id" = String, Path)), responses((status = 200, body = BoundView), (status = 404)))]
pub async fn set_runner(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(wanted): extract::Json<RunnerChoice>,
) -> Result<Json<BoundView>, ApiError> {
    let place = wanted.runner.as_deref();
    let (chat, warning) = state.chats.bind_runner(&caller.user, &chat_id(&id)?, place).await?;
    Ok(Json(BoundView { chat: chat_view(chat), warning }))
}

/// Parses a chat's id from a path. An invalid id is reported as a missing chat.
pub(super) fn chat_id(text: &str) -> Result<ChatId, ApiError> {
    ChatId::parse(text).map_err(|_| ApiError::new("not_found", "there is no such chat"))
}
