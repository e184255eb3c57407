//! Errors, split by who is to blame.

use std::path::PathBuf;

use sqlx::migrate::MigrateError;

use crate::away;
use crate::limits::SEARCH_TIMEOUT;

/// SQLite's code for an interrupted statement.
const SQLITE_INTERRUPT: &str = "9";
/// PostgreSQL's code for one: `query_canceled`.
const POSTGRES_CANCELED: &str = "57014";
/// SQLite's codes for a full disk: for the database and its log, and for the index of the log in shared memory.
const SQLITE_FULL: [&str; 2] = ["13", "4874"];
/// PostgreSQL's code for one: `disk_full`.
const POSTGRES_FULL: &str = "53100";
/// The code that the functions `lock_home` and `check_node` raise.
const POSTGRES_FENCED: &str = "SB001";
/// The prefixes of the codes with which PostgreSQL reports that it is shutting down, not ready, or accepts no more connections:
/// the classes `connection_exception`, `insufficient_resources` and `operator_intervention`.
const POSTGRES_AWAY: [&str; 3] = ["08", "53", "57"];

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error of the store.
///
/// The first group is the caller's fault, and its text may be shown to a user. The second is the operator's or the
/// machine's: log it, and report to the user only that the server could not do it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not a valid name; with the rule.
    #[error(
        "{name:?} is not a valid name: use 1 to 63 characters of a-z, 0-9, '_', '.' and '-', beginning with a letter \
         or a digit"
    )]
    InvalidName {
        /// The beginning of the given text.
        name: String,
    },
    /// The name is well formed but reserved.
    #[error("the name {name:?} is reserved; choose another")]
    ReservedName {
        /// The name.
        name: String,
    },
    /// A value breaks a rule; with the rule.
    #[error("the {what} {rule}")]
    Invalid {
        /// The value, in a user's terms: `password`, `chat id`.
        what: &'static str,
        /// The rule it breaks, as the rest of a sentence.
        rule: String,
    },
    /// It does not exist, or belongs to another user.
    #[error("there is no {what} {name:?}")]
    NotFound {
        /// The kind of thing.
        what: &'static str,
        /// Its name or id.
        name: String,
    },
    /// The name is in use.
    #[error("there is already a {what} {name:?}; choose another name")]
    Taken {
        /// The kind of thing it would name.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The exec id was used for a different request.
    #[error("exec {exec_id} was already started with a different request; use a new id")]
    Conflict {
        /// The id.
        exec_id: String,
    },

    /// A provider's key cannot be read.
    #[error(
        "the key of this model cannot be decrypted: it was changed or moved in the database; give the key again"
    )]
    Sealed,

    /// The keys in the database are sealed with another encryption key than the given one.
    #[error(
        "the keys of {keys} models are sealed with a different encryption key from the one that the server was given; start it \
         with the right one (--encryption-key-file, SANDBRIDGE_ENCRYPTION_KEY, or sandbridge.key in the home directory), or with \
         --forget-sealed-keys to remove them, so that their owners can give them again"
    )]
    EncryptionKey {
        /// The number of keys that would be lost.
        keys: u64,
    },
    /// The store was opened without an encryption key, so it neither stores nor reads secrets.
    #[error("the database was opened without its encryption key")]
    Locked,
    /// The database file cannot be created or opened.
    #[error("cannot open the database {}: {source}; check that the folder exists and is yours", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The address of a PostgreSQL database is invalid, or the database there cannot be used.
    #[error(
        "cannot use the database: {why}; the address is like postgres://user:password@host:5432/sandbridge"
    )]
    DatabaseUrl {
        /// The reason.
        why: String,
    },
    /// No PostgreSQL server answers there, or it refuses the connection.
    #[error(
        "cannot connect to the database {place}: {source}; check that PostgreSQL runs there and lets this user in"
    )]
    Unreachable {
        /// The database, its host and port.
        place: String,
        /// Why.
        source: sqlx::Error,
    },
    /// The bucket of long values cannot be reached, or refuses.
    #[error("cannot use the object store {place}: {source}")]
    Blobs {
        /// The bucket, and its server.
        place: String,
        /// Why.
        source: Box<s3::Error>,
    },
    /// The given bucket does not have this database's objects.
    #[error(
        "the objects of this database are not in {place}; give the --blobs with which they were written, or copy them there first, with the \
         object `marker` beside them"
    )]
    OtherBucket {
        /// The bucket, and its server.
        place: String,
    },
    /// A row names an object, and the store was opened without a bucket.
    #[error(
        "this value is the object {object} of an object store, and the server runs without one; start it with the --blobs s3://BUCKET[/PREFIX] with \
         which it was written"
    )]
    NoBlobs {
        /// The object.
        object: String,
    },
    /// An object that a row names is missing, or is not what was written.
    #[error(
        "the object {object} of the object store {place} cannot be used: {why}; restore it from a copy of the bucket"
    )]
    BlobLost {
        /// The bucket, and its server.
        place: String,
        /// The object.
        object: String,
        /// What is wrong with it.
        why: String,
    },
    /// Another server uses this database.
    #[error("another server uses the database {place}; stop it, or name another database")]
    InUse {
        /// The database, its host and port.
        place: String,
    },
    /// A live node has this URL already.
    #[error("another node uses the URL {url}; stop it, or give this one a different --node-url")]
    NodeUrlInUse {
        /// The URL.
        url: String,
    },
    /// A live node's program cannot work beside this one.
    #[error(
        "the node {url} runs version {version}, which cannot work with the same database as this version; stop that node first, or start \
         the same version here"
    )]
    NodeVersion {
        /// That node's URL.
        url: String,
        /// Its version.
        version: String,
    },
    /// The database's secrets are sealed with another key than this node's.
    #[error(
        "this node has a different encryption key from the one that the database is sealed with; give all nodes the same key \
         (--encryption-key-file, SANDBRIDGE_ENCRYPTION_KEY, or the same sandbridge.key in each home directory)"
    )]
    NodeKey,
    /// Another node is the home of this user, or this node counts as gone: the change was not made.
    #[error("another node of this server works for this user now; send the request again")]
    Fenced,
    /// The database was copied to another one, which took its place.
    #[error(
        "the database was copied to {to}, which has replaced it; use that one (give --database for PostgreSQL, leave it out for \
         a file), or copy that one back into an empty database with `sandbridge store copy`"
    )]
    Moved {
        /// The other database.
        to: String,
    },
    /// A database cannot be copied to another one.
    #[error("cannot copy the database: {why}")]
    Copy {
        /// The reason, and what to do.
        why: String,
    },
    /// A newer version of the program has written this database.
    #[error(
        "the database has schema {found} and this version knows only up to {known}; run the newer version, or restore \
         the backup made before the upgrade"
    )]
    NewerSchema {
        /// The newest step in the database.
        found: i64,
        /// The newest step this program carries.
        known: i64,
    },
    /// The database could not be brought to this version's schema.
    #[error("the database could not be upgraded: {0}")]
    Migration(#[source] MigrateError),
    /// The database refused or failed.
    #[error("the database failed: {0}")]
    Database(#[source] sqlx::Error),
    /// A password could not be hashed, or a stored hash is unreadable.
    #[error("password hashing failed: {0}")]
    PasswordHash(String),
}

impl From<records::Invalid> for Error {
    fn from(records::Invalid { what, rule }: records::Invalid) -> Self {
        Self::Invalid { what, rule: rule.to_owned() }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        if is_fenced(&error) { Self::Fenced } else { Self::Database(error) }
    }
}

impl Error {
    /// True if the caller's input is at fault, so the text may be shown to a user.
    pub fn is_callers(&self) -> bool {
        match self {
            Self::InvalidName { .. }
            | Self::ReservedName { .. }
            | Self::Invalid { .. }
            | Self::NotFound { .. }
            | Self::Taken { .. }
            | Self::Conflict { .. }
            | Self::Sealed => true,
            Self::EncryptionKey { .. }
            | Self::Locked
            | Self::Open { .. }
            | Self::DatabaseUrl { .. }
            | Self::Unreachable { .. }
            | Self::Blobs { .. }
            | Self::OtherBucket { .. }
            | Self::NoBlobs { .. }
            | Self::BlobLost { .. }
            | Self::InUse { .. }
            | Self::NodeUrlInUse { .. }
            | Self::NodeVersion { .. }
            | Self::NodeKey
            | Self::Fenced
            | Self::Moved { .. }
            | Self::Copy { .. }
            | Self::NewerSchema { .. }
            | Self::Migration(_)
            | Self::Database(_)
            | Self::PasswordHash(_) => false,
        }
    }

    /// The error's name in the HTTP interface; `internal` if only the operator may see its text.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not_found",
            Self::Taken { .. } | Self::Conflict { .. } => "conflict",
            error if error.is_callers() => "invalid",
            error if error.is_passing() || error.is_full() => "unavailable",
            _ => "internal",
        }
    }

    /// True if the database server or the bucket of long values cannot be reached, so that a retry may succeed later.
    pub fn is_away(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Blobs { source, .. } => source.is_passing(),
            Self::Database(error) => is_away(error),
            _ => false,
        }
    }

    /// True if the disk of the database is full, so that a change may succeed when there is room again.
    pub fn is_full(&self) -> bool {
        let Self::Database(error) = self else { return false };
        let code = error.as_database_error().and_then(|error| error.code());
        code.is_some_and(|code| SQLITE_FULL.contains(&code.as_ref()) || code == POSTGRES_FULL)
    }

    /// True if the same may work a little later, perhaps at another node.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Fenced) || self.is_away()
    }

    /// The text for readers other than the operator.
    pub fn shown(&self) -> String {
        if self.is_callers() || matches!(self, Self::Fenced) {
            self.to_string()
        } else if self.is_full() {
            "the server's disk is full; try again when an administrator has made room there".to_owned()
        } else if let Self::Blobs { .. } = self
            && self.is_away()
        {
            "the server's object store is unavailable; try again in a moment".to_owned()
        } else if let Self::NoBlobs { .. } | Self::BlobLost { .. } = self {
            "this value is in the server's object store, but is not available there; an administrator can find the reason in the server's log"
                .to_owned()
        } else if self.is_away() {
            "the server's database is unavailable; try again in a moment".to_owned()
        } else {
            "the server could not do this; its log says why".to_owned()
        }
    }

    pub(crate) fn not_found(what: &'static str, name: impl ToString) -> Self {
        Self::NotFound { what, name: name.to_string() }
    }

    pub(crate) fn too_long(what: &'static str, max_bytes: usize) -> Self {
        Self::Invalid { what, rule: format!("is longer than {max_bytes} bytes; shorten it") }
    }

    /// Turns the error of a search that took too long into [`Error::Invalid`] and leaves every other error as it is.
    pub(crate) fn or_slow(error: sqlx::Error) -> Self {
        match error.as_database_error().and_then(|database| database.code()) {
            Some(code) if code == SQLITE_INTERRUPT || code == POSTGRES_CANCELED => Self::Invalid {
                what: "search",
                rule: format!("takes longer than {} s; look for other words", SEARCH_TIMEOUT.as_secs()),
            },
            _ => error.into(),
        }
    }

    /// Turns a violated unique constraint into [`Error::Taken`] and leaves every other error as it is.
    pub(crate) fn or_taken(error: sqlx::Error, what: &'static str, name: impl ToString) -> Self {
        match error.as_database_error() {
            Some(database) if database.is_unique_violation() => Self::Taken { what, name: name.to_string() },
            _ => error.into(),
        }
    }
}

/// True if the database server cannot be reached, by the driver's error.
pub(crate) fn is_away(error: &sqlx::Error) -> bool {
    let is_away = match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::Tls(_) => true,
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            // SQLite's codes are one to four digits.
            code.len() == 5
                && code != POSTGRES_CANCELED
                && POSTGRES_AWAY.iter().any(|class| code.starts_with(class))
        }
        _ => false,
    };
    if is_away {
        away::note_away();
    }
    is_away
}

/// True if this process's node must not make the change.
pub(crate) fn is_fenced(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == POSTGRES_FENCED)
}

/// Refuses `text` beyond `max_bytes`.
pub(crate) fn check_length(what: &'static str, text: &str, max_bytes: usize) -> Result<()> {
    if text.len() > max_bytes { Err(Error::too_long(what, max_bytes)) } else { Ok(()) }
}
