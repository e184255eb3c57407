//! Every limit and lifetime of this crate, and those of the store that its callers need.

use std::time::Duration;

pub use store::limits::{ENROLMENT_TTL_MS, NAME_MAX_CHARS, PASSWORD_MIN_CHARS};

/// The most entries in one page of the audit trail.
pub const TRAIL_PAGE_MAX_ROWS: u32 = 500;
/// How much of a login name the audit trail shows, in bytes; no account has a longer one.
pub const LOGIN_NAME_BYTES: usize = 63;
/// How often the audit trail says that a user's logins are refused, in milliseconds.
pub const LOCKED_LOGIN_NOTED_MS: i64 = 3_600_000;
/// Random bytes of the secret for the first account: 192 bits.
pub const FIRST_SECRET_BYTES: usize = 24;
/// How long a sign-in code is valid.
pub const SIGN_IN_LIFETIME: Duration = Duration::from_secs(5 * 60);
/// Random bytes of such a code: 192 bits.
pub const SIGN_IN_BYTES: usize = 24;
/// The most unused sign-in codes, of all sessions.
pub const SIGN_INS: usize = 100;
