//! The place of the server's database: a file of its home directory, or a PostgreSQL database.

use std::path::{Path, PathBuf};

use home::Settings;
use store::{Location, PostgresUrl};

use super::ConfigError;

/// The option that names a database.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct DatabaseArgs {
    /// Keep everything in a PostgreSQL database, postgres://USER@HOST/DATABASE; give a password in SANDBRIDGE_DATABASE or in
    /// ~/.pgpass, because other users can see arguments [default: the file sandbridge.db in the home directory]
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
}

/// The database of a server with this home directory.
///
/// # Errors
/// [`ConfigError::Database`] for an address that cannot be used.
pub fn database_of(home: &Path, options: DatabaseArgs, settings: &Settings) -> Result<Location, ConfigError> {
    match options.database.or_else(|| settings.value("database")) {
        Some(url) => Ok(Location::Postgres(PostgresUrl::parse(&url).map_err(ConfigError::Database)?)),
        None => Ok(Location::File(database(home))),
    }
}

/// The database file in a home directory.
pub fn database(home: &Path) -> PathBuf {
    home.join("sandbridge.db")
}
