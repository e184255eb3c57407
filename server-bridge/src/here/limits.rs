//! Every limit and timeout of `sandbridge here`, with its unit.

use std::time::Duration;

/// How long a model may take to answer the one-word request that checks it.
pub(super) const MODEL_PATIENCE: Duration = Duration::from_secs(20);
/// The name of a directory's home consists of its runner's name and this many bytes of a hash of the directory's path.
pub(super) const HOME_HASH_BYTES: usize = 8;
/// The longest name of a directory's runner, in characters: the directory's name is cut there.
pub(super) const HOME_NAME_CHARS: usize = 40;
/// The log of the server of one directory is truncated beyond this, in bytes.
pub(super) const HERE_LOG_BYTES: u64 = 4 * 1024 * 1024;
/// How long another process that has taken a directory's lock may take until other processes can join it.
pub(super) const STANDING_PATIENCE: Duration = Duration::from_secs(60);
/// The interval between checks of whether another process can be joined yet, and whether the runner is connected.
pub(super) const STANDING_INTERVAL: Duration = Duration::from_millis(10);
/// How long the runner of a directory may take to connect.
pub(super) const RUNNER_START_PATIENCE: Duration = Duration::from_secs(30);
/// How long the runner of a directory may take to end itself and its commands before it is killed.
pub(super) const RUNNER_STOP_PATIENCE: Duration = Duration::from_secs(10);
/// The number of times a model's key is asked for if the keys given do not work.
pub(super) const KEY_QUESTIONS: usize = 3;
