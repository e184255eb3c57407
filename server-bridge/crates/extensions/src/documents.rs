//! Documents that define extensions, and the files that they name.

use std::collections::HashMap;
use std::path::Path;

use api::problem::Problem;
use futures_util::StreamExt;
use futures_util::stream;
use hooks::layers::Trouble;
use sandbox::{FileKind, Sandbox};
use tokio::io::AsyncReadExt;

use crate::limits::PATHS_AT_ONCE;

/// The first `most_bytes` of the administrator's document `name` in the server's home directory; `None` if there is none. A document
/// that cannot be read counts as an empty one, not as a missing one, because what it would deny is unknown.
pub(crate) async fn managed(home: &Path, name: &str, most_bytes: u64) -> Option<String> {
    let path = home.join(name);
    // A dangling link is a mistake, unlike a missing file.
    match tokio::fs::symlink_metadata(&path).await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Ok(_) | Err(_) => {}
    }
    match tokio::fs::metadata(&path).await {
        // Opening a pipe would wait for a writer.
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) | Err(_) => return Some(String::new()),
    }
    let mut content = Vec::new();
    let read = async { tokio::fs::File::open(&path).await?.take(most_bytes).read_to_end(&mut content).await };
    Some(match read.await {
        Ok(_) => String::from_utf8(content).unwrap_or_default(),
        Err(error) => {
            tracing::error!(%error, "{} cannot be read", path.display());
            String::new()
        }
    })
}

/// Converts a problem in a document of hooks to the form for clients.
pub(crate) fn of_hooks(trouble: &Trouble) -> Problem {
    let hooks::config::Problem { place, text, .. } = &trouble.problem;
    Problem::of(&trouble.origin, text).at(place)
}

/// The target of a path of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AtPath {
    /// A file with this SHA-256, in hexadecimal digits.
    File(String),
    /// A file without a hash: it is too large, or cannot be read.
    Unhashed,
    /// A directory.
    Directory,
    /// Nothing in the workspace.
    Nothing,
}

/// Looks at each of these paths of a workspace.
pub(crate) async fn look_at(
    sandbox: &Sandbox,
    paths: impl IntoIterator<Item = &str>,
) -> HashMap<String, AtPath> {
    let looks = paths.into_iter().map(|path| async move {
        let at = match sandbox.resolve(path.as_bytes()).await {
            Ok(Some(resolved)) => match (&resolved.found, resolved.sha256) {
                (Some(found), Some(sha256)) if found.kind == FileKind::File => {
                    AtPath::File(store::hex(&sha256))
                }
                (Some(found), None) if found.kind == FileKind::File => AtPath::Unhashed,
                (Some(found), _) if found.kind == FileKind::Directory => AtPath::Directory,
                _ => AtPath::Nothing,
            },
            // The runner cannot resolve paths, so it is not known what is there.
            Ok(None) => AtPath::Unhashed,
            // The path leads out of the workspace, or is not a valid path.
            Err(_) => AtPath::Nothing,
        };
        (path.to_owned(), at)
    });
    // All futures are created first, because the compiler cannot prove that a stream that creates them is `Send`.
    let looks: Vec<_> = looks.collect();
    stream::iter(looks).buffer_unordered(PATHS_AT_ONCE).collect().await
}
