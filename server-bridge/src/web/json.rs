//! JSON documents as responses.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::web::error::ApiError;
use crate::web::language;

/// A document as a response in JSON, with its texts in the language that the request asks for.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match language::of_request().to_json(&self.0) {
            Ok(text) => {
                let kind = HeaderValue::from_static("application/json");
                ([(header::CONTENT_TYPE, kind)], text).into_response()
            }
            Err(error) => ApiError::internal(&error).into_response(),
        }
    }
}
