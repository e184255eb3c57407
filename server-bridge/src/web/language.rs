//! The language of the server's texts in answers: the one that the request asks for.

use std::convert::Infallible;

use api::error::ErrorBody;
use api::language::Language;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::limits::ERROR_BODY_BYTES;

/// The language that a request asks for.
pub struct Wanted(pub Language);

impl<S: Send + Sync> FromRequestParts<S> for Wanted {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(named(&parts.headers).unwrap_or_default()))
    }
}

/// The language that the headers ask for, if they say any.
pub fn named(headers: &HeaderMap) -> Option<Language> {
    headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok().map(Language::of_header)
}

/// Puts the text of every error into the language that its request asks for.
pub async fn translate_errors(request: Request, next: Next) -> Response {
    let language = named(request.headers()).unwrap_or_default();
    let response = next.run(request).await;
    let is_json = |headers: &HeaderMap| {
        headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
    };
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    if language == Language::English || !is_error || !is_json(response.headers()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, ERROR_BODY_BYTES).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let translated = serde_json::from_slice(&body).ok().and_then(|mut answer: ErrorBody| {
        answer.error.message = language.translated(&answer.error.message).into_owned();
        serde_json::to_vec(&answer).ok()
    });
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(translated.map_or(body, Into::into)))
}
