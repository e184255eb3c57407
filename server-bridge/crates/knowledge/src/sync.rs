//! Scans a runner's folder: queues new and changed files, and removes documents whose files no longer exist. If very many
//! are missing, the owner has to confirm the removal first.
//!
//! The runner finds the files: none outside the folder, and none that `.gitignore` excludes; it follows no links. A file is read again only
//! if its size or time differs from that of the indexed content.

use std::collections::HashMap;

use sandbox::{FileKind, GlobQuery, SandboxError};
use store::{Document, DocumentId, DocumentState, FileSeen, IndexJob, SyncState};

use crate::limits::{DOCUMENT_BYTES, FOLDER_FILES, LOSS_DOCUMENTS, QUEUE_BATCH};
use crate::service::Knowledge;

/// Extensions of files that are not documents; they are skipped without a message.
const LEFT_OUT: &[&str] = &[
    "7z", "a", "avi", "bin", "bmp", "bz2", "class", "dll", "dylib", "eot", "exe", "flac", "gif", "gz", "ico",
    "jar", "jpeg", "jpg", "lock", "m4a", "mkv", "mov", "mp3", "mp4", "o", "ogg", "otf", "png", "pyc", "rar",
    "rlib", "so", "svg", "tar", "tgz", "tif", "tiff", "ttf", "wasm", "wav", "webm", "webp", "woff", "woff2",
    "xz", "zip", "zst",
];

/// The reason why a folder or a file cannot be read.
pub(crate) enum Trouble {
    /// The runner cannot be reached now.
    Away(String),
    /// The runner refused.
    Refused(String),
}

impl From<SandboxError> for Trouble {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Remote { message, .. } => Self::Refused(message),
            other => Self::Away(other.to_string()),
        }
    }
}

/// The result of a scan: changed files, and documents whose files no longer exist.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    changed: Vec<FileSeen>,
    missing: Vec<DocumentId>,
}

/// The path of a file of a folder, for the runner.
pub(crate) fn path_of(folder: &str, name: &str) -> Vec<u8> {
    match folder.trim_end_matches('/') {
        "" if folder.starts_with('/') => format!("/{name}").into_bytes(),
        "" | "." => name.as_bytes().to_vec(),
        folder => format!("{folder}/{name}").into_bytes(),
    }
}

impl Knowledge {
    /// Runs the job of a folder. Failures of the scan are recorded with the collection; only the store's errors are returned.
    pub(crate) async fn look(&self, job: &IndexJob) -> store::Result<()> {
        let scanned = match (self.0.machines)(job.user_id, job.place.clone()).await {
            Ok(sandbox) => scan(&sandbox, &job.path).await,
            Err(why) => Err(Trouble::Away(why)),
        };
        let Scanned { files, too_large, is_whole } = match scanned {
            Ok(found) => found,
            Err(Trouble::Away(why)) => return self.end(job, SyncState::Offline, &why).await,
            Err(Trouble::Refused(why)) => {
                let note = format!(
                    "{why}; its documents are kept; delete the collection if the folder no longer exists"
                );
                return self.end(job, SyncState::Gone, &note).await;
            }
        };
        let known = self.0.store.folder_documents(job.user_id, job.collection_id).await?;
        let plan = plan(&known, files, &too_large);
        if is_loss(known.len(), plan.missing.len()) && is_whole && !job.accepts_missing {
            let note = format!(
                "documents missing from the folder: {} of {}; they are kept until you confirm that they are gone \
                 (sandbridge knowledge sync --remove-missing)",
                plan.missing.len(),
                known.len()
            );
            return self.end(job, SyncState::Gone, &note).await;
        }
        let mut left_out = 0;
        for batch in plan.changed.chunks(QUEUE_BATCH) {
            left_out += self.0.store.queue_files(job.user_id, job.collection_id, batch).await?;
        }
        if is_whole && !plan.missing.is_empty() {
            self.remove(job.user_id, job.collection_id, &plan.missing).await?;
        }
        let note = match is_whole {
            true if left_out > 0 => format!(
                "files left out: {left_out}; your documents can have at most {} GiB together; delete some first",
                store::limits::DOCUMENT_BYTES_PER_USER >> 30
            ),
            true => too_large.first().map_or_else(String::new, |first| {
                format!(
                    "files that are too large and left out: {}, such as {first}; at most {} MiB of a file are read; split them",
                    too_large.len(),
                    DOCUMENT_BYTES / 1024 / 1024
                )
            }),
            false => format!(
                "the folder has more than {FOLDER_FILES} files; the newest are indexed, and no document is removed"
            ),
        };
        self.end(job, SyncState::Synced, &note).await
    }

    pub(crate) async fn folder_failed(&self, job: &IndexJob, note: &str) -> store::Result<()> {
        self.end(job, SyncState::Failed, note).await
    }

    async fn end(&self, job: &IndexJob, state: SyncState, note: &str) -> store::Result<()> {
        self.0.store.set_collection_sync(job.collection_id, state, note).await?;
        self.0.store.drop_job(job.id).await
    }
}

/// The files of a folder.
#[derive(Default)]
struct Scanned {
    /// Those that are read.
    files: Vec<FileSeen>,
    /// The names of those that have more bytes than the limit. What was indexed of them before stays.
    too_large: Vec<String>,
    /// True if these are all of them.
    is_whole: bool,
}

