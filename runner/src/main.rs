//! `sandbridge-runner`: reads its command line, starts its guardian, and runs until it is told to stop.

use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;
use runner::cli::{Cli, Command, Source, WhereOptions};
use runner::confine::{ConfinePolicy, Profile};
use runner::docker::Container;
use runner::guardian::{self, GuardConfig};
use runner::{doctor, service};
use tracing_subscriber::filter::LevelFilter;

fn main() -> ExitCode {
    let outcome = guardian::take_token_from_argv().context("--token").and_then(|token| {
        let cli = Cli::from_command_line();
        let level = std::env::var("SANDBRIDGE_LOG").ok().and_then(|level| level.parse().ok());
        let level: LevelFilter = level.unwrap_or(LevelFilter::WARN);
        tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).init();
        dispatch(cli, token)
    });
    match outcome {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => match error.downcast_ref::<runner::Error>() {
            Some(runner::Error::Usage(text)) => {
                Cli::command().error(clap::error::ErrorKind::ValueValidation, text).exit()
            }
            _ => {
                eprintln!("sandbridge-runner: {error:#}");
                ExitCode::FAILURE
            }
        },
    }
}

fn dispatch(cli: Cli, token: Option<String>) -> anyhow::Result<i32> {
    match cli.command {
        Some(Command::Doctor(place)) => diagnose(&place),
        Some(Command::InstallService { print, options }) => {
            service::install(&options, token, print).map(|()| Ok(0))?
        }
        Some(Command::UninstallService { state_dir }) => {
            service::uninstall(&WhereOptions { workspace: None, state_dir }.state_dir()).map(|()| Ok(0))?
        }
        None => {
            let source = cli.options.source(token)?;
            if let Some(container) = cli.options.container()? {
                return in_container(&source, &container, cli.options.name.as_deref());
            }
            let config = cli.options.executor_config()?;
            let name = cli.options.name;
            let guard = GuardConfig { restart: matches!(source, Source::Server { .. }) };
            let code = guardian::run_guarded(guard, |context| {
                runner::run::run(&source, &config, name.as_deref(), context.tier).unwrap_or_else(|error| {
                    eprintln!("sandbridge-runner: {error:#}");
                    1
                })
            });
            code.context("the guardian could not be started")
        }
    }
}

/// Lets commands run in a container; this process only passes frames on.
fn in_container(source: &Source, container: &Container, name: Option<&str>) -> anyhow::Result<i32> {
    let code = guardian::run_guarded(GuardConfig { restart: true }, |_| {
        runner::docker::run(source, container, name).unwrap_or_else(|error| {
            eprintln!("sandbridge-runner: {error:#}");
            1
        })
    });
    code.context("the guardian could not be started")
}

fn diagnose(place: &WhereOptions) -> anyhow::Result<i32> {
    let config = place.executor_config(Profile::Workspace)?;
    let policy = ConfinePolicy::detect(&config.workspace, &config.state_dir)?;
    let guard = GuardConfig { restart: false };
    let code = guardian::run_guarded(guard, |_| match doctor::probe(&policy) {
        Ok(report) => {
            print!("{}", doctor::render(&report));
            i32::from(!report.confined())
        }
        Err(error) => {
            eprintln!("sandbridge-runner: {error}");
            1
        }
    });
    code.context("the guardian could not be started")
}
