//! The web page, embedded in the program.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

use crate::web::error::ApiError;

/// The output of `npm run build`; empty if it never ran.
#[derive(RustEmbed)]
#[folder = "ui/dist"]
#[allow_missing = true]
struct Dist;

/// The folder of files whose names change with their content.
const HASHED: &str = "assets/";
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");
const BY_ENCODING: HeaderValue = HeaderValue::from_static("accept-encoding");
const GZIP: HeaderValue = HeaderValue::from_static("gzip");

/// Answers every request that is not for a route: with a file of the page, or with the page itself, which evaluates the URL.
pub async fn serve(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path == "api" || path.starts_with("api/") {
        return ApiError::new("not_found", "there is no such endpoint; see /api/v1/openapi.json")
            .into_response();
    }
    if method != Method::GET && method != Method::HEAD {
        return wrong_method().await.into_response();
    }
    if !path.is_empty()
        && let Some(answer) = answer(path, &headers)
    {
        return answer;
    }
    if path.starts_with(HASHED) {
        return ApiError::new("not_found", "there is no such file; reload the page").into_response();
    }
    answer("index.html", &headers).unwrap_or_else(not_built)
}

/// The error for an existing route with another method.
pub async fn wrong_method() -> ApiError {
    ApiError::new("method_not_allowed", "this endpoint does not take that method; see /api/v1/openapi.json")
}

/// A file of the page, compressed if there is a compressed copy and the client accepts it.
fn answer(path: &str, headers: &HeaderMap) -> Option<Response> {
    let file = Dist::get(path)?;
    let cache = if path.starts_with(HASHED) { FOREVER } else { REVALIDATE };
    let kind = HeaderValue::from_str(file.metadata.mimetype())
        .unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let about = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, cache), (header::VARY, BY_ENCODING)];
    let compressed = accepts_gzip(headers).then(|| Dist::get(&format!("{path}.gz"))).flatten();
    Some(match compressed {
        Some(packed) => (about, [(header::CONTENT_ENCODING, GZIP)], packed.data).into_response(),
        None => (about, file.data).into_response(),
    })
}

/// True if the client accepts gzip and does not give it the quality 0.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).into_iter();
    let mut offers = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    offers.any(|offer| {
        let mut parts = offer.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let refused = |weight: &str| weight.strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
        is_gzip && !parts.any(refused)
    })
}

fn not_built() -> Response {
    let text = "Sandbridge is running, but its web page was not built into this program.\n\
                Build it with scripts/build, or use the `sandbridge` command line in the meantime.\n";
    (StatusCode::OK, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_who_takes_it() {
        let accepts = |value: &'static str| {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))]);
            accepts_gzip(&headers)
        };
        assert!(accepts("gzip, deflate, br") && accepts("br;q=1.0, GZIP;q=0.5"));
        assert!(!accepts("br") && !accepts("gzip;q=0") && !accepts("identity;q=1, gzip; q=0.0"));
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
