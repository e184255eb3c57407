//! Completing names of files.

use api::file::{CompletionView, Completions};
use axum::extract::State;
use sandbox::{FileKind, GlobQuery, Sandbox};
use serde::Deserialize;
use utoipa::IntoParams;

use super::kind_name;
use crate::limits::{COMPLETE_LISTED, COMPLETE_MAX, COMPLETE_PREFIX_BYTES, COMPLETIONS};
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::state::AppState;

/// The text typed so far, and the place of the files.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CompleteQuery {
    /// The beginning of a path, relative to the workspace; at most 1,024 bytes.
    #[serde(default)]
    prefix: String,
    /// A place to use instead of the active one.
    on: Option<String>,
    /// The maximum number of completions, 100 at most; 20 if absent.
    limit: Option<usize>,
}

/// Complete the name of a file: paths that begin with `prefix`, then files in any directory below whose names contain the typed
/// name, except those that `.gitignore` excludes.
#[utoipa::path(get, path = "/api/v1/files/complete", tag = "files", params(CompleteQuery),
    responses((status = 200, body = Completions), (status = 400), (status = 503)))]
pub async fn complete(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<CompleteQuery>,
) -> Result<Json<Completions>, ApiError> {
    let CompleteQuery { prefix, on, limit } = query;
    if prefix.len() > COMPLETE_PREFIX_BYTES || prefix.contains('\0') {
        return Err(ApiError::invalid(format!(
            "a prefix can have at most {COMPLETE_PREFIX_BYTES} bytes, and cannot contain NUL"
        )));
    }
    let limit = limit.unwrap_or(COMPLETIONS).clamp(1, COMPLETE_MAX);
    let sandbox = state.sandbox(&caller.user, on.as_deref()).await?;
    let (mut entries, mut more) = beside(&sandbox, &prefix).await?;
    if entries.len() <= limit && !prefix.is_empty() {
        let (elsewhere, is_cut) = beneath(&sandbox, &prefix, limit + 1).await?;
        more |= is_cut;
        for entry in elsewhere {
            if !entries.iter().any(|known| known.path == entry.path) {
                entries.push(entry);
            }
        }
    }
    more |= entries.len() > limit;
    entries.truncate(limit);
    Ok(Json(Completions { entries, more }))
}

/// The entries of the prefix's directory; none if it does not exist. Also returns true if some were skipped.
async fn beside(sandbox: &Sandbox, prefix: &str) -> Result<(Vec<CompletionView>, bool), ApiError> {
    let (directory, name) = prefix.rfind('/').map_or(("", prefix), |at| prefix.split_at(at + 1));
    let path = if directory.is_empty() { "." } else { directory };
    let mut reader = sandbox.read_dir(path.as_bytes()).await?;
    let (mut found, mut looked_at) = (Vec::new(), 0);
    while let Some(batch) = reader.next_batch().await {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) if is_nothing_there(error.kind()) => break,
            Err(error) => return Err(error.into()),
        };
        for entry in batch {
            looked_at += 1;
            // Hidden files are found only if the dot is typed.
            let Ok(text) = String::from_utf8(entry.name) else { continue };
            if text.starts_with(name) && (name.starts_with('.') || !text.starts_with('.')) {
                let path = format!("{directory}{text}");
                found.push(CompletionView { path, kind: kind_name(entry.kind) });
            }
        }
        if looked_at >= COMPLETE_LISTED {
            break;
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((found, looked_at >= COMPLETE_LISTED))
}

/// Files whose name contains the typed text, in the directory of the prefix or anywhere.
async fn beneath(
    sandbox: &Sandbox,
    prefix: &str,
    limit: usize,
) -> Result<(Vec<CompletionView>, bool), ApiError> {
    let (directory, name) = prefix.rfind('/').map_or(("", prefix), |at| prefix.split_at(at + 1));
    let directory = directory.trim_start_matches('/');
    let pattern = format!("**/{}*{}*", escaped(directory), escaped(name));
    let max_results = u32::try_from(limit).unwrap_or(u32::MAX);
    let query = GlobQuery { pattern, path: b".".to_vec(), ignored: false, max_results };
    let mut reader = sandbox.glob(query).await?;
    let mut found = Vec::new();
    while let Some(batch) = reader.next_batch().await {
        let batch = match batch {
            Ok(batch) => batch,
            // The runner cannot search, or the name makes an invalid pattern: the paths that begin with the prefix have been found
            // already.
            Err(error) => {
                tracing::debug!(%error, "names in directories below were not completed");
                break;
            }
        };
        for entry in batch.entries {
            if let Ok(path) = String::from_utf8(entry.path) {
                let path = path.strip_prefix("./").map(str::to_owned).unwrap_or(path);
                found.push(CompletionView { path, kind: kind_name(FileKind::File) });
            }
        }
    }
    let is_cut = reader.done().is_some_and(|done| done.truncated.is_some());
    Ok((found, is_cut))
}

fn is_nothing_there(kind: &str) -> bool {
    ["not_found", "not_a_directory", "escapes_workspace", "permission_denied", "name_too_long"]
        .contains(&kind)
}

/// Escapes a text so that a pattern matches it literally.
fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        if "\\?*[]{}!,".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_no_pattern() {
        assert_eq!(escaped("src/ma"), "src/ma");
        assert_eq!(escaped("a*b?[c]"), r"a\*b\?\[c\]");
        assert_eq!(escaped(r"a!b[c]{d,e}\"), r"a\!b\[c\]\{d\,e\}\\");
    }
}
