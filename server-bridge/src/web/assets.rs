//! The web page, embedded in the program.

use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::web::error::ApiError;

/// What `npm run build` made; empty if it never ran.
#[derive(RustEmbed)]
#[folder = "ui/dist"]
#[allow_missing = true]
struct Dist;

/// The folder of files whose names change with their content.
const HASHED: &str = "assets/";
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

/// Anything that is no route: a file of the page, or the page itself, which finds its own way by the URL.
pub async fn serve(method: Method, uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path == "api" || path.starts_with("api/") {
        return ApiError::new("not_found", "there is no such endpoint; see /api/v1/openapi.json")
            .into_response();
    }
    if method != Method::GET && method != Method::HEAD {
        return wrong_method().await.into_response();
    }
    if let Some(file) = Dist::get(path).filter(|_| !path.is_empty()) {
        let cache = if path.starts_with(HASHED) { FOREVER } else { REVALIDATE };
        return answer(file, cache);
    }
    if path.starts_with(HASHED) {
        return ApiError::new("not_found", "there is no such file; reload the page").into_response();
    }
    match Dist::get("index.html") {
        Some(page) => answer(page, REVALIDATE),
        None => not_built(),
    }
}

/// A route that exists, asked in a way that does not.
pub async fn wrong_method() -> ApiError {
    ApiError::new("method_not_allowed", "this endpoint does not take that method; see /api/v1/openapi.json")
}

fn answer(file: EmbeddedFile, cache: HeaderValue) -> Response {
    let kind = HeaderValue::from_str(file.metadata.mimetype())
        .unwrap_or(HeaderValue::from_static("application/octet-stream"));
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, cache)], file.data).into_response()
}

fn not_built() -> Response {
    let text = "Sandbridge is running, but its web page was not built into this program.\n\
                Build it with scripts/build, or use the `sandbridge` command line meanwhile.\n";
    (StatusCode::OK, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}
