//! Collections of documents: creating, sharing and searching collections, and managing the documents in them.

use api::knowledge::{
    CollectionDraft, CollectionList, CollectionView, DocumentList, DocumentPage, DocumentView, Found,
    KnowledgeStatus, Question, ShareWith, SyncRequest,
};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The number of passages in a response if the request sets no limit.
const FOUND: u32 = 10;

/// The routes of knowledge.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Full, route!(create))
        .add(Access::Full, route!(show))
        .add(Access::Full, route!(remove))
        .add(Access::Full, route!(documents))
        .add(Access::Full, route!(upload))
        .add(Access::Full, route!(document))
        .add(Access::Full, route!(remove_document))
        .add(Access::Session, route!(share))
        .add(Access::Full, route!(sync))
        .add(Access::Full, route!(search))
        .add(Access::Full, route!(status))
}

/// A document's name.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct UploadQuery {
    /// The file's name.
    name: String,
}

/// The part of a list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DocumentsQuery {
    /// Documents after the one with this name.
    #[serde(default)]
    after: String,
}

/// The first page to return.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PagesQuery {
    /// Pages from this number on; the first by default.
    #[serde(default)]
    page: i64,
}

/// The collections that the caller may search.
#[utoipa::path(get, path = "/api/v1/knowledge/collections", tag = "knowledge", responses((status = 200, body = CollectionList)))]
pub async fn list(State(state): State<AppState>, caller: Caller) -> Result<Json<CollectionList>, ApiError> {
    let collections = state.extensions.knowledge.collections(&caller.user).await?;
    Ok(Json(CollectionList { collections }))
}

/// Add a collection of uploads, or of a runner's folder.
#[utoipa::path(post, path = "/api/v1/knowledge/collections", tag = "knowledge", request_body = CollectionDraft,
    responses((status = 201, body = CollectionView), (status = 400), (status = 409)))]
pub async fn create(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(draft): extract::Json<CollectionDraft>,
) -> Result<(StatusCode, Json<CollectionView>), ApiError> {
    let made = state.extensions.knowledge.add_collection(&caller.user, &draft).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// A collection, by its id or its name.
#[utoipa::path(get, path = "/api/v1/knowledge/collections/{collection}", tag = "knowledge",
    params(("collection" = String, Path)), responses((status = 200, body = CollectionView), (status = 404)))]
pub async fn show(
    State(state): State<AppState>,
    caller: Caller,
    Path(collection): Path<String>,
) -> Result<Json<CollectionView>, ApiError> {
    Ok(Json(state.extensions.knowledge.collection(&caller.user, &collection).await?))
}

/// Delete one of the caller's own collections, with its documents and their index.
#[utoipa::path(delete, path = "/api/v1/knowledge/collections/{collection}", tag = "knowledge",
    params(("collection" = String, Path)), responses((status = 204), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(collection): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.extensions.knowledge.remove_collection(&caller.user, &collection).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The documents of a collection, by name.
#[utoipa::path(get, path = "/api/v1/knowledge/collections/{collection}/documents", tag = "knowledge",
    params(("collection" = String, Path), DocumentsQuery),
    responses((status = 200, body = DocumentList), (status = 404)))]
pub async fn documents(
    State(state): State<AppState>,
    caller: Caller,
    Path(collection): Path<String>,
    extract::Query(query): extract::Query<DocumentsQuery>,
) -> Result<Json<DocumentList>, ApiError> {
    let documents = state.extensions.knowledge.documents(&caller.user, &collection, &query.after).await?;
    Ok(Json(DocumentList { documents }))
}

/// Add a document of at most 64 MiB to one of the caller's own collections, or replace the content of the one with this name. It is queued
/// for indexing; until that is done, the previous version is searched.
#[utoipa::path(post, path = "/api/v1/knowledge/collections/{collection}/documents", tag = "knowledge",
    params(("collection" = String, Path), UploadQuery),
    request_body(content = [u8], content_type = "application/octet-stream"),
    responses((status = 202, body = DocumentView), (status = 400), (status = 404), (status = 413)))]
