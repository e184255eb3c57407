//! Every limit of plugins and marketplaces.

/// The largest archive, compressed, in bytes.
pub const ARCHIVE_BYTES: usize = 64 * 1024 * 1024;
/// The largest amount of data that is decompressed from one archive, in bytes: a plugin may be a small part of a large
/// repository.
pub const DECOMPRESSED_BYTES: u64 = 512 * 1024 * 1024;
/// The largest number of entries of one archive, including directories.
pub const ARCHIVE_ENTRIES: usize = 50_000;
/// The largest extended header of an archive's entry, in bytes.
pub const EXTENDED_HEADER_BYTES: u64 = 64 * 1024;
/// The largest number of files of one plugin.
pub const FILES: usize = 10_000;
/// The largest file of a plugin, in bytes.
pub const FILE_BYTES: usize = 16 * 1024 * 1024;
/// The largest total size of all files of a plugin, in bytes.
pub const TREE_BYTES: usize = 64 * 1024 * 1024;
/// The longest path within a plugin, in bytes.
pub const PATH_BYTES: usize = 512;
/// The longest name of a file or directory, in bytes.
pub const PATH_NAME_BYTES: usize = 255;
/// The deepest nesting of directories.
pub const PATH_DEPTH: usize = 32;

/// The largest manifest, and the largest document of hooks or servers, in bytes.
pub const DOCUMENT_BYTES: usize = 256 * 1024;
/// The largest document of a marketplace, in bytes.
pub const MARKETPLACE_BYTES: usize = 4 * 1024 * 1024;
/// The largest number of plugins of one marketplace.
pub const MARKETPLACE_PLUGINS: usize = 5_000;
/// The longest name of a plugin, a marketplace, a skill, a command or a role, in characters.
pub const NAME_CHARS: usize = 64;
/// The longest description, in characters.
pub const DESCRIPTION_CHARS: usize = 1_024;
/// The longest other text of a manifest or a head, in characters.
pub const FIELD_CHARS: usize = 512;
/// The largest number of keywords, authors' fields, paths or tools in one list.
pub const LIST_ITEMS: usize = 256;
/// The largest text of a skill, a command or a role, in bytes.
pub const TEXT_BYTES: usize = 256 * 1024;
/// The largest number of skills, commands, roles, documents of hooks or servers of one plugin, for each kind.
pub const COMPONENTS: usize = 500;
/// The largest number of problems, and of unused parts, that are listed for one plugin or marketplace.
pub const FINDINGS: usize = 200;
/// The longest text from a document that a message repeats, in characters.
pub const QUOTED_CHARS: usize = 60;

/// The longest arguments of a command, in bytes.
pub const ARGUMENTS_BYTES: usize = 64 * 1024;
/// The longest prompt to which a command expands, in bytes, without the output of its shell lines and the content of
/// its files.
pub const PROMPT_BYTES: usize = 512 * 1024;
/// The largest number of shell lines, and of files, in one command.
pub const PROMPT_PARTS: usize = 64;
