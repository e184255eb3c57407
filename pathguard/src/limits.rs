//! Every limit of this crate, with its unit and its reason.

/// A path's size in bytes, including the closing NUL that the kernel adds (`PATH_MAX`): the path itself may have 4,095 bytes.
pub const PATH_SIZE_BYTES: usize = 4096;

/// The size of one component in bytes (`NAME_MAX` of every common Linux file system).
pub const NAME_SIZE_BYTES: usize = 255;

/// How many symbolic links one path may lead through, as in the kernel and in cap-std.
pub const SYMLINKS: usize = 40;

/// The permission bits a caller may set; set-user-id, set-group-id and sticky are stripped.
pub const MODE_BITS: u32 = 0o777;

/// The mode of a new file when none is given, reduced by the umask.
pub const FILE_MODE: u32 = 0o644;

/// The mode of missing folders created for a new file, reduced by the umask.
pub const DIRECTORY_MODE: u32 = 0o777;

/// How many levels `remove_all` descends with one open descriptor each; deeper directories are hoisted.
pub const REMOVE_DEPTH: usize = 64;

/// How many times `remove_all` starts over because entries were hoisted or keep appearing.
pub const REMOVE_PASSES: usize = 65_536;

/// How many times a name that turns from directory to file and back between two calls is tried again.
pub const REMOVE_SWAPS: usize = 64;

/// The maximum depth of directories in a walk or an archive; each level holds one descriptor open.
pub const TREE_DEPTH: usize = 128;

/// The maximum number of entries of one archive, including directories that are only implied by names.
pub const TREE_ENTRIES: u64 = 500_000;

/// The limit on the content of one archive, in bytes.
pub const TREE_SIZE_BYTES: u64 = 64 * 1024 * 1024 * 1024;

/// The longest extended header of an archive, in bytes: enough for a path and a link's target.
pub const TREE_HEADER_SIZE_BYTES: u64 = 32 * 1024;

/// The maximum number of directories of one archive whose mode has to wait until they are complete.
pub const TREE_LATE_MODES: usize = 10_000;

/// How much of a path an error shows, in characters.
pub const TREE_SHOWN_CHARACTERS: usize = 200;