/// The files of a folder.
async fn scan(sandbox: &sandbox::Sandbox, folder: &str) -> Result<Scanned, Trouble> {
    let path = folder.as_bytes().to_vec();
    // A search in a folder that does not exist finds nothing, so its existence is checked first.
    sandbox.read_dir(&path).await?.next_batch().await.transpose()?;
    let prefix = path_of(folder, "");
    let query = GlobQuery { pattern: "**".to_owned(), path, ignored: false, max_results: FOLDER_FILES };
    let mut found = sandbox.glob(query).await?;
    let mut scanned = Scanned::default();
    while let Some(batch) = found.next_batch().await {
        for entry in batch?.entries {
            let below = entry.path.strip_prefix(prefix.as_slice()).unwrap_or(&entry.path);
            let below = below.strip_prefix(b"./").unwrap_or(below);
            let Ok(name) = std::str::from_utf8(below) else { continue };
            // Files beyond the requested number are ignored.
            let count = scanned.files.len() + scanned.too_large.len();
            if count >= usize::try_from(FOLDER_FILES).unwrap_or(usize::MAX) {
                return Ok(scanned);
            }
            if name.len() > store::limits::DOCUMENT_NAME_MAX_BYTES {
                continue;
            }
            if entry.kind != FileKind::File || !is_wanted(name) {
                continue;
            }
            if entry.size_bytes > DOCUMENT_BYTES {
                scanned.too_large.push(name.to_owned());
                continue;
            }
            let size_bytes = i64::try_from(entry.size_bytes).unwrap_or(i64::MAX);
            scanned.files.push(FileSeen {
                name: name.to_owned(),
                size_bytes,
                modified_ms: entry.modified_ms,
            });
        }
    }
    scanned.is_whole = found.done().is_some_and(|done| done.truncated.is_none());
    Ok(scanned)
}

/// False for hidden files, which hold settings and secrets, and for files without text.
fn is_wanted(name: &str) -> bool {
    let is_hidden = name.split('/').any(|part| part.starts_with('.'));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    !is_hidden && !LEFT_OUT.contains(&ending.as_str()) && !name.chars().any(char::is_control)
}

fn plan(known: &[Document], files: Vec<FileSeen>, too_large: &[String]) -> Plan {
    let mut by_name: HashMap<&str, &Document> = known.iter().map(|one| (one.name.as_str(), one)).collect();
    for name in too_large {
        by_name.remove(name.as_str());
    }
    let mut plan = Plan::default();
    for file in files {
        let is_same = by_name.remove(file.name.as_str()).is_some_and(|one| {
            one.size_bytes == file.size_bytes
                && one.modified_ms == file.modified_ms
                && one.state != DocumentState::Waiting.as_str()
        });
        if !is_same {
            plan.changed.push(file);
        }
    }
    plan.missing = by_name.into_values().map(|one| one.id).collect();
    plan.missing.sort_unstable();
    plan
}

/// True if so many documents are missing that it may be a mistake, such as an unmounted disk, another branch or a moved folder.
fn is_loss(known: usize, missing: usize) -> bool {
    missing > 0 && (missing == known || known >= LOSS_DOCUMENTS && missing * 2 > known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(id: i64, name: &str, state: DocumentState) -> Document {
        Document {
            id: DocumentId(id),
            collection_id: store::CollectionId(1),
            name: name.to_owned(),
            state: state.as_str().to_owned(),
            note: String::new(),
            version: 1,
            kind: "text".to_owned(),
            pages: 1,
            sha256: String::new(),
            size_bytes: 3,
            modified_ms: 5,
            updated_at_ms: 0,
        }
    }

    fn file(name: &str, modified_ms: i64) -> FileSeen {
        FileSeen { name: name.to_owned(), size_bytes: 3, modified_ms }
    }

    #[test]
    fn only_what_changed_is_queued_and_what_is_gone_is_known() {
        let known = [
            document(1, "same", DocumentState::Ready),
            document(2, "changed", DocumentState::Ready),
            document(3, "waits", DocumentState::Waiting),
            document(4, "broken", DocumentState::Failed),
            document(5, "gone", DocumentState::Ready),
            document(6, "grown", DocumentState::Ready),
        ];
        let files =
            vec![file("same", 5), file("changed", 6), file("waits", 5), file("broken", 5), file("new", 5)];
        let plan = plan(&known, files, &["grown".to_owned(), "film".to_owned()]);
        let names: Vec<_> = plan.changed.iter().map(|file| file.name.as_str()).collect();
        assert_eq!((names, plan.missing), (vec!["changed", "waits", "new"], vec![DocumentId(5)]));
    }

    #[test]
    fn a_folder_that_lost_much_has_to_be_confirmed() {
        assert!(is_loss(1, 1) && is_loss(10, 6) && is_loss(100, 100));
        assert!(!is_loss(0, 0) && !is_loss(10, 5) && !is_loss(5, 3));
    }

    #[test]
    fn hidden_files_and_pictures_are_left_out() {
        assert!(is_wanted("a/b.md") && is_wanted("Makefile"));
        assert!(!is_wanted(".env") && !is_wanted("a/.git/config") && !is_wanted("logo.PNG"));
        assert_eq!(path_of("src/", "a.rs"), b"src/a.rs");
        assert_eq!((path_of(".", "a"), path_of("/", "a")), (b"a".to_vec(), b"/a".to_vec()));
    }
}
