//! A guarded runner with one command, for the tests of the guardian: `guarded WORKSPACE STATE_DIR SCRIPT`.
//!
//! Starts the script as a confined command, prints `ready PID TIER KILLING`, and ends with code 0 on SIGTERM. The script
//! `crash` panics instead; a script after `terminal:` runs on a terminal, alongside another command that wrote its
//! terminal's path to `other`. `GUARDED_BOUNDS` holds bounds as JSON. With `--token` it only prints the token and the
//! command line that all users can see.

use std::path::Path;

use anyhow::Context;
use runner::confine::ConfinePolicy;
use runner::guardian::{self, GuardConfig, RunnerContext};
use runner::kill;
use runner::layers::{LeftOut, Profile};
use runner::spawn::{SpawnRequest, Spawner, TerminalSize};
use tokio::signal::unix::{SignalKind, signal};

const SIZE: TerminalSize = TerminalSize { rows: 24, columns: 80 };

fn main() -> anyhow::Result<()> {
    if let Some(token) = guardian::take_token_from_argv()? {
        let command_line = std::fs::read_to_string("/proc/self/cmdline")?.replace('\0', " ");
        println!("{token} {command_line}");
        return Ok(());
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [workspace, state_dir, script] = arguments.as_slice() else {
        anyhow::bail!("usage: guarded WORKSPACE STATE_DIR SCRIPT");
    };
    let code = guardian::run_guarded(
        GuardConfig { restart: script == "crash", left_out: LeftOut::default() },
        |context| {
            run(context, Path::new(workspace), Path::new(state_dir), script).map_or_else(
                |error| {
                    eprintln!("{error:#}");
                    1
                },
                |()| 0,
            )
        },
    )?;
    std::process::exit(code)
}

fn run(context: &RunnerContext, workspace: &Path, state_dir: &Path, script: &str) -> anyhow::Result<()> {
    let mut policy = ConfinePolicy::detect(workspace, state_dir)?;
    if let Ok(bounds) = std::env::var("GUARDED_BOUNDS") {
        policy.bounds = serde_json::from_str(&bounds)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let spawner = Spawner::start(Profile::Workspace, &policy)?;
        let ready = || {
            let killing = kill::describe().replace(' ', "_");
            println!("ready {} {} {killing}", std::process::id(), context.tier.as_str());
        };
        if script == "crash" {
            ready();
            panic!("as asked for");
        }
        let request = |script: &str| {
            let argv = ["sh", "-c", script].map(|word| word.as_bytes().to_vec()).to_vec();
            SpawnRequest { argv, ..SpawnRequest::default() }
        };
        let commands = match script.strip_prefix("terminal:") {
            None => vec![spawner.spawn(request(script)).await?],
            Some(script) => ["tty >other; sleep 1000", script]
                .into_iter()
                .map(|script| spawner.spawn_on_terminal(&policy, request(script), SIZE))
                .collect::<Result<_, _>>()?,
        };
        ready();
        terminate.recv().await.context("signals end")?;
        for command in commands {
            kill::kill_tree(command.child.mark());
        }
        Ok(())
    })
}
