//! Every limit and lifetime of this crate, and those of the store that its callers need.

use std::time::Duration;

pub use store::limits::{ENROLMENT_TTL_MS, NAME_MAX_CHARS, PASSWORD_MIN_CHARS};

/// The maximum number of entries in one page of the audit trail.
pub const TRAIL_PAGE_MAX_ROWS: u32 = 500;
/// How much of a login name the audit trail shows, in bytes; no account has a longer name.
pub const LOGIN_NAME_BYTES: usize = 63;
/// The shortest time between two entries of the audit trail about a user's refused logins, in milliseconds.
pub const LOCKED_LOGIN_NOTED_MS: i64 = 3_600_000;
/// Random bytes of the secret for the first account: 192 bits.
pub const FIRST_SECRET_BYTES: usize = 24;
/// How long the secret for the first account is valid: a year. A server that restarts prints a new one.
pub const FIRST_SECRET_LIFETIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// How long a sign-in code is valid.
pub const SIGN_IN_LIFETIME: Duration = Duration::from_secs(5 * 60);
/// Random bytes of a sign-in code: 192 bits.
pub const SIGN_IN_BYTES: usize = 24;
/// The limit on unused sign-in codes, of all sessions together.
pub const SIGN_INS: i64 = 100;
/// How long a ticket is valid.
pub const TICKET_LIFETIME: Duration = Duration::from_secs(60);
/// Random bytes of a ticket: 192 bits.
pub const TICKET_BYTES: usize = 24;
/// The limit on unused tickets, of all sessions together.
pub const TICKETS: i64 = 10_000;
/// The limit on unused tickets of one session: enough for the pictures on a page.
pub const TICKETS_PER_SESSION: i64 = 200;
/// The limit on failed logins for one name from one address, per minute.
pub const LOGINS_PER_NAME_PER_MINUTE: u32 = 10;
/// The limit on failed logins for one name, summed over all addresses that never logged in to it, per minute.
pub const LOGINS_PER_ACCOUNT_PER_MINUTE: u32 = 30;
/// The limit on failed logins from one address under any name, per minute.
pub const LOGINS_PER_ADDRESS_PER_MINUTE: u32 = 60;
