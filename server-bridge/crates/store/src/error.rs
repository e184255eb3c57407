//! The errors of the store: those of the caller, and those of the operator or the machine.

use std::path::PathBuf;

use sqlx::migrate::MigrateError;

use crate::away;
use crate::limits::SEARCH_TIMEOUT;

/// SQLite's code for an interrupted statement.
const SQLITE_INTERRUPT: &str = "9";
/// PostgreSQL's code for a cancelled statement: `query_canceled`.
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
/// The first group of variants is caused by the caller's input, and their texts may be shown to a user. The second is for the operator: log it, and
/// tell the user only that the server could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not a valid name; the message states the rule.
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
        /// The reserved name.
        name: String,
    },
    /// A value breaks a rule; the message states the rule.
    #[error("the {what} {rule}")]
    Invalid {
        /// The value, in a user's terms: `password`, `chat id`.
        what: &'static str,
        /// The rule that the value breaks, as the end of a sentence.
        rule: String,
    },
    /// The thing does not exist, or belongs to another user.
    #[error("there is no {what} {name:?}")]
    NotFound {
        /// The kind of the missing thing.
        what: &'static str,
        /// The name or id of the missing thing.
        name: String,
    },
    /// The name is in use.
    #[error("the name {name:?} is already used by another {what}; choose another name")]
    Taken {
        /// The kind of thing that was to get the name.
        what: &'static str,
        /// The name that is in use.
        name: String,
    },
    /// The exec id was used for a different request.
    #[error("exec {exec_id} was already started with a different request; use a new id")]
    Conflict {
        /// The exec's id.
        exec_id: String,
    },

    /// A provider's key cannot be decrypted.
    #[error(
        "the key of this model cannot be decrypted: it was changed or moved in the database; enter the key again"
    )]
    Sealed,

    /// The keys in the database are sealed with a different encryption key from the given one.
    #[error(
        "the keys of {keys} models are sealed with a different encryption key from the one that the server was given; start it \
         with the right one (--encryption-key-file, SANDBRIDGE_ENCRYPTION_KEY, or sandbridge.key in the home directory), or with \
         --forget-sealed-keys to remove them, so that their owners can enter them again"
    )]
    EncryptionKey {
        /// The number of keys that would be lost.
        keys: u64,
    },
    /// The store was opened without an encryption key, so it neither stores nor reads secrets.
    #[error("the database was opened without its encryption key; start the server with the right one")]
    Locked,
    /// The database file cannot be created or opened.
    #[error("cannot open the database {}: {source}; check that the folder exists and is yours", path.display())]
    Open {
        /// The path of the database file.
        path: PathBuf,
        /// The error that the operating system reported.
        source: std::io::Error,
    },
    /// The address of a PostgreSQL database is invalid, or the database there cannot be used.
    #[error(
        "cannot use the database: {why}; the address has the form postgres://user:password@host:5432/sandbridge"
    )]
    DatabaseUrl {
        /// The reason why the database cannot be used.
        why: String,
    },
    /// No PostgreSQL server answers at the address, or it refuses the connection.
    #[error(
        "cannot connect to the database {place}: {source}; check that PostgreSQL runs there and accepts this user"
    )]
    Unreachable {
        /// The database, its host and port.
        place: String,
        /// The error that the database driver reported.
        source: sqlx::Error,
    },
    /// The bucket of long values cannot be reached, or refuses the request.
    #[error("cannot use the object store {place}: {source}")]
    Blobs {
        /// The bucket, and its server.
        place: String,
        /// The error of the request to the object store.
        source: Box<s3::Error>,
    },
    /// The given bucket does not have this database's objects.
    #[error(
        "the objects of this database are not in {place}; give the --blobs that they were written with, or copy them there first, together with the \
         object `marker`"
    )]
    OtherBucket {
        /// The bucket, and its server.
        place: String,
    },
    /// A row names an object, and the store was opened without a bucket.
    #[error(
        "this value is the object {object} of an object store, but the server was started without one; start it with the --blobs \
         s3://BUCKET[/PREFIX] that the value was written with"
    )]
    NoBlobs {
        /// The object's name.
        object: String,
    },
    /// An object that a row names is missing, or differs from the written value.
    #[error(
        "the object {object} of the object store {place} cannot be used: {why}; restore it from a copy of the bucket"
    )]
    BlobLost {
        /// The bucket, and its server.
        place: String,
        /// The object's name.
        object: String,
        /// The reason why the object cannot be used.
        why: String,
    },
    /// Another server uses this database.
    #[error("another server uses the database {place}; stop it, or name another database")]
    InUse {
        /// The database, its host and port.
        place: String,
    },
    /// A live node already has this URL.
    #[error("another node uses the URL {url}; stop it, or give this one a different --node-url")]
    NodeUrlInUse {
        /// The URL that is in use.
        url: String,
    },
    /// A live node's program cannot work with the same database as this one.
    #[error(
        "the node {url} runs version {version}, which cannot work with the same database as this version; stop that node first, or start \
         the same version here"
    )]
    NodeVersion {
        /// The URL of that node.
        url: String,
        /// The version of the program that the node runs.
        version: String,
    },
    /// The database's secrets are sealed with a different key from this node's.
    #[error(
        "this node has a different encryption key from the one that the database is sealed with; give all nodes the same key \
         (--encryption-key-file, SANDBRIDGE_ENCRYPTION_KEY, or the same sandbridge.key in each home directory)"
    )]
    NodeKey,
    /// Another node is the home of this user, or this node is considered dead: the change was not made.
    #[error("another node of this server is now responsible for this user; send the request again")]
    Fenced,
    /// The database was copied to another one, which has replaced it.
    #[error(
        "the database was copied to {to}, which has replaced it; use that one (give --database for PostgreSQL, leave it out for \
         a file), or copy that one back into an empty database with `sandbridge store copy`"
    )]
    Moved {
        /// The location of the other database.
        to: String,
    },
    /// The database cannot be copied to another one.
    #[error("cannot copy the database: {why}")]
    Copy {
        /// The reason; where something can be done about it, also what to do.
        why: String,
    },
    /// A newer version of the program has written this database.
    #[error(
        "the database has schema {found} and this version knows only up to {known}; run the newer version, or restore \
         the backup made before the upgrade"
    )]
    NewerSchema {
        /// The version of the database's schema.
        found: i64,
        /// The newest schema version that this program knows.
        known: i64,
    },
    /// The database could not be brought to this version's schema.
    #[error("the database could not be upgraded: {0}")]
    Migration(#[source] MigrateError),
    /// The database rejected a statement, or failed.
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

    /// True if the same call may succeed a little later, perhaps on another node.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Fenced) || self.is_away()
    }

    /// The text for readers other than the operator; hides the details of internal errors.
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
                rule: format!("takes longer than {} s; search for other words", SEARCH_TIMEOUT.as_secs()),
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

/// True if the driver's error means that the database server cannot be reached.
pub(crate) fn is_away(error: &sqlx::Error) -> bool {
    let is_away = match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::Tls(_) => true,
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            // SQLite's codes have one to four digits.
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

/// True if this process's node is not allowed to make the change.
pub(crate) fn is_fenced(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == POSTGRES_FENCED)
}

/// Fails if `text` is longer than `max_bytes`.
pub(crate) fn check_length(what: &'static str, text: &str, max_bytes: usize) -> Result<()> {
    if text.len() > max_bytes { Err(Error::too_long(what, max_bytes)) } else { Ok(()) }
}
