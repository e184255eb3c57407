//! Extractors whose refusals follow the error contract.

use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::limits::JSON_BODY_TIMEOUT;
use crate::web::body::BodyRefused;
use crate::web::error::ApiError;

/// A JSON body.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        // A client that sends a byte now and then must not hold a connection forever.
        let body = timeout(JSON_BODY_TIMEOUT, axum::Json::from_request(request, state));
        match body.await.map_err(|_| ApiError::invalid("the request's body did not arrive in time"))? {
            Ok(axum::Json(value)) => Ok(Self(value)),
            Err(JsonRejection::BytesRejection(error)) => Err(match BodyRefused::cause_of(&error) {
                Some(refused @ BodyRefused::TooSlow) => ApiError::invalid(refused.to_string()),
                Some(refused @ BodyRefused::TooLarge) => ApiError::new("too_large", refused.to_string()),
                None => ApiError::new("too_large", error.body_text()),
            }),
            Err(error) => Err(ApiError::invalid(error.body_text())),
        }
    }
}

/// The query of a URL.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(error) => Err(ApiError::invalid(error.body_text())),
        }
    }
}
