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

/// The version of the hashed data.
const VERSION: &[u8] = b"sandbridge plugin tree 1\n";

/// A file of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The file's content.
    pub content: Vec<u8>,
    /// True if the file is executable.
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
    /// Two files have the same path, or paths that some machines do not distinguish.
    #[error("`{0}` and `{1}` are the same file on some machines; rename one of them")]
    Twice(String, String),
    /// A path is both a file and a directory.
    #[error("`{0}` is a file and a directory")]
    FileAndDirectory(String),
    /// There are more files than the limit.
    #[error("there are more than {FILES} files")]
    TooManyFiles,
    /// A file is too large.
    #[error("`{0}` is larger than {most} MiB", most = FILE_BYTES / 1024 / 1024)]
    FileTooLarge(String),
    /// All files together are too large.
    #[error("together, the files are larger than {} MiB", TREE_BYTES / 1024 / 1024)]
    TooLarge,
    /// There are no files.
    #[error("there are no files")]
    Empty,
}

/// Collects files and checks them one by one.
#[derive(Debug, Default)]
pub struct TreeBuilder {
    files: BTreeMap<PluginPath, File>,
    folded: BTreeMap<String, PluginPath>,
    bytes: usize,
}

impl TreeBuilder {
    /// Adds a file with its path.
    ///
    /// # Errors
    ///
    /// Fails if the path is not allowed or occurs twice, or if a limit is exceeded.
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

    /// Returns a tree of all added files.
    ///
    /// # Errors
    ///
    /// Fails if there are no files, or if a file is also a directory.
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
    /// A tree of some files: paths, contents, and true for an executable file. Directories that all files have in common
    /// are kept.
    ///
    /// # Errors
    ///
    /// Fails as [`TreeBuilder`] does.
    pub fn of<P: AsRef<str>>(files: impl IntoIterator<Item = (P, Vec<u8>, bool)>) -> Result<Self, TreeError> {
        let mut builder = TreeBuilder::default();
        for (path, content, is_executable) in files {
            builder.add(path.as_ref(), content, is_executable)?;
        }
        builder.build()
    }

    /// The tree of an archive, `.tar.gz` or `.zip`, which are distinguished by their first bytes. A single top directory
    /// (`package/` of npm, `NAME-SHA/` of GitHub) is removed. In a repository with several plugins, `under` is the directory
    /// of the requested one: other files are ignored.
    ///
    /// # Errors
    ///
    /// Fails if the archive is broken or a bomb, or if it has an entry that is not a plain file or directory.
    pub fn of_archive(bytes: &[u8], under: &PluginPath) -> Result<Self, ArchiveError> {
        archive::read(bytes, under)
    }

    /// The files below a directory, as a separate tree; `None` if there are none.
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

    /// The file at a path.
    pub fn file(&self, path: &PluginPath) -> Option<&File> {
        self.files.get(path)
    }

    /// The file at a literal path.
    pub(crate) fn at(&self, path: &str) -> Option<&File> {
        self.files.get(&PluginPath::parse(path).ok()?)
    }

    /// The files in a directory and its subdirectories.
    pub fn below<'a>(
        &'a self,
        directory: &'a PluginPath,
    ) -> impl Iterator<Item = (&'a str, &'a PluginPath, &'a File)> {
        self.files.iter().filter_map(|(path, file)| Some((path.below(directory)?, path, file)))
    }

    /// True if there is a directory with this path.
    pub fn has_directory(&self, path: &PluginPath) -> bool {
        self.below(path).next().is_some()
    }

    /// The directories and files at the top level.
    pub(crate) fn top(&self) -> BTreeSet<&str> {
        self.files.keys().filter_map(|path| path.as_str().split('/').next()).collect()
    }

    /// The total size of all files, in bytes.
    pub fn size_bytes(&self) -> usize {
        self.files.values().map(|file| file.content.len()).sum()
    }

    /// The identity of the plugin: the SHA-256 of all paths, modes and contents, in hexadecimal digits.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(VERSION);
        for (path, file) in &self.files {
            // Each part is preceded by its length, so that different trees never have the same hashed text.
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
