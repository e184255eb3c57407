//! The language of the server's texts in answers: the one that the request asks for.

use std::convert::Infallible;

use api::language::Language;
use axum::Json;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::web::error::ApiError;

/// The language that a request asks for.
pub struct Wanted(pub Language);

impl<S: Send + Sync> FromRequestParts<S> for Wanted {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(named(&parts.headers).unwrap_or_default()))
    }
}

impl Wanted {
    /// Translates a text of the server, which is kept in English, into this language.
    pub(in crate::web) fn translate(&self, text: &mut String) {
        *text = self.0.translated(text).into_owned();
    }
}

/// The language that the headers ask for, if any.
pub fn named(headers: &HeaderMap) -> Option<Language> {
    headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok().map(Language::of_header)
}

/// Translates the text of every error into the language of its request.
pub async fn translate_errors(request: Request, next: Next) -> Response {
    let language = named(request.headers()).unwrap_or_default();
    let mut response = next.run(request).await;
    let error = response.extensions_mut().remove::<ApiError>();
    let Some(error) = error.filter(|_| language != Language::English) else { return response };
    let message = language.translated(&error.message).into_owned();
    let (_, body) = Json(ApiError { message, ..error }.body()).into_response().into_parts();
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, body)
}
