//! A guarded runner with one command, for the tests of the guardian: `guarded WORKSPACE STATE_DIR SCRIPT`.
//!
//! Starts the script as a confined command, prints `ready PID TIER KILLING`, and ends with code 0 on SIGTERM. The script
//! `crash` panics instead. With `--token` it only prints the token and the command line that everybody can see.

use std::path::Path;

use anyhow::Context;
use runner::confine::{ConfinePolicy, Profile};
use runner::guardian::{self, GuardConfig, RunnerContext};
use runner::kill;
use runner::spawn::{SpawnRequest, Spawner};
use tokio::signal::unix::{SignalKind, signal};

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
    let code = guardian::run_guarded(GuardConfig { restart: script == "crash" }, |context| {
        run(context, Path::new(workspace), Path::new(state_dir), script).map_or_else(
            |error| {
                eprintln!("{error:#}");
                1
            },
            |()| 0,
        )
    })?;
    std::process::exit(code)
}

fn run(context: &RunnerContext, workspace: &Path, state_dir: &Path, script: &str) -> anyhow::Result<()> {
    let policy = ConfinePolicy::detect(workspace, state_dir)?;
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
        let argv = ["sh", "-c", script].map(|word| word.as_bytes().to_vec()).to_vec();
        let command = spawner.spawn(SpawnRequest { argv, ..SpawnRequest::default() }).await?;
        ready();
        terminate.recv().await.context("signals end")?;
        kill::kill_tree(command.child.mark());
        Ok(())
    })
}
