//! The files of a plugin, in memory: checked when they are added, with a hash that identifies them.

mod archive;
pub mod path;
mod tar;
mod zip;

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

pub use archive::ArchiveError;
pub use path::{PathError, PluginPath};

use crate::limits::{FILE_BYTES, FILES, TREE_BYTES};

/// The version of what is hashed.
const VERSION: &[u8] = b"sandbridge plugin tree 1\n";

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its content.
    pub content: Vec<u8>,
    /// True if it may be run.
    pub is_executable: bool,
}

/// The files of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    files: BTreeMap<PluginPath, File>,
}

/// The reason why files are refused as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// A path is not allowed.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A file has no name.
    #[error("a file has no name")]
    NoName,
    /// Two files have one path, or paths that some machines do not tell apart.
    #[error("`{0}` and `{1}` are the same file on some machines; rename one of them")]
    Twice(String, String),
    /// A file is a directory too.
    #[error("`{0}` is a file and a directory")]
    FileAndDirectory(String),
    /// There are more files than the limit.
    #[error("there are more than {FILES} files")]
    TooManyFiles,
    /// A file is too large.
    #[error("`{0}` is larger than {most} MiB", most = FILE_BYTES / 1024 / 1024)]
    FileTooLarge(String),
    /// All files together are too large.
    #[error("the files have more than {} MiB together", TREE_BYTES / 1024 / 1024)]
    TooLarge,
    /// There are no files.
    #[error("there are no files")]
    Empty,
}

/// Collects files, one after the other.
#[derive(Debug, Default)]
pub struct TreeBuilder {
    files: BTreeMap<PluginPath, File>,
    folded: BTreeMap<String, PluginPath>,
    bytes: usize,
}

impl TreeBuilder {
    /// Adds a file.
    ///
    /// # Errors
    ///
    /// A path that is not allowed or that occurs twice, and what exceeds a limit.
    pub fn add(&mut self, path: &str, content: Vec<u8>, is_executable: bool) -> Result<(), TreeError> {
        let path = PluginPath::parse(path)?;
        if path.is_root() {
            return Err(TreeError::NoName);
        }
        if content.len() > FILE_BYTES {
            return Err(TreeError::FileTooLarge(path.to_string()));
        }
        self.bytes += content.len();
        if self.bytes > TREE_BYTES {
            return Err(TreeError::TooLarge);
        }
        if let Some(other) = self.folded.insert(path.folded(), path.clone()) {
            return Err(TreeError::Twice(other.to_string(), path.to_string()));
        }
        self.files.insert(path, File { content, is_executable });
        if self.files.len() > FILES {
            return Err(TreeError::TooManyFiles);
        }
        Ok(())
    }

    /// The bytes that may still be added as one file.
    pub fn room(&self) -> usize {
        (TREE_BYTES - self.bytes.min(TREE_BYTES)).min(FILE_BYTES)
    }

    /// All of the files.
    ///
    /// # Errors
    ///
    /// There are none, or one is a directory too.
    pub fn build(self) -> Result<Tree, TreeError> {
        if self.files.is_empty() {
            return Err(TreeError::Empty);
        }
        for path in self.files.keys() {
            let mut above = path.parent();
            while !above.is_root() {
                if self.folded.contains_key(&above.folded()) {
                    return Err(TreeError::FileAndDirectory(above.to_string()));
                }
                above = above.parent();
            }
        }
        Ok(Tree { files: self.files })
    }
}

impl Tree {
    /// The tree of some files: paths, contents, and whether they may be run. Directories that all files have in common are
    /// kept.
    ///
    /// # Errors
    ///
    /// What [`TreeBuilder`] refuses.
    pub fn of<P: AsRef<str>>(files: impl IntoIterator<Item = (P, Vec<u8>, bool)>) -> Result<Self, TreeError> {
        let mut builder = TreeBuilder::default();
        for (path, content, is_executable) in files {
            builder.add(path.as_ref(), content, is_executable)?;
        }
        builder.build()
    }

    /// The tree of an archive, `.tar.gz` or `.zip`, told apart by its first bytes. A single top directory (`package/` of npm,
    /// `NAME-SHA/` of GitHub) is removed. Of a repository with several plugins, `under` is the directory of the one that is
    /// wanted: what is elsewhere is not looked at.
    ///
    /// # Errors
    ///
    /// An archive that is broken, a bomb, or has an entry that is not a plain file or directory.
    pub fn of_archive(bytes: &[u8], under: &PluginPath) -> Result<Self, ArchiveError> {
        archive::read(bytes, under)
    }

    /// The files below a directory, as a tree of their own; `None` if there are none.
    pub fn subtree(&self, directory: &PluginPath) -> Option<Self> {
        let below = self.below(directory);
        let files: BTreeMap<PluginPath, File> =
            below.filter_map(|(rest, _, file)| Some((PluginPath::parse(rest).ok()?, file.clone()))).collect();
        (!files.is_empty()).then_some(Self { files })
    }

    /// The files, in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&PluginPath, &File)> {
        self.files.iter()
    }

    /// A file.
    pub fn file(&self, path: &PluginPath) -> Option<&File> {
        self.files.get(path)
    }

    /// A file of a literal path.
    pub(crate) fn at(&self, path: &str) -> Option<&File> {
        self.files.get(&PluginPath::parse(path).ok()?)
    }

    /// The files in a directory and in those below it.
    pub fn below<'a>(
        &'a self,
        directory: &'a PluginPath,
    ) -> impl Iterator<Item = (&'a str, &'a PluginPath, &'a File)> {
        self.files.iter().filter_map(|(path, file)| Some((path.below(directory)?, path, file)))
    }

    /// True if there is a directory of this path.
    pub fn has_directory(&self, path: &PluginPath) -> bool {
        self.below(path).next().is_some()
    }

    /// The directories and files at the top.
    pub(crate) fn top(&self) -> BTreeSet<&str> {
        self.files.keys().filter_map(|path| path.as_str().split('/').next()).collect()
    }

    /// The number of bytes of all files.
    pub fn size_bytes(&self) -> usize {
        self.files.values().map(|file| file.content.len()).sum()
    }

    /// The identity of the plugin: the SHA-256, in hexadecimal, of all paths, modes and contents.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(VERSION);
        for (path, file) in &self.files {
            // Each length precedes what it measures, so that no two trees have the same text.
            hash.update((path.as_str().len() as u64).to_be_bytes());
            hash.update(path.as_str().as_bytes());
            hash.update([u8::from(file.is_executable)]);
            hash.update((file.content.len() as u64).to_be_bytes());
            hash.update(&file.content);
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests;
