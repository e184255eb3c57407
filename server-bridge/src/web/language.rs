//! The language of the server's texts in responses: the one that the request asks for.
//!
//! The middleware [`keep`] stores the language while the request is handled, and [`Json`](crate::web::json::Json), which writes every
//! document and every error, translates the fields that are declared as texts. A handler translates only a field that contains a text of the
//! server in some documents and a person's text in others.

use std::convert::Infallible;

use api::language::Language;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use tokio::task_local;

task_local! {
    static OF_REQUEST: Language;
}

/// The language that a request asks for.
pub struct Wanted(pub Language);

impl<S: Send + Sync> FromRequestParts<S> for Wanted {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(named(&parts.headers).unwrap_or_default()))
    }
}

/// The language that the headers ask for, if any.
pub fn named(headers: &HeaderMap) -> Option<Language> {
    headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok().map(Language::of_header)
}

/// The language that the current request asks for; English outside of requests.
pub fn of_request() -> Language {
    OF_REQUEST.try_with(|language| *language).unwrap_or_default()
}

/// The middleware that stores a request's language while the request is handled.
pub async fn keep(request: Request, next: Next) -> Response {
    let language = named(request.headers()).unwrap_or_default();
    OF_REQUEST.scope(language, next.run(request)).await
}

/// Stores the language of the current request for another task that does a part of the request.
pub fn keep_in_task<F: Future>(part: F) -> impl Future<Output = F::Output> {
    OF_REQUEST.scope(of_request(), part)
}
