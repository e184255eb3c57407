//! The location of a database, as the server's operator writes it.

use std::fmt;
use std::path::PathBuf;

use crate::database::postgres;
use crate::error::Result;

/// The location of a database: an SQLite file, or a PostgreSQL server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// The SQLite file with this path.
    File(PathBuf),
    /// The PostgreSQL database at this address.
    Postgres(PostgresUrl),
}

/// The address of a PostgreSQL database, including the password, which `Display` leaves out.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    url: String,
    place: String,
}

impl Location {
    /// Parses the address of a PostgreSQL database; any other text is the name of a file.
    ///
    /// # Errors
    /// [`crate::Error::DatabaseUrl`] for an address that cannot be used.
    pub fn parse(text: &str) -> Result<Self> {
        if text.contains("://") {
            return Ok(Self::Postgres(PostgresUrl::parse(text)?));
        }
        Ok(Self::File(PathBuf::from(text)))
    }
}

impl PostgresUrl {
    /// Checks an address, `postgres://user:password@host:5432/database`. This does not connect.
    ///
    /// # Errors
    /// [`crate::Error::DatabaseUrl`]; its text shows no part of the address.
    pub fn parse(url: &str) -> Result<Self> {
        let place = postgres::place(&postgres::options(url)?);
        Ok(Self { url: url.to_owned(), place })
    }

    /// The whole address with the password, which is needed to connect.
    pub(crate) fn expose(&self) -> &str {
        &self.url
    }
}

impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(out),
            Self::Postgres(url) => url.fmt(out),
        }
    }
}

/// Shows the database, its host and its port.
impl fmt::Display for PostgresUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.place)
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("PostgresUrl").field(&self.place).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let location = Location::parse("postgres://ann:s3cret@db.example.org:6000/sand").unwrap();
        assert_eq!(location.to_string(), "sand at db.example.org:6000");
        assert!(!format!("{location:?}").contains("s3cret"), "{location:?}");
        let socket = Location::parse("postgresql://ann@localhost/sand?host=/run/pg&password=s3cret").unwrap();
        assert_eq!(socket.to_string(), "sand at /run/pg");
    }

    #[test]
    fn what_is_no_address_is_a_file_and_a_wrong_address_is_refused_without_being_shown() {
        assert_eq!(Location::parse("/a/b.db").unwrap(), Location::File("/a/b.db".into()));
        for wrong in [
            "mysql://ann:s3cret@host/db",
            "postgres://ann:s3cret@host:port/db",
            "postgres://ann:s3cret@ho st/db",
            "postgres://ann@host/db?pasword=s3cret",
            "postgres://ann@host/db?sslmode=s3cret",
            "postgres://ann@host/db?port=s3cret",
        ] {
            let error = Location::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("postgres://user:password@host"), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
