//! Paths that cannot leave their root: every file operation acts on directory handles, never on strings.
//!
//! A confined command can plant a symbolic link, swap a directory for one between a check and its use, or
//! name `/proc/self/root`; a file API that compares path strings follows all of them out of the workspace.
//! Here a path is resolved by the kernel below an open handle of the root (`openat2` with
//! `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS`; where it is missing, `cap-std` walks component by component),
//! and what happens next uses the handle that came out: nothing is checked first and opened by name later.
//!
//! ```
//! # use std::io::{Read, Write};
//! # let workspace = tempfile::tempdir()?;
//! let root = pathguard::Root::open(workspace.path())?;
//! let mut pending = root.create_file("notes/today.txt", pathguard::CreateOptions { parents: true, ..Default::default() })?;
//! pending.write_all(b"hello")?;
//! pending.commit()?; // until here the file is invisible
//!
//! let mut text = String::new();
//! root.open_file("notes/today.txt")?.into_file().read_to_string(&mut text)?;
//! assert_eq!(text, "hello");
//! assert_eq!(root.open_file("../secret").unwrap_err(), pathguard::Error::EscapesRoot);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Paths
//! Bytes, relative to the root, or absolute below it (as the root was given, or its canonical form); `.` is
//! the root. `..` and symbolic links are fine as long as they stay below the root at every step. An absolute symbolic link
//! is refused even where it points back inside: its text means another place in a container or after the workspace has
//! moved. The existence of files outside is never revealed: a link to an existing file and one to a missing file give the
//! same [`Error::EscapesRoot`].
//!
//! # Modules
//! | module | holds |
//! |---|---|
//! | `root` | [`Root`]: the handle; guarded resolution, the only place that takes a path apart from its handle |
//! | `path` | the grammar of paths, before any system call |
//! | `read` | [`OpenFile`], [`ReadDir`], stat and lstat |
//! | `write` | [`PendingFile`]: temporary file, fsync, rename |
//! | `walk` | [`Walk`]: everything below a directory, links not followed |
//! | [`tree`] | whole trees as tar archives, out and in |
//! | `directories` | `mkdir_all` and `rename` |
//! | `remove` | `remove` and `remove_all` |
//! | `resolve` | [`Resolved`]: a path's target, and the file there |
//! | `metadata`, `error`, [`limits`] | a file's metadata, the errors, and the limits |
//!
//! Linux only and synchronous; every handle is close-on-exec. A [`Root`] is cheap to clone and `Send + Sync`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod directories;
mod error;
pub mod limits;
mod metadata;
mod path;
mod read;
mod remove;
mod resolve;
mod root;
pub mod tree;
mod walk;
mod write;

pub use error::{Error, Result};
pub use metadata::{Kind, Metadata};
pub use read::{Entry, OpenFile, ReadDir};
pub use resolve::Resolved;
pub use root::{HardLinks, Protected, Root};
pub use walk::{Visit, Walk};
pub use write::{CreateOptions, PendingFile};
