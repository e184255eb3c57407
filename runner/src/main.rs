//! `sandbridge-runner`: parses its command line, starts its guardian, and runs until it is stopped.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;
use runner::cli::{Cli, Command, Options, SandboxOptions, WhereOptions};
use runner::confine::ConfinePolicy;
use runner::connect::Source;
use runner::docker::Container;
use runner::exit_code::EXIT_UPDATE;
use runner::guardian::{self, GuardConfig};
use runner::layers::{LeftOut, Profile, layer_name};
use runner::spawn::SpawnError;
use runner::update::{self, UpdateConfig};
use runner::{doctor, explain, group, service};
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
                eprintln!("sandbridge-runner: {}", in_words(&error));
                ExitCode::FAILURE
            }
        },
    }
}

/// An error with its causes; a cause that its error's text contains already is not repeated.
fn in_words(error: &anyhow::Error) -> String {
    let mut words = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !words.contains(&cause) {
            words.push_str(": ");
            words.push_str(&cause);
        }
    }
    words
}

fn dispatch(cli: Cli, token: Option<String>) -> anyhow::Result<i32> {
    match cli.command {
        Some(Command::Doctor { json, options }) => diagnose(&options, json),
        Some(Command::Explain { path, json, options }) => explain_path(&options, &path, json),
        Some(Command::InstallService { print, options }) => {
            service::install(&options, token, print).map(|()| Ok(0))?
        }
        Some(Command::UninstallService { state_dir }) => {
            service::uninstall(&WhereOptions { state_dir, ..WhereOptions::default() }.state_dir())
                .map(|()| Ok(0))?
        }
        Some(Command::Update { state_dir }) => {
            let place = WhereOptions { state_dir, ..WhereOptions::default() };
            Ok(update::ask_runners(&place.state_dir())?)
        }
        None => run(&cli.options, token),
    }
}

/// Runs until it is stopped, or another program replaces this one.
fn run(options: &Options, token: Option<String>) -> anyhow::Result<i32> {
    // In a trial, this is the parent process: if that is killed, nothing else would end the trial while the server cannot be reached.
    let parent = match options.update.on_trial {
        true => i32::try_from(std::os::unix::process::parent_id()).ok(),
        false => options.ends_with_parent,
    };
    if let Some(parent) = parent {
        guardian::end_with(parent).context("--ends-with-parent")?;
    }
    let source = options.source(token)?;
    let name = options.name.as_deref();
    if let Some(container) = options.container()? {
        return in_container(&source, &container, name);
    }
    let config = options.executor_config()?;
    let updates = UpdateConfig::new(&options.update)?;
    // Done before any thread starts, and outside of the guardian's namespaces.
    let limits = group::establish(&config.bounds.limits);
    let group = limits.map_err(|error| runner::Error::Usage(error.to_string()))?;
    let restart = matches!(source, Source::Server { .. }) && !options.update.on_trial;
    let guard = GuardConfig { restart, left_out: config.left_out };
    let code = guardian::run_guarded(guard, |context| {
        runner::run::run(&source, &config, name, context.tier, &updates).unwrap_or_else(|error| {
            eprintln!("sandbridge-runner: {error:#}");
            1
        })
    });
    // Another program makes its own group.
    drop(group);
    match (code.context("the runner's guardian failed")?, &source) {
        (EXIT_UPDATE, Source::Server { token, .. }) => Ok(update::replace(&updates.handover, token.given())?),
        (code, _) => {
            updates.handover.discard();
            Ok(code)
        }
    }
}

/// Lets commands run in a container; this process only passes frames on.
fn in_container(source: &Source, container: &Container, name: Option<&str>) -> anyhow::Result<i32> {
    let code = guardian::run_guarded(GuardConfig { restart: true, left_out: LeftOut::default() }, |_| {
        runner::docker::run(source, container, name).unwrap_or_else(|error| {
            eprintln!("sandbridge-runner: {error:#}");
            1
        })
    });
    code.context("the runner's guardian failed")
}

/// Works out a policy, applies it in the guarded process, and prints the result.
fn look(
    options: &SandboxOptions,
    print: impl Fn(&ConfinePolicy, Profile) -> Result<i32, SpawnError>,
) -> anyhow::Result<i32> {
    let config = options.executor_config(None, false)?;
    for warning in config.run_as.warnings(&config.workspace) {
        eprintln!("note: {warning}");
    }
    let user = config.run_as.default.as_ref();
    let policy = ConfinePolicy::detect_for(&config.workspace, &config.state_dir, user)?;
    let (left_out, bounds) = (config.left_out, config.bounds);
    let policy = ConfinePolicy { left_out, bounds, ..policy }.allowing(config.allowances);
    let limits = group::establish(&policy.bounds.limits);
    let _group = limits.map_err(|error| runner::Error::Usage(error.to_string()))?;
    let guard = GuardConfig { restart: false, left_out };
    let code = guardian::run_guarded(guard, |_| {
        print(&policy, config.profile).unwrap_or_else(|error| {
            eprintln!("sandbridge-runner: {error}");
            1
        })
    });
    code.context("the runner's guardian failed")
}

fn diagnose(options: &SandboxOptions, json: bool) -> anyhow::Result<i32> {
    look(options, |policy, profile| {
        let diagnosis = doctor::diagnose(policy, profile)?;
        if json {
            println!("{}", diagnosis.json());
        } else {
            print!("{}", diagnosis.render());
        }
        Ok(i32::from(!diagnosis.is_good()))
    })
}

fn explain_path(options: &SandboxOptions, path: &Path, json: bool) -> anyhow::Result<i32> {
    look(options, |policy, profile| {
        let own_root = doctor::probe(policy, profile)?.holds(layer_name::MOUNT_NAMESPACE);
        let explanation = explain::explain(policy, profile, own_root, path);
        if json {
            println!("{}", serde_json::json!(explanation));
        } else {
            print!("{}", explain::render(&explanation));
        }
        Ok(0)
    })
}
