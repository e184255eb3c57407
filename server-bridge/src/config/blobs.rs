//! The bucket that stores the long values of a PostgreSQL database.

use home::Settings;
use s3::{Bucket, Place};
use store::Location;

use super::ConfigError;
use crate::tls;

/// The flag of the bucket.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct BlobsArgs {
    /// Keep stored values longer than 256 KiB (tool results, files as they were before a turn, files of plugins) in an S3 bucket instead
    /// of the PostgreSQL database: s3://BUCKET or s3://BUCKET/PREFIX, with AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID,
    /// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN in the environment
    #[arg(long, value_name = "s3://BUCKET[/PREFIX]")]
    pub blobs: Option<String>,
}

/// Combines the flag with the files and the environment.
///
/// # Errors
/// [`ConfigError::Value`] if the database is a file; [`ConfigError::Blobs`].
pub(super) fn from_settings(
    options: BlobsArgs,
    settings: &Settings,
    database: &Location,
) -> Result<Option<Bucket>, ConfigError> {
    let Some(text) = options.blobs.or_else(|| settings.value("blobs")) else { return Ok(None) };
    if let Location::File(_) = database {
        let rule = "the file sandbridge.db holds all values itself; give a PostgreSQL database with --database, or leave --blobs out";
        return Err(ConfigError::Value { key: "blobs", value: text, rule: rule.to_owned() });
    }
    bucket_of(&text).map(Some).map_err(ConfigError::Blobs)
}

/// The bucket at this location, with the credentials from the environment.
///
/// # Errors
/// [`s3::Error`].
pub(crate) fn bucket_of(text: &str) -> s3::Result<Bucket> {
    tls::install_provider();
    Bucket::new(Place::parse(text, |name| std::env::var(name).ok())?)
}
