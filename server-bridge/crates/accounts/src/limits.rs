//! Every limit and lifetime of this crate, and those of the store that its callers have to know.

use std::time::Duration;

pub use store::limits::{ENROLMENT_TTL_MS, NAME_MAX_CHARS, PASSWORD_MIN_CHARS};

/// The most entries in one page of the audit trail.
pub const TRAIL_PAGE_MAX_ROWS: u32 = 500;
/// The most of a name that wants to log in which the audit trail shows, in bytes; a longer one is nobody's.
pub const LOGIN_NAME_BYTES: usize = 63;
/// Random bytes of the secret that makes the first account: 192 bits.
pub const FIRST_SECRET_BYTES: usize = 24;
/// How long a code that signs a page in works.
pub const SIGN_IN_LIFETIME: Duration = Duration::from_secs(5 * 60);
/// Random bytes of such a code: 192 bits.
pub const SIGN_IN_BYTES: usize = 24;
/// Such codes that are not used yet, of all sessions.
pub const SIGN_INS: usize = 100;
