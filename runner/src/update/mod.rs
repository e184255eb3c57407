//! A runner that replaces its own program by the newer one that its server hands out.
//!
//! ```text
//!  Request::Update ─┐
//!  --auto-update ───┼─▶ download, check ─▶ wait until nothing runs ─▶ goodbye ─▶ end with EXIT_UPDATE        (the runner)
//!  the command ─────┘                                                                     │
//!                                                                                         ▼
//!       execute the new program in this process's place ◀─swap─ registered ◀─ trial of the new program      (its guardian)
//!       execute the old one again, with the error        ◀────────── did not ◀─┘
//! ```
//! | module | purpose |
//! |---|---|
//! | `place` | the program's path, and the check that it may be replaced there |
//! | `version` | the version of a program |
//! | `fetch` | the download and its checks |
//! | `handover` | the data that the runner leaves to its guardian |
//! | `replace` | the guardian's part: the trial, the swap |
//! | `control`, `client` | `sandbridge-runner update` and the runner that it asks |

mod client;
mod control;
mod fetch;
mod handover;
mod place;
mod replace;
mod version;

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use proto::message::Done;
use proto::version::is_newer;
use proto::{ErrorKind, WireError};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::blocking::blocking;
use crate::error::Error;
use crate::guardian;
use crate::host::{CommandUser, Host};
use crate::layers::layer_name;
use crate::limits::AUTO_UPDATE_PAUSE_MS;
use crate::link::websocket::Endpoint;
pub use client::run as ask_runners;
pub(crate) use control::{close as close_control, serve as serve_control};
pub use handover::Handover;
pub use replace::replace;

/// How the program is replaced by a newer one.
#[derive(Debug, Clone, Args)]
pub struct UpdateOptions {
    /// Update automatically when the server hands out a newer version of the runner
    #[arg(long, env = "SANDBRIDGE_AUTO_UPDATE", value_parser = BoolishValueParser::new())]
    pub auto_update: bool,
    /// Update only when asked on this machine (sandbridge-runner update), never because the server asks
    #[arg(long, env = "SANDBRIDGE_REFUSE_SERVER_UPDATES", value_parser = BoolishValueParser::new(), conflicts_with = "auto_update")]
    pub refuse_server_updates: bool,
    /// Register once and exit, to see that this program works; updates use this
    #[arg(long, hide = true)]
    pub on_trial: bool,
}

/// The configuration of updates when a runner starts; made before the guardian forks.
#[derive(Clone, Debug)]
pub struct UpdateConfig {
    /// True if the runner updates automatically.
    pub auto: bool,
    /// True if the server may not request an update.
    pub refuses_server: bool,
    /// True in a trial: registers once, and ends.
    pub on_trial: bool,
    /// The runner's message to its guardian.
    pub handover: Arc<Handover>,
    /// The failed update of an earlier program of this process.
    failed: Option<Failed>,
    program: Option<PathBuf>,
    /// The guardian's process id, which never changes.
    guardian: u32,
}

/// A failed update.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Failed {
    version: String,
    reason: String,
}

impl Failed {
    /// The form in which it is passed on: version and reason.
    fn to_text(&self) -> String {
        format!("{}\n{}", self.version, self.reason)
    }

    fn from_text(text: &str) -> Option<Self> {
        let (version, reason) = text.split_once('\n')?;
        Some(Self { version: version.to_owned(), reason: reason.to_owned() })
    }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { version, reason } = self;
        write!(
            formatter,
            "the update to {version} failed: {reason}; the runner stays at version {}",
            version::OWN
        )
    }
}

impl UpdateConfig {
    /// Reads the configuration of this process; call this before any thread exists.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new(options: &UpdateOptions) -> Result<Self, Error> {
        let taken = guardian::take_update_error().map_err(Error::system("read why the update failed"))?;
        Ok(Self {
            auto: options.auto_update,
            refuses_server: options.refuse_server_updates,
            on_trial: options.on_trial,
            handover: Arc::new(Handover::new().map_err(Error::system("make room for an update"))?),
            failed: taken.as_deref().and_then(Failed::from_text),
            program: place::of_this_process().ok(),
            guardian: std::process::id(),
        })
    }
}

/// The stage of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// No update is in progress.
    Idle,
    /// The program of this version is being downloaded and verified.
    Downloading(String),
    /// The program of this version is ready, and waits until nothing runs.
    Waiting(String),
}

/// The updates of a runner that dials a server.
#[derive(Debug)]
pub(crate) struct Updates {
    config: UpdateConfig,
    endpoint: Endpoint,
    /// The program to replace; or the reason why it cannot be replaced, and what to do instead.
    program: Result<PathBuf, String>,
    stage: watch::Sender<Stage>,
    /// The version that the server hands out, as announced last.
    announced: RefCell<Option<String>>,
    /// The version that was reported on standard error.
    told: RefCell<Option<String>>,
    failed: RefCell<Option<Failed>>,
    last_by_itself: Cell<Option<Instant>>,
}

impl Updates {
    /// Checks if the program may be replaced.
    pub(crate) async fn of(host: &Host, endpoint: &Endpoint, config: UpdateConfig) -> Self {
        let policies =
            [CommandUser::Default, CommandUser::Privileged].map(|user| host.policy_of(user).clone());
        let (profile, own_root) = (host.profile(), host.report().holds(layer_name::MOUNT_NAMESPACE));
        let program = match config.program.clone() {
            _ if endpoint.is_open_to_others() => {
                let text = "the link is not encrypted, and anyone on the way could send another program";
                Err(text.to_owned())
            }
            None => Err("the system does not report which program this is".to_owned()),
            Some(program) => {
                let handover = Arc::clone(&config.handover);
                let looked_at = blocking(move || {
                    // The file that a killed runner of this process was writing.
                    handover.discard();
                    place::check(&program, &policies, profile, own_root).map(|()| program)
                });
                looked_at.await.unwrap_or_else(|error| Err(error.to_string()))
            }
        };
        Self {
            failed: RefCell::new(config.failed.clone()),
            config,
            endpoint: endpoint.clone(),
            program,
            stage: watch::Sender::new(Stage::Idle),
            announced: RefCell::default(),
            told: RefCell::default(),
            last_by_itself: Cell::default(),
        }
    }

