//! The options of every command, and their consequences: the home directory, its settings, the session.

use std::path::{Path, PathBuf};

use clap::Args;
use home::Settings;

use crate::failure::Failure;
use crate::output;
use crate::session::Session;

/// The variables for the server's address, the home directory, and trusted certificates.
pub(crate) const SERVER_VARIABLES: [&str; 3] = ["SANDBRIDGE_SERVER", "SANDBRIDGE_HOME", "SANDBRIDGE_CA_CERT"];

/// Options of every command.
#[derive(Args)]
pub struct Globals {
    /// The server's address [default: where you logged in last, or http://127.0.0.1:8080]
    #[arg(long, global = true, env = SERVER_VARIABLES[0], hide_env_values = true, value_name = "URL")]
    pub server: Option<String>,
    /// Where settings and sessions are kept [default: ~/.sandbridge]
    #[arg(long, global = true, env = SERVER_VARIABLES[1], hide_env_values = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Also trust the certificates in this PEM file, for a server whose certificate is not from a public authority
    #[arg(long, global = true, env = SERVER_VARIABLES[2], hide_env_values = true, value_name = "FILE")]
    pub ca_cert: Option<PathBuf>,
    /// Print JSON for programs
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colours; NO_COLOR, CLICOLOR and CLICOLOR_FORCE are obeyed too
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true
    )]
    pub color: output::Colour,
}

impl Globals {
    /// The server to talk to, and the user's login there.
    ///
    /// # Errors
    /// `invalid` for a home directory, a setting or a `client.json` that cannot be used; `io` for a `client.json` that cannot be
    /// read.
    pub fn session(&self) -> Result<Session, Failure> {
        let home = self.home()?;
        let settings = self.settings(&home)?;
        let server = self.server.clone().or_else(|| settings.value("server"));
        let ca_cert = self.ca_cert.clone().or_else(|| settings.value("ca_cert").map(PathBuf::from));
        let api_key = settings.value("api_key");
        Ok(Session::load(&home, server.as_deref(), ca_cert)?.with_api_key(api_key))
    }

    /// The directory of settings and sessions.
    ///
    /// # Errors
    /// `invalid` if none is configured.
    pub fn home(&self) -> Result<PathBuf, Failure> {
        home::find(self.home.as_deref()).map_err(|error| Failure::other("invalid", error.to_string()))
    }

    /// The settings in the home directory's files and the environment.
    ///
    /// # Errors
    /// `invalid` for a file that cannot be read or parsed.
    pub fn settings(&self, home: &Path) -> Result<Settings, Failure> {
        Settings::load(home).map_err(|error| Failure::other("invalid", error.to_string()))
    }
}
