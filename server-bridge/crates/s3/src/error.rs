//! Errors of requests to S3, with what to change.

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error of a request to S3. The texts are for operators; they name hosts, buckets and keys, and no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The location is invalid.
    #[error("{text:?} is not a bucket: {rule}; write s3://BUCKET or s3://BUCKET/PREFIX")]
    Place {
        /// The given text.
        text: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// A variable of the environment is missing or invalid.
    #[error("the variable {name} {rule}")]
    Variable {
        /// The name of the variable.
        name: &'static str,
        /// The rule that it breaks, and what to do.
        rule: &'static str,
    },
    /// No HTTP client can be made on this machine.
    #[error("cannot make a client for S3: {0}")]
    Client(String),
    /// No connection could be made, it broke, or the server asks to slow down.
    #[error("{host} cannot be reached: {why}; check that it runs, and its address in AWS_ENDPOINT_URL_S3")]
    Away {
        /// The server's host and port.
        host: String,
        /// The innermost cause.
        why: String,
    },
    /// The server did not answer in time.
    #[error("{host} did not answer within {seconds} s; check that it runs and is not overloaded")]
    Slow {
        /// The server's host and port.
        host: String,
        /// The deadline that passed, in seconds.
        seconds: u64,
    },
    /// There is no such bucket.
    #[error(
        "there is no bucket {bucket:?} at {host}; create it, or correct its name and the address in AWS_ENDPOINT_URL_S3"
    )]
    NoBucket {
        /// The server's host and port.
        host: String,
        /// The name of the bucket.
        bucket: String,
    },
    /// The server refuses the credentials, or they lack a permission.
    #[error(
        "{host} refuses to {action} in the bucket {bucket:?} ({code}); check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, and \
         their rights to read, write, delete and list there"
    )]
    Forbidden {
        /// The server's host and port.
        host: String,
        /// The name of the bucket.
        bucket: String,
        /// The refused action: `put`, `get`, `delete`, `list`.
        action: &'static str,
        /// The code of S3, or the HTTP status.
        code: String,
    },
    /// The server refuses the request for another reason.
    #[error(
        "{host} refuses to {action} in the bucket {bucket:?} ({code}); check AWS_REGION, this machine's clock and the server's log"
    )]
    Refused {
        /// The server's host and port.
        host: String,
        /// The name of the bucket.
        bucket: String,
        /// The refused action: `put`, `get`, `delete`, `list`.
        action: &'static str,
        /// The code of S3, or the HTTP status.
        code: String,
    },
    /// The response is not one of S3.
    #[error("{host} sent a response that is not S3's: {why}; check the address in AWS_ENDPOINT_URL_S3")]
    Answer {
        /// The server's host and port.
        host: String,
        /// The problem with the response.
        why: String,
    },
    /// There is no object with this key.
    #[error("there is no object {key}")]
    Missing {
        /// The object's full key.
        key: String,
    },
    /// The object is not the one that was put.
    #[error("the object {key} has {found} bytes instead of {expected}")]
    Length {
        /// The object's full key.
        key: String,
        /// The length of the object, or a lower bound for it.
        found: u64,
        /// The length with which it was put.
        expected: u64,
    },
}

impl Error {
    /// True if the same request may succeed later without any change.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Away { .. } | Self::Slow { .. })
    }
}
