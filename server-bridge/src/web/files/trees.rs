//! Whole trees as tar archives, and downloads by the runner.

use api::file::{Download, TreeView, Written};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use sandbox::{DownloadRequest, Sandbox, SandboxError, TreeWritten};
use serde::Deserialize;
use utoipa::IntoParams;

use super::change::Change;
use super::query::{PathQuery, PlaceQuery, octal_mode};
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::state::AppState;

/// The content type of archives.
const TAR: HeaderValue = HeaderValue::from_static("application/x-tar");

/// How a tree is written.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TreeQuery {
    /// Makes the directory a mirror: entries that the archive does not have are removed.
    #[serde(default)]
    delete_extra: bool,
}

/// Download a directory as a tar archive. Links that lead out of it, special files and unreadable entries are left out; a pax
/// record `comment` at the end reports this. If the connection breaks off, the download failed.
#[utoipa::path(get, path = "/api/v1/files/tree", tag = "files", params(PathQuery),
    responses((status = 200, content_type = "application/x-tar", body = [u8]), (status = 404)))]
pub async fn read(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PathQuery>,
) -> Result<Response, ApiError> {
    let path = query.path()?;
    let sandbox = state.sandbox(&caller.user, query.on.as_deref()).await?;
    let mut reader = sandbox.read_tree(&path).await?;
    // An error before the first bytes can still be reported with its own status.
    let first = reader.next().await.transpose()?;
    let body = stream::try_unfold((first, reader), |(first, mut reader)| async move {
        let piece = match first {
            Some(piece) => Some(piece),
            None => reader.next().await.transpose()?,
        };
        Ok::<_, SandboxError>(piece.map(|piece| (piece, (None, reader))))
    });
    Ok(([(header::CONTENT_TYPE, TAR)], Body::from_stream(body)).into_response())
}

/// Upload a directory as a tar archive of regular files, directories and symbolic links that do not lead out of it. Each file is
/// complete or absent; entries written before an error stay, and the error reports how many there are.
#[utoipa::path(put, path = "/api/v1/files/tree", tag = "files", params(PathQuery, TreeQuery),
    request_body(content = [u8], content_type = "application/x-tar"),
    responses((status = 200, body = TreeView), (status = 400)))]
pub async fn write(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PathQuery>,
    extract::Query(tree): extract::Query<TreeQuery>,
    body: Body,
) -> Result<Json<TreeView>, ApiError> {
    let path = query.path()?;
    let change = Change {
        state: &state,
        caller: &caller,
        on: query.on.as_deref(),
        action: "file.write_tree",
        path: &path,
    };
    let written =
        change.make(async |sandbox| receive(&sandbox, &path, tree.delete_extra, body).await).await?;
    let TreeWritten { files, directories, symlinks, size_bytes, removed } = written;
    Ok(Json(TreeView { files, directories, symlinks, size: size_bytes, removed }))
}

/// Let the runner download a URL into a file, which gets its name when the download is complete. A redirect to another host, port
/// or scheme is not followed: the error names the new address.
#[utoipa::path(post, path = "/api/v1/files/download", tag = "files", params(PlaceQuery), request_body = Download,
    responses((status = 200, body = Written), (status = 412), (status = 413)))]
pub async fn download(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PlaceQuery>,
    extract::Json(download): extract::Json<Download>,
) -> Result<Json<Written>, ApiError> {
    let Download { url, path, mode, parents, max_bytes, sha256: hash } = download;
    let path = path.into_bytes();
    let hash = match hash.as_deref().map(tools::hash_of_hex) {
        None => None,
        Some(Some(hash)) => Some(hash),
        Some(None) => return Err(ApiError::invalid("sha256 must be 64 hexadecimal digits")),
    };
    let mode = mode.as_deref().map(octal_mode).transpose()?;
    let request =
        DownloadRequest { url, path: path.clone(), mode, parents, max_bytes, sha256: hash, present: None };
    let change = Change {
        state: &state,
        caller: &caller,
        on: query.on.as_deref(),
        action: "file.download",
        path: &path,
    };
    let size = change.make(async |sandbox| Ok(sandbox.download(request).await?)).await?;
    Ok(Json(Written { size }))
}

/// Passes the archive on to the runner. If the body breaks off, the writer is dropped, which leaves no file half-written.
async fn receive(
    sandbox: &Sandbox,
    path: &[u8],
    delete_extra: bool,
    body: Body,
) -> Result<TreeWritten, ApiError> {
    let mut writer = sandbox.write_tree(path, delete_extra).await?;
    let mut body = body.into_data_stream();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| {
            let text =
                format!("the upload broke off ({error}); the files that arrived before that were written");
            ApiError::invalid(text)
        })?;
        writer.write(&chunk).await?;
    }
    Ok(writer.finish().await?)
}
