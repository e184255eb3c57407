//! Reads the files of a plugin or a marketplace in a workspace; nothing of them runs.

use agent::tool::visible;
use plugins::{Tree, TreeBuilder};
use sandbox::{FileKind, Sandbox, SandboxError};

/// Directories that are not part of a plugin.
const LEFT_OUT: [&[u8]; 2] = [b".git", b"node_modules"];

/// The mode bits that make a file executable.
const EXECUTABLE: u32 = 0o111;

/// The files of a directory of a workspace; of the workspace itself if the path is empty.
///
/// Fails with the reason as text; also fails for links, which could lead anywhere.
pub(super) async fn tree_on(sandbox: &Sandbox, directory: &str) -> Result<Tree, String> {
    let mut tree = TreeBuilder::default();
    let mut directories = vec![String::new()];
    while let Some(below) = directories.pop() {
        let here = joined(directory, &below);
        let mut reader =
            sandbox.read_dir(or_root(&here).as_bytes()).await.map_err(|error| unread(&here, &error))?;
        while let Some(entries) = reader.next_batch().await {
            for entry in entries.map_err(|error| unread(&here, &error))? {
                let name = String::from_utf8(entry.name).map_err(|error| {
                    format!("{:?} has a name that is not UTF-8", visible::path(error.as_bytes()))
                })?;
                let path = joined(&below, &name);
                match entry.kind {
                    FileKind::Directory if LEFT_OUT.contains(&name.as_bytes()) => {}
                    FileKind::Directory => directories.push(path),
                    FileKind::File => {
                        let place = joined(directory, &path);
                        // A file that is too large is refused before it is read.
                        if entry.size_bytes > tree.room() as u64 {
                            return Err(format!("{} is too large for a plugin", visible::line(&place)));
                        }
                        let mode = sandbox
                            .stat(place.as_bytes())
                            .await
                            .map_err(|error| unread(&place, &error))?
                            .mode;
                        let content = file_within(sandbox, &place, tree.room()).await?;
                        tree.add(&path, content, mode & EXECUTABLE != 0)
                            .map_err(|error| error.to_string())?;
                    }
                    _ => {
                        let place = visible::line(&joined(directory, &path));
                        return Err(format!(
                            "{place} is a link or a special file; a plugin can contain only regular files"
                        ));
                    }
                }
            }
        }
    }
    tree.build().map_err(|error| error.to_string())
}

/// A file of a workspace, of at most the size of a marketplace's document.
///
/// Fails with the reason as text.
pub(super) async fn file_on(sandbox: &Sandbox, path: &str) -> Result<Vec<u8>, String> {
    file_within(sandbox, path, plugins::limits::MARKETPLACE_BYTES).await
}

async fn file_within(sandbox: &Sandbox, path: &str, most_bytes: usize) -> Result<Vec<u8>, String> {
    let read = sandbox.read_beginning(path.as_bytes(), most_bytes as u64 + 1).await;
    let content = read.map_err(|error| unread(path, &error))?;
    if content.len() > most_bytes {
        return Err(format!("{} is too large", visible::line(path)));
    }
    Ok(content)
}

fn unread(path: &str, error: &SandboxError) -> String {
    format!("{} cannot be read: {error}", visible::line(or_root(path)))
}

fn or_root(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

fn joined(directory: &str, path: &str) -> String {
    match (directory, path) {
        ("", path) => path.to_owned(),
        (directory, "") => directory.to_owned(),
        (directory, path) => format!("{directory}/{path}"),
    }
}
