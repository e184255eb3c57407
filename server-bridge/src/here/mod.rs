//! `sandbridge here`: server, runner and chat for one person in one directory.
//!
//! ```text
//!  place ─► lock of its home ─┬─ free ─► server ─► account, runner, model ─► chat or page ─► all of it ends
//!                             └─ held ─► the server that is there ──────────► chat or page
//! ```
//! Each directory has its own home under `~/.sandbridge/here`, which keeps its chats for the next time. The server runs in this
//! process, and the kernel ends the runner when this process ends, so nothing outlives this program, however it ends.
//!
//! | module | holds |
//! |---|---|
//! | `place` | the directory, and its home |
//! | `standing` | the process that serves a home |
//! | `server` | the server, its account and its session |
//! | `runner` | its runner |
//! | `model` | the model: from the environment, an earlier one, or asked for once |
//! | `limits` | every limit and timeout |

mod limits;
mod model;
mod place;
mod runner;
mod server;
mod standing;

use std::path::PathBuf;
use std::process::ExitCode;

use api::session::SignInView;
use clap::Parser;
use client::chat::{self, TalkOptions};
use client::command::Command;
use client::failure::{self, Failure};
use client::globals::Globals;
use client::http::Client;
use client::output;
use client::session::Session;
use home::Settings;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Config;
use place::Place;
use server::{Begun, OwnServer};
use standing::Standing;

/// Chat in this directory with a private server and runner, which end with the chat
#[derive(Parser)]
pub(crate) struct HereOptions {
    /// The directory that commands work in [default: the current one]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Chat in the browser: prints a one-time address that opens the page, signed in
    #[arg(long, conflicts_with_all = ["new", "resume", "approval", "lines"])]
    web: bool,
    /// The runner's program [default: sandbridge-runner next to this program]
    #[arg(long, value_name = "FILE")]
    runner: Option<PathBuf>,
    #[command(flatten)]
    talk: TalkOptions,
}

impl Command for HereOptions {
    const NAME: &'static str = "here";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        run(globals, self)
    }
}

fn run(globals: &Globals, options: HereOptions) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
        Failure::other("internal", format!("cannot start the runtime of this program: {error}"))
    })?;
    let result = runtime.block_on(live(globals, options));
    // A read from the terminal may still be pending; it must not delay the exit.
    runtime.shutdown_background();
    result
}

async fn live(globals: &Globals, options: HereOptions) -> Result<ExitCode, Failure> {
    let home = globals.home()?;
    let place = Place::find(&home, options.directory.as_deref())?;
    server::log_to(&place.home)?;
    let settings = server::settings(globals.settings(&home)?);
    let config = server::config(&place, &settings, options.runner.clone())?;
    match server::begin(&place, &config).await? {
        Begun::There(standing) => {
            let session = Session::load(&place.home, Some(&standing.url), None)?;
            let session = session.joining(standing.pid, &place.directory);
            tell_who_is_there(&place, &standing);
            if options.web {
                print_address(globals, &session).await?;
                return Ok(ExitCode::SUCCESS);
            }
            chat::run_in(session, options.talk, None, globals.json).await
        }
        Begun::First(server) => {
            let code = serve(globals, options, &place, (&settings, &config), &server).await;
            server.end().await;
            code
        }
    }
}

/// Runs everything that uses the server of this process: account, runner, model, and the chat until it ends.
async fn serve(
    globals: &Globals,
    options: HereOptions,
    place: &Place,
    (settings, config): (&Settings, &Config),
    server: &OwnServer,
) -> Result<ExitCode, Failure> {
    let user = server.account().await?;
    let session = server.session(&user, &place.home).await?;
    let mut runner = runner::start(config, place, server, &user).await?;
    // The key is asked for in a terminal only; the page asks for it itself.
    model::find(server, &user, place, (settings, config), !options.web && !globals.json).await?;
    let code = match runner.online(server, &user).await {
        Ok(facts) => {
            runner.tell_what_is_missing(&facts);
            Standing::now(server.url()).write(&place.home)?;
            talk(globals, options, session).await
        }
        Err(failure) => Err(failure),
    };
    runner.end().await;
    code
}

/// Runs the chat, or serves the page, until the user or a signal ends it.
async fn talk(globals: &Globals, options: HereOptions, session: Session) -> Result<ExitCode, Failure> {
    let listen = |kind| {
        signal(kind).map_err(|error| Failure::other("io", format!("cannot listen for signals: {error}")))
    };
    let (mut terminate, mut hang_up) = (listen(SignalKind::terminate())?, listen(SignalKind::hangup())?);
    let chatting = async {
        if !options.web {
            return chat::run_in(session, options.talk, None, globals.json).await;
        }
        let mut interrupt = listen(SignalKind::interrupt())?;
        print_address(globals, &session).await?;
        interrupt.recv().await;
        Ok(ExitCode::from(failure::INTERRUPTED))
    };
    let ended_by = |kind: SignalKind| {
        ExitCode::from(failure::SIGNALED + u8::try_from(kind.as_raw_value()).unwrap_or_default())
    };
    tokio::select! {
        code = chatting => code,
        _ = terminate.recv() => Ok(ended_by(SignalKind::terminate())),
        _ = hang_up.recv() => Ok(ended_by(SignalKind::hangup())),
    }
}

/// Prints the page's address, with a code that signs a browser in once.
async fn print_address(globals: &Globals, session: &Session) -> Result<(), Failure> {
    let SignInView { code, expires_in_s } = Client::new(session)?.sign_in_code().await?;
    let url = format!("{}/#sign-in={code}", session.server);
    if globals.json {
        output::json_line(&json!({"url": url, "expires_in_s": expires_in_s}));
    } else {
        let minutes = expires_in_s / 60;
        output::line(&format!(
            "open {url}\n(once, within {minutes} min; `sandbridge here --web` creates a new one)"
        ));
    }
    Ok(())
}

fn tell_who_is_there(place: &Place, standing: &Standing) {
    output::warn(&format!(
        "joining the chats of {}, served by process {} since {}; when that process ends, this one ends too",
        place.directory.display(),
        standing.pid,
        output::ago(standing.since_ms)
    ));
}
