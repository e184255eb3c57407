//! The parameters of requests for files.

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::web::error::ApiError;

/// A path and the place it is in.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PathQuery {
    /// Relative to the workspace, or absolute within it.
    pub(super) path: Option<String>,
    /// Instead of `path`, for a path that is not UTF-8: its bytes in URL-safe base64 without padding.
    pub(super) path_base64: Option<String>,
    /// A place to use instead of the active one.
    pub(super) on: Option<String>,
}

/// How a file is written.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WriteQuery {
    /// Permission bits in octal; the old file's, or 0644, if absent.
    pub(super) mode: Option<String>,
    /// Whether missing parent directories are made.
    #[serde(default)]
    pub(super) parents: bool,
    /// The SHA-256 that the current content must have, in hexadecimal digits; can also be given in the header `If-Match`.
    pub(super) if_match: Option<String>,
}

/// How much is removed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RemoveQuery {
    /// Whether a directory is removed with everything in it.
    #[serde(default)]
    pub(super) recursive: bool,
}

/// The place a rename happens in.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PlaceQuery {
    /// A place to use instead of the active one.
    pub(super) on: Option<String>,
}

impl PathQuery {
    pub(super) fn path(&self) -> Result<Vec<u8>, ApiError> {
        match (&self.path, &self.path_base64) {
            (Some(path), None) => Ok(path.clone().into_bytes()),
            (None, Some(encoded)) => URL_SAFE_NO_PAD
                .decode(encoded)
                .map_err(|_| ApiError::invalid("path_base64 must be URL-safe base64 without padding")),
            _ => Err(ApiError::invalid("give the path as `path`, or as `path_base64` if it is not UTF-8")),
        }
    }
}

impl WriteQuery {
    pub(super) fn mode(&self) -> Result<Option<u32>, ApiError> {
        self.mode.as_deref().map(octal_mode).transpose()
    }

    /// The condition, from the query or the header.
    pub(super) fn if_match(&self, headers: &HeaderMap) -> Result<Option<[u8; 32]>, ApiError> {
        let header = headers.get(header::IF_MATCH).map(|value| value.to_str().unwrap_or_default());
        let text = match (self.if_match.as_deref(), header) {
            (None, None) => return Ok(None),
            (Some(text), None) => text,
            (None, Some(text)) => text.trim().trim_matches('"'),
            (Some(_), Some(_)) => {
                return Err(ApiError::invalid("give If-Match or if_match, not both"));
            }
        };
        match tools::hash_of_hex(text) {
            Some(hash) => Ok(Some(hash)),
            None => Err(ApiError::invalid(
                "if_match must be the SHA-256 of the current content in 64 hexadecimal digits",
            )),
        }
    }
}

/// Parses permission bits from octal digits.
pub(super) fn octal_mode(text: &str) -> Result<u32, ApiError> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err(ApiError::invalid("mode must be octal permission bits between 0 and 0777")),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_mode_is_octal_permission_bits() {
        let mode =
            |text: &str| WriteQuery { mode: Some(text.to_owned()), parents: false, if_match: None }.mode();
        assert_eq!(mode("0644"), Ok(Some(0o644)));
        for text in ["4755", "9", "", "-1", "rw"] {
            assert!(mode(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_condition_is_a_sha_256() {
        let query = WriteQuery { mode: None, parents: false, if_match: None };
        let mut headers = HeaderMap::new();
        assert_eq!(query.if_match(&headers), Ok(None));
        headers.insert(header::IF_MATCH, HeaderValue::from_static("\"weak\""));
        assert!(query.if_match(&headers).is_err());
    }
}
