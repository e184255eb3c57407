//! Extractors whose refusals follow the error contract.

use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::limits::{JSON_BODY_TIMEOUT, LARGE_JSON_BODY_BYTES, LARGE_JSON_BODY_TIMEOUT};
use crate::web::body::BodyRefused;
use crate::web::error::ApiError;

/// A JSON body; an invalid one is answered with an error of the API.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        // A client that sends one byte at a time must not hold a connection forever.
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

/// A JSON body that contains files, so it may be larger and arrive more slowly.
#[derive(Debug)]
pub struct LargeJson<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for LargeJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        let body = axum::body::to_bytes(request.into_body(), LARGE_JSON_BODY_BYTES);
        let body = timeout(LARGE_JSON_BODY_TIMEOUT, body).await;
        let body = body.map_err(|_| ApiError::invalid("the request's body did not arrive in time"))?;
        let body = body.map_err(|error| match BodyRefused::cause_of(&error) {
            Some(refused @ BodyRefused::TooSlow) => ApiError::invalid(refused.to_string()),
            Some(refused @ BodyRefused::TooLarge) => ApiError::new("too_large", refused.to_string()),
            None => ApiError::new(
                "too_large",
                format!("the request's body can have at most {LARGE_JSON_BODY_BYTES} bytes"),
            ),
        })?;
        serde_json::from_slice(&body).map(Self).map_err(|error| ApiError::invalid(error.to_string()))
    }
}

/// The query of a URL; an invalid one is answered with an error of the API.
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
