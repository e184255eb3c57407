//! Conversations that go on as two, and that leave the server as a file.

use std::sync::Arc;

use api::chat::{ChatView, MessageView};
use api::document::{AgentDocument, ExecDocument};
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use store::{Chat, Message, MessageId, MessageRole};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use crate::limits::EXPORT_PAGE_ROWS;
use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::chats::{chat_id, chat_view, message_view};
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::routes::Routes;
use crate::web::scope::Access;

/// The routes of forks and exports of a chat.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Full, routes!(fork)).add(Access::Look, routes!(export))
}

/// How much of a conversation is copied.
#[derive(Deserialize, ToSchema)]
pub struct Fork {
    /// Up to and with what came of this message; all of it if absent.
    #[serde(default)]
    message_id: Option<i64>,
}

/// Go on with a conversation in another one: what was said so far, the machine, the directory and the approval mode are the
/// same; what was allowed for good is asked for again.
#[utoipa::path(post, path = "/api/v1/chats/{id}/fork", tag = "chats", request_body = Fork,
    params(("id" = String, Path)), responses((status = 201, body = ChatView), (status = 404)))]
pub async fn fork(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(wanted): extract::Json<Fork>,
) -> Result<(StatusCode, Json<ChatView>), ApiError> {
    let copy = state.chats.fork(&caller.user, &chat_id(&id)?, wanted.message_id.map(MessageId)).await?;
    Ok((StatusCode::CREATED, Json(chat_view(copy))))
}

/// How a conversation is written down.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExportQuery {
    /// `json` (all of it, for programs; the default) or `markdown` (to be read).
    format: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Markdown,
}

/// Export a conversation, whole, as a file.
#[utoipa::path(get, path = "/api/v1/chats/{id}/export", tag = "chats",
    params(("id" = String, Path), ExportQuery),
    responses((status = 200, content((ExportView = "application/json"), (String = "text/markdown"))), (status = 404)))]
pub async fn export(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Query(query): extract::Query<ExportQuery>,
) -> Result<Response, ApiError> {
    let format = match query.format.as_deref() {
        None | Some("json") => Format::Json,
        Some("markdown") => Format::Markdown,
        Some(_) => return Err(ApiError::invalid("format must be json or markdown")),
    };
    let chat = state.store.chat(caller.user.id, &chat_id(&id)?).await?;
    let (content_type, ending) = match format {
        Format::Json => ("application/json", "json"),
        Format::Markdown => ("text/markdown; charset=utf-8", "md"),
    };
    let disposition = format!("attachment; filename=\"chat-{}.{ending}\"", chat.id);
    let headers =
        [(header::CONTENT_TYPE, content_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    let exporting = Exporting { state, chat: Arc::new(chat), format, next: Next::Beginning };
    Ok((headers, Body::from_stream(stream::try_unfold(exporting, Exporting::next))).into_response())
}

/// A conversation as a JSON file; it is written down while it is read.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct ExportView {
    /// Of this format: 1.
    version: u32,
    chat: ChatView,
    /// All of them, the oldest first.
    messages: Vec<MessageView>,
}

/// A conversation on its way out, page by page: it may be larger than the memory.
struct Exporting {
    state: AppState,
    chat: Arc<Chat>,
    format: Format,
    next: Next,
}

enum Next {
    Beginning,
    After(MessageId),
    End,
    Nothing,
}

impl Exporting {
    async fn next(mut self) -> Result<Option<(String, Self)>, store::Error> {
        let (text, next) = match self.next {
            Next::Beginning => (self.beginning(), Next::After(MessageId(0))),
            Next::After(last) => {
                let (store, user) = (&self.state.store, self.chat.user);
                let (mut page, more) =
                    store.messages_after(user, &self.chat.id, last, EXPORT_PAGE_ROWS).await?;
                self.state.chats.fill_live(&mut page);
                let next = match page.last() {
                    Some(message) if more => Next::After(message.id),
                    _ => Next::End,
                };
                (self.page(page, last == MessageId(0)), next)
            }
            Next::End => {
                (if self.format == Format::Json { "]}\n".to_owned() } else { String::new() }, Next::Nothing)
            }
            Next::Nothing => return Ok(None),
        };
        self.next = next;
        Ok(Some((text, self)))
    }

    fn beginning(&self) -> String {
        match self.format {
            Format::Json => {
                let chat = json!(chat_view((*self.chat).clone()));
                format!("{{\"version\":1,\"chat\":{chat},\"messages\":[")
            }
            Format::Markdown => format!("# {}\n", one_line(&self.chat.title)),
        }
    }

    fn page(&self, messages: Vec<Message>, is_first: bool) -> String {
        match self.format {
            Format::Json => {
                let messages: Vec<String> =
                    messages.into_iter().map(|message| json!(message_view(message)).to_string()).collect();
                let comma = if is_first || messages.is_empty() { "" } else { "," };
                format!("{comma}{}", messages.join(","))
            }
            // What was taken back is none of it any more.
            Format::Markdown => messages.iter().filter(|message| !message.undone).map(markdown).collect(),
        }
    }
}

/// A message to be read.
fn markdown(message: &Message) -> String {
    let document = message.exec_json.as_deref();
    let text = message.text.trim_end();
    match message.role {
        MessageRole::User => format!("\n## You\n\n{text}\n"),
        MessageRole::Notice => format!("\n> {}\n", text.replace('\n', "\n> ")),
        MessageRole::Exec => {
            let exec: ExecDocument =
                document.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
            let code = exec.exit_code.map(|code| format!(" {code}")).unwrap_or_default();
            let place = exec.runner.map(|place| format!(" on {place}")).unwrap_or_default();
            format!(
                "\n**Command** ({}{code}{place})\n\n{}{}",
                exec.status,
                fenced(&exec.command),
                fenced(text)
            )
        }
        MessageRole::Assistant => match document.and_then(|json| serde_json::from_str(json).ok()) {
            Some(AgentDocument::Tool { tool, hint, status, place, .. }) => {
                let place = place.map(|place| format!(" on {place}")).unwrap_or_default();
                format!("\n**{tool}** ({status}{place})\n\n{}{}", fenced(&hint), fenced(text))
            }
            Some(AgentDocument::Reply { error: Some(error), .. }) => {
                format!("\n## Sandbridge\n\n{text}\n\n> {error}\n")
            }
            _ if text.is_empty() => String::new(),
            _ => format!("\n## Sandbridge\n\n{text}\n"),
        },
    }
}

/// A text as it stands, between fences that are longer than any within it.
fn fenced(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let runs = text.split(|character| character != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{fence}\n{text}\n{fence}\n")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_fence_but_its_own() {
        assert_eq!(fenced("a"), "```\na\n```\n");
        assert_eq!(fenced("```\nb"), "````\n```\nb\n````\n");
        assert_eq!(fenced(""), "");
    }
}