    /// True if the server may request an update.
    pub(crate) fn are_offered(&self) -> bool {
        self.program.is_ok() && !self.config.refuses_server
    }

    /// The reason why the last update failed.
    pub(crate) fn error(&self) -> Option<String> {
        self.failed.borrow().as_ref().map(Failed::to_string)
    }

    /// True if a new program is ready, and waits until nothing runs.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(*self.stage.borrow(), Stage::Waiting(_))
    }

    /// Called when the server announced the version it hands out, at a registration.
    pub(crate) fn announced(&self, version: Option<&str>) {
        self.announced.replace(version.map(str::to_owned));
        let Some(version) = version.filter(|version| is_newer(version, version::OWN)) else {
            return;
        };
        if self.told.replace(Some(version.to_owned())).as_deref() != Some(version) {
            let how = match (&self.program, self.config.auto) {
                (Err(why), _) => why,
                (Ok(_), true) => "it updates itself (--auto-update)",
                (Ok(_), false) => {
                    "to update: `sandbridge-runner update` here, the button on the server's web page, or --auto-update"
                }
            };
            eprintln!(
                "sandbridge-runner: the server hands out version {version} of the runner, and this one is {}; {how}",
                version::OWN
            );
        }
        // One that was tried and failed is not tried again until a person asks for it.
        let has_failed = self.config.failed.as_ref().is_some_and(|failed| failed.version == version);
        let pause = Duration::from_millis(AUTO_UPDATE_PAUSE_MS);
        let is_soon = self.last_by_itself.get().is_some_and(|last| last.elapsed() < pause);
        if self.config.auto && !has_failed && !is_soon && self.begin().is_ok() {
            self.last_by_itself.set(Some(Instant::now()));
        }
    }

    /// Begins an update, or joins the one in progress.
    fn begin(&self) -> Result<(), WireError> {
        if *self.stage.borrow() != Stage::Idle {
            return Ok(());
        }
        if let Err(why) = &self.program {
            return Err(WireError::new(
                ErrorKind::Unsupported,
                format!("this runner cannot replace its program: {why}"),
            ));
        }
        let own = version::OWN;
        let refuse = |text: String| Err(WireError::new(ErrorKind::PreconditionFailed, text));
        match self.announced.borrow().clone() {
            None => refuse(format!("this runner is version {own}, and its server has no runner to hand out")),
            Some(version) if is_newer(&version, own) => {
                self.failed.replace(None);
                self.stage.send_replace(Stage::Downloading(version));
                Ok(())
            }
            Some(version) => refuse(format!(
                "this runner is version {own} and its server hands out {version}: there is nothing newer"
            )),
        }
    }

    /// Carries out updates, one after the other.
    pub(crate) async fn run(&self) {
        let mut stages = self.stage.subscribe();
        loop {
            let version = match &*stages.borrow_and_update() {
                Stage::Downloading(version) => Some(version.clone()),
                Stage::Idle | Stage::Waiting(_) => None,
            };
            if let (Some(version), Ok(program)) = (version, &self.program) {
                let prepared = fetch::prepare(&self.endpoint, program, &version, &self.config.handover).await;
                self.stage.send_replace(match prepared {
                    Ok(()) => Stage::Waiting(version),
                    Err(reason) => {
                        let failed = Failed { version, reason };
                        eprintln!("sandbridge-runner: {failed}");
                        self.failed.replace(Some(failed));
                        Stage::Idle
                    }
                });
            } else if stages.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until the program is downloaded and verified.
    ///
    /// # Errors
    /// The download failed, or none was begun; the text contains the reason.
    async fn prepared(&self) -> Result<(), WireError> {
        let mut stages = self.stage.subscribe();
        self.begin()?;
        // The sender lives as long as this does.
        let _ = stages.wait_for(|stage| !matches!(stage, Stage::Downloading(_))).await;
        match self.is_waiting() {
            true => Ok(()),
            false => Err(WireError::new(ErrorKind::Io, self.error().unwrap_or_default())),
        }
    }
}

/// Answers a request to update; a runner without `updates` dials no server.
pub(crate) async fn ask(updates: Option<Rc<Updates>>) -> Result<Done, WireError> {
    match updates {
        Some(updates) if updates.config.refuses_server => {
            let text =
                "it was started with --refuse-server-updates: run `sandbridge-runner update` on its machine";
            Err(WireError::new(ErrorKind::Unsupported, text))
        }
        Some(updates) => updates.prepared().await.map(|()| Done {}),
        None => {
            let text = "this runner was started by its server and has the server's version";
            Err(WireError::new(ErrorKind::Unsupported, text))
        }
    }
}

/// Waits until there is a program to replace this one.
pub(crate) async fn prepared(updates: Option<&Rc<Updates>>) {
    match updates {
        Some(updates) => {
            let waiting = |stage: &Stage| matches!(stage, Stage::Waiting(_));
            if updates.stage.subscribe().wait_for(waiting).await.is_err() {
                std::future::pending().await
            }
        }
        None => std::future::pending().await,
    }
}
