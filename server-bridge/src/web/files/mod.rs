//! Files of the caller's sandbox. Content streams both ways; no file is held in memory.

mod body;
mod change;
pub mod complete;
mod query;
mod range;
pub mod trees;

use api::file::{Listing, Rename, StatView, Written};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use sandbox::{Metadata, Sandbox, WriteOptions};

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::files::body::{attachment, content, file_name, listing};
use crate::web::files::query::{PathQuery, PlaceQuery, RemoveQuery, WriteQuery};
use crate::web::files::range::{Wanted, content_range};
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

use body::kind_name;

/// The routes of files on runners.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::LookToWork, route!(read))
        .add(Access::Work, route!(write))
        .add(Access::LookToWork, route!(stat))
        .add(Access::LookToWork, route!(list))
        .add(Access::Work, route!(mkdir))
        .add(Access::Work, route!(rename))
        .add(Access::Work, route!(remove))
        .add(Access::LookToWork, route!(complete::complete))
        .add(Access::LookToWork, route!(trees::read))
        .add(Access::Work, route!(trees::write))
        .add(Access::Work, route!(trees::download))
}
use change::Change;

/// Permission bits of a directory made here.
const DIRECTORY_MODE: u32 = 0o755;

/// Download a file, or with `Range` one part of it. If the connection ends before Content-Length bytes have arrived, the download
/// failed.
#[utoipa::path(get, path = "/api/v1/files", tag = "files", params(PathQuery),
    responses((status = 200, content_type = "application/octet-stream", body = [u8]), (status = 206),
        (status = 404), (status = 416)))]
pub async fn read(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PathQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let path = query.path()?;
    let sandbox = state.sandbox(&caller.user, query.on.as_deref()).await?;
    let wanted = Wanted::from_headers(&headers);
    let known_bytes = if let Wanted::Tail(_) = wanted { sandbox.stat(&path).await?.size_bytes } else { 0 };
    let range = wanted.range(known_bytes);
    let reader = sandbox.read_file(&path, range).await?;
    let size = reader.size_bytes();
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
        (header::CONTENT_DISPOSITION, attachment(&path)),
    ];
    if wanted == Wanted::Whole {
        let length = [(header::CONTENT_LENGTH, HeaderValue::from(size))];
        return Ok((headers, length, content(reader, size)).into_response());
    }
    let Some((length, told)) = content_range(range, size) else {
        let told = [(header::CONTENT_RANGE, format!("bytes */{size}"))];
        let error = ApiError::new("range_not_satisfiable", format!("the file has only {size} bytes"));
        return Ok((told, error).into_response());
    };
    let part = [(header::CONTENT_LENGTH, HeaderValue::from(length)), (header::CONTENT_RANGE, told)];
    Ok((StatusCode::PARTIAL_CONTENT, headers, part, content(reader, length)).into_response())
}

/// Upload a file: it replaces the old one when it is complete and on disk, or not at all. `If-Match: "SHA-256"` (or
/// `if_match`) makes that conditional on the old content.
#[utoipa::path(put, path = "/api/v1/files", tag = "files", params(PathQuery, WriteQuery),
    request_body(content = [u8], content_type = "application/octet-stream"),
    responses((status = 200, body = Written), (status = 400), (status = 412)))]
pub async fn write(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PathQuery>,
    extract::Query(write): extract::Query<WriteQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Written>, ApiError> {
    let path = query.path()?;
    let size_bytes = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let if_match = write.if_match(&headers)?;
    let options =
        WriteOptions { mode: write.mode()?, parents: write.parents, size_bytes, if_match, present: None };
    let change =
        Change { state: &state, caller: &caller, on: query.on.as_deref(), action: "file.write", path: &path };
    let size = change.make(async |sandbox| receive(&sandbox, &path, options, body).await).await?;
    Ok(Json(Written { size }))
}

/// The metadata of a path, such as its kind and size; symbolic links are followed.
#[utoipa::path(get, path = "/api/v1/files/stat", tag = "files", params(PathQuery),
    responses((status = 200, body = StatView), (status = 404)))]
pub async fn stat(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PathQuery>,
) -> Result<Json<StatView>, ApiError> {
    let path = query.path()?;
    let sandbox = state.sandbox(&caller.user, query.on.as_deref()).await?;
    let Metadata { kind, size_bytes, mode, modified_ms } = sandbox.stat(&path).await?;
    let name = String::from_utf8_lossy(file_name(&path)).into_owned();
    Ok(Json(StatView { name, kind: kind_name(kind), size: size_bytes, mode, modified_ms }))
}

/// The entries of a directory, in no particular order.
#[utoipa::path(get, path = "/api/v1/files/list", tag = "files", params(PathQuery),
    responses((status = 200, body = Listing), (status = 404)))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PathQuery>,
) -> Result<Response, ApiError> {
    let path = query.path()?;
    let sandbox = state.sandbox(&caller.user, query.on.as_deref()).await?;
    let mut reader = sandbox.read_dir(&path).await?;
    // An error before the first entries can still be reported with its own status.
    let first = reader.next_batch().await.transpose()?;
    let json = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, json)], listing(first, reader)).into_response())
}

/// Create a directory and any missing parents.
#[utoipa::path(post, path = "/api/v1/files/mkdir", tag = "files", params(PathQuery), responses((status = 204)))]
pub async fn mkdir(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PathQuery>,
) -> Result<StatusCode, ApiError> {
    let path = query.path()?;
    let change =
        Change { state: &state, caller: &caller, on: query.on.as_deref(), action: "file.mkdir", path: &path };
    change.make(async |sandbox| Ok(sandbox.mkdir_all(&path, DIRECTORY_MODE).await?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Rename within the workspace, replacing an existing file.
#[utoipa::path(post, path = "/api/v1/files/rename", tag = "files", params(PlaceQuery), request_body = Rename,
    responses((status = 204), (status = 404)))]
pub async fn rename(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PlaceQuery>,
    extract::Json(rename): extract::Json<Rename>,
) -> Result<StatusCode, ApiError> {
    let (from, to) = (rename.from.as_bytes(), rename.to.as_bytes());
    let both = format!("{} -> {}", rename.from, rename.to).into_bytes();
    let change = Change {
        state: &state,
        caller: &caller,
        on: query.on.as_deref(),
        action: "file.rename",
        path: &both,
    };
    change.make(async |sandbox| Ok(sandbox.rename(from, to).await?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a file, a symlink or an empty directory; with `recursive` a whole tree.
#[utoipa::path(delete, path = "/api/v1/files", tag = "files", params(PathQuery, RemoveQuery),
    responses((status = 204), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PathQuery>,
    extract::Query(remove): extract::Query<RemoveQuery>,
) -> Result<StatusCode, ApiError> {
    let path = query.path()?;
    let change = Change {
        state: &state,
        caller: &caller,
        on: query.on.as_deref(),
        action: "file.remove",
        path: &path,
    };
    let removed = change.make(async |sandbox| {
        let removed =
            if remove.recursive { sandbox.remove_all(&path).await } else { sandbox.remove(&path).await };
        Ok(removed?)
    });
    removed.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Passes the body on to the runner. If the body breaks off, the writer is dropped, which leaves no file.
async fn receive(sandbox: &Sandbox, path: &[u8], options: WriteOptions, body: Body) -> Result<u64, ApiError> {
    let mut writer = sandbox.write_file(path, options).await?;
    let mut body = body.into_data_stream();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| {
            ApiError::invalid(format!("the upload broke off ({error}); nothing was changed"))
        })?;
        writer.write(&chunk).await?;
    }
    Ok(writer.finish().await?)
}
