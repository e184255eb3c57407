//! Documents that define extensions, and the files that they name.

use std::collections::HashMap;
use std::path::Path;

use futures_util::future::join_all;
use sandbox::Sandbox;
use tokio::io::AsyncReadExt;

/// The administrator's document of that name in the server's home directory, of at most so many bytes. One that cannot be read is
/// there all the same, and empty: what it would deny is not known.
pub(crate) async fn managed(home: &Path, name: &str, most_bytes: u64) -> Option<String> {
    let path = home.join(name);
    // A link that leads nowhere is a mistake, and not the same as no file.
    match tokio::fs::symlink_metadata(&path).await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Ok(_) | Err(_) => {}
    }
    match tokio::fs::metadata(&path).await {
        // A pipe would wait for a writer.
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

/// The SHA-256 of each of these files of a workspace that is there, in hexadecimal digits.
pub(crate) async fn hashes(
    sandbox: &Sandbox,
    paths: impl IntoIterator<Item = &str>,
) -> HashMap<String, String> {
    let hashes = paths.into_iter().map(|path| async move {
        let found = sandbox.resolve(path.as_bytes()).await.ok()??;
        Some((path.to_owned(), store::hex(&found.sha256?)))
    });
    join_all(hashes).await.into_iter().flatten().collect()
}