pub async fn upload(
    State(state): State<AppState>,
    caller: Caller,
    Path(collection): Path<String>,
    extract::Query(query): extract::Query<UploadQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<DocumentView>), ApiError> {
    let length =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let (knowledge, content) = (&state.extensions.knowledge, body.into_data_stream());
    let document = knowledge.upload(&caller.user, &collection, &query.name, length, content).await?;
    Ok((StatusCode::ACCEPTED, Json(document)))
}

/// A document and at most 10 of its pages, for example those that a citation names.
#[utoipa::path(get, path = "/api/v1/knowledge/documents/{id}", tag = "knowledge",
    params(("id" = i64, Path), PagesQuery), responses((status = 200, body = DocumentPage), (status = 404)))]
pub async fn document(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<i64>,
    extract::Query(query): extract::Query<PagesQuery>,
) -> Result<Json<DocumentPage>, ApiError> {
    Ok(Json(state.extensions.knowledge.document(&caller.user, id, query.page).await?))
}

/// Delete a document from one of the caller's own collections.
#[utoipa::path(delete, path = "/api/v1/knowledge/documents/{id}", tag = "knowledge", params(("id" = i64, Path)),
    responses((status = 204), (status = 404)))]
pub async fn remove_document(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<i64>,
) -> Result<StatusCode, ApiError> {
    state.extensions.knowledge.remove_document(&caller.user, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Share one of the caller's own collections with a user or with all users, or stop sharing it. Needs a session.
#[utoipa::path(put, path = "/api/v1/knowledge/collections/{collection}/sharing", tag = "knowledge",
    params(("collection" = String, Path)), request_body = ShareWith,
    responses((status = 200, body = CollectionView), (status = 403), (status = 404)))]
pub async fn share(
    State(state): State<AppState>,
    caller: Caller,
    Path(collection): Path<String>,
    extract::Json(with): extract::Json<ShareWith>,
) -> Result<Json<CollectionView>, ApiError> {
    let shared = state.extensions.knowledge.share(&caller.user, &collection, &with, with.is_shared).await?;
    Ok(Json(shared))
}

/// Queue a scan of the folder of one of the caller's own collections.
#[utoipa::path(post, path = "/api/v1/knowledge/collections/{collection}/sync", tag = "knowledge",
    params(("collection" = String, Path)), request_body = SyncRequest,
    responses((status = 202), (status = 400), (status = 404)))]
pub async fn sync(
    State(state): State<AppState>,
    caller: Caller,
    Path(collection): Path<String>,
    extract::Json(request): extract::Json<SyncRequest>,
) -> Result<StatusCode, ApiError> {
    state.extensions.knowledge.sync(&caller.user, &collection, request.remove_missing).await?;
    Ok(StatusCode::ACCEPTED)
}

/// The passages that answer a question best, with the reason why each was found.
#[utoipa::path(post, path = "/api/v1/knowledge/search", tag = "knowledge", request_body = Question,
    responses((status = 200, body = Found), (status = 400), (status = 404)))]
pub async fn search(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(question): extract::Json<Question>,
) -> Result<Json<Found>, ApiError> {
    let most = question.limit.unwrap_or(FOUND) as usize;
    let collection = question.collection.as_deref();
    let knowledge = &state.extensions.knowledge;
    Ok(Json(knowledge.find(&caller.user, &question.query, collection, most).await?))
}

/// The documents and folders of the caller that wait to be indexed.
#[utoipa::path(get, path = "/api/v1/knowledge/status", tag = "knowledge", responses((status = 200, body = KnowledgeStatus)))]
pub async fn status(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<Json<KnowledgeStatus>, ApiError> {
    Ok(Json(state.extensions.knowledge.status(&caller.user).await?))
}
