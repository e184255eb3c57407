//! Files attached to a message: they are stored where the chat's work goes, and its agent opens them there.

use api::chat::AttachmentView;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use chats::Attached;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of attached files.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Full, route!(add))
}

/// The name of an attached file.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AttachmentQuery {
    /// The file's name; characters that a name cannot contain are replaced.
    name: String,
}

/// Put a file where the chat's work goes, for a message that names its `path` among its `attachments`. At most 32 MiB.
#[utoipa::path(post, path = "/api/v1/chats/{id}/attachments", tag = "chats",
    params(("id" = String, Path), AttachmentQuery),
    request_body(content = [u8], content_type = "application/octet-stream"),
    responses((status = 201, body = AttachmentView), (status = 400), (status = 404), (status = 413), (status = 503)))]
pub async fn add(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Query(query): extract::Query<AttachmentQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<AttachmentView>), ApiError> {
    let length =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let content = body.into_data_stream();
    let attached = state.chats.attach(&caller.user, &chat_id(&id)?, &query.name, length, content).await?;
    Ok((StatusCode::CREATED, Json(attachment_view(attached))))
}

fn attachment_view(Attached { path, name, place, size_bytes, is_image }: Attached) -> AttachmentView {
    AttachmentView { path, name, place, size_bytes, is_image }
}
