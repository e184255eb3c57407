//! Every limit and timeout of requests to S3, with its unit in its name or type.

use std::time::Duration;

/// How long one operation may take, including retries.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How long connecting may take.
pub const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// How many times an operation is tried while S3 is unreachable or asks to slow down.
pub const ATTEMPTS: u32 = 3;
/// The pause before the second attempt; each further pause is twice as long.
pub const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The largest object, in bytes.
pub const OBJECT_MAX_BYTES: usize = 64 * 1024 * 1024;
/// The maximum number of objects of one page of a list.
pub const LIST_ROWS: usize = 1000;
/// The longest list or error that is read, in bytes.
pub const ANSWER_MAX_BYTES: usize = 4 * 1024 * 1024;
/// The longest location of a bucket, in bytes.
pub const PLACE_MAX_BYTES: usize = 512;
