//! The server of this process: its configuration, its one account, and other processes that serve its home.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use client::failure::Failure;
use client::session::Session;
use home::Settings;
use sandbox::{LocalPolicy, Requirement};
use store::{Location, Name, Store, User};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::limits::{HERE_LOG_BYTES, STANDING_INTERVAL, STANDING_PATIENCE};
use super::model;
use super::place::Place;
use super::standing::Standing;
use crate::config::{Config, ServeArgs, database};
use crate::failure::failure_of;
use crate::serve::{Server, StartError};
use crate::web::state::AppState;

/// The file of the server's log, since the chat uses the terminal.
const LOG_FILE: &str = "server.log";
/// The address to listen on: reachable from this machine only, with a free port.
const LISTEN: &str = "127.0.0.1:0";
/// The account's name if the user's own name is not valid for an account.
const UNNAMED: &str = "me";

/// A server that runs in this process.
pub(super) struct OwnServer {
    pub(super) state: AppState,
    pub(super) store: Store,
    url: String,
    task: JoinHandle<()>,
    shutdown: CancellationToken,
}

/// The process that serves a home.
pub(super) enum Begun {
    /// This process has become the server of the home.
    First(Box<OwnServer>),
    /// Another process serves the home.
    There(Standing),
}

/// Writes this process's log to a file in the home.
pub(super) fn log_to(home: &Path) -> Result<(), Failure> {
    let path = home.join(LOG_FILE);
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(&path).and_then(|file| {
        if file.metadata()?.len() > HERE_LOG_BYTES {
            file.set_len(0)?;
        }
        Ok(file)
    });
    let file =
        opened.map_err(|error| Failure::other("io", format!("cannot write {}: {error}", path.display())))?;
    let filter =
        EnvFilter::try_from_env("SANDBRIDGE_LOG").unwrap_or_else(|_| EnvFilter::new("info,rmcp=off"));
    crate::log_ring::init(filter, Mutex::new(file));
    Ok(())
}

/// The user's settings, completed with those that a model needs.
pub(super) fn settings(mut settings: Settings) -> Settings {
    model::fill_in(&mut settings);
    settings
}

/// The server's options: the user's own, without those for a server that others reach.
pub(super) fn config(place: &Place, settings: &Settings, runner: Option<PathBuf>) -> Result<Config, Failure> {
    let options = ServeArgs {
        listen: Some(LISTEN.to_owned()),
        docker: Some("off".to_owned()),
        runner,
        ..ServeArgs::default()
    };
    let config = Config::from_settings(options, &place.home, settings)
        .map_err(|error| Failure::other("invalid", error.to_string()))?;
    Ok(Config {
        // Each directory has its own database.
        database: Location::File(database(&place.home)),
        tls: None,
        public_url: None,
        allow_host: Vec::new(),
        local: LocalPolicy::Off,
        encryption_key: None,
        proxies: std::sync::Arc::default(),
        require: Requirement::default(),
        one_person: true,
        node: crate::config::NodeConfig::default(),
        ..config
    })
}

/// Serves the home, or finds the process that serves it. If two processes begin at once, one serves and the other waits until
/// the first is ready.
pub(super) async fn begin(place: &Place, config: &Config) -> Result<Begun, Failure> {
    let deadline = Instant::now() + STANDING_PATIENCE;
    loop {
        match Server::bind(config.clone()).await {
            Ok(server) => return Ok(Begun::First(Box::new(OwnServer::run(server)))),
            Err(error @ StartError::HomeInUse { pid, .. }) => {
                if let Some(standing) = pid.and_then(|pid| Standing::read(&place.home, pid)) {
                    return Ok(Begun::There(standing));
                }
                // The other process is not ready yet, or has just ended.
                if Instant::now() >= deadline {
                    return Err(Failure::other("in_use", error.to_string()));
                }
                sleep(STANDING_INTERVAL).await;
            }
            Err(error) => return Err(failure_of(&error.into())),
        }
    }
}

impl OwnServer {
    fn run(server: Server) -> Self {
        let (state, store) = (server.state().clone(), server.store().clone());
        let (url, shutdown) = (server.url(), server.shutdown_token());
        Self { state, store, url, task: tokio::spawn(server.run()), shutdown }
    }

    /// The server's URL.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The user's account, created at the first start with a random password that is not kept.
    pub(super) async fn account(&self) -> Result<User, Failure> {
        let failed = |error: store::Error| failure_of(&error.into());
        let store = &self.store;
        let known = store.users().await.map_err(failed)?;
        if let Some(user) = known.into_iter().find(|user| user.admin) {
            return Ok(user);
        }
        let own = std::env::var("USER").unwrap_or_default().to_ascii_lowercase();
        let name =
            Name::parse(&own).or_else(|_| Name::parse(UNNAMED)).expect("it follows the rule for names");
        let password = format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>());
        let user = store.add_user(&name, &password, true).await.map_err(failed)?;
        // The page's welcome steps are skipped: everything they would ask for exists already.
        store.end_welcome(user.id).await.map_err(failed)?;
        Ok(user)
    }

    /// Logs the account in, for this program and those that join it; the previous session ends.
    pub(super) async fn session(&self, user: &User, home: &Path) -> Result<Session, Failure> {
        let failed = |error: store::Error| failure_of(&error.into());
        let token = self.store.create_session(user.id).await.map_err(failed)?.token;
        let (session, former) = Session::renew(home, &self.url, &user.name, token.into_exposed())?;
        if let Some(former) = former {
            self.store.delete_session(&former).await.map_err(failed)?;
        }
        Ok(session)
    }

    /// Stops the server, and waits until everything in it has ended.
    pub(super) async fn end(self) {
        self.shutdown.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the server did not shut down cleanly");
        }
    }
}
