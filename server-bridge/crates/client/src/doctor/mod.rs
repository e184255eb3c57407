//! `sandbridge doctor`: checks what works here, and suggests fixes.
//!
//! | module | checks |
//! |---|---|
//! | `server` | the server: reached, trusted, of this version, its clock, the login |
//! | `places` | the runners and the other places where commands run |
//! | `docker` | the user's container |
//! | `model` | the models of chats |
//! | `files` | files on this machine |

mod docker;
mod files;
mod model;
mod places;
mod server;

use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;

use super::failure::Failure;
use super::output;
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Check what works here, what does not, and how to fix it
#[derive(Parser)]
pub(crate) struct DoctorOptions {
    /// Do not send the model a test message, which costs a few tokens
    #[arg(long)]
    skip_model: bool,
}

impl Command for DoctorOptions {
    const NAME: &'static str = "doctor";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

/// The state of a check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Works,
    /// The checked item does not work, but is optional.
    Missing,
    Broken,
}

struct Check {
    name: &'static str,
    standing: Standing,
    detail: String,
    /// The suggested fix.
    fix: Option<String>,
}

impl Check {
    fn works(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, standing: Standing::Works, detail: detail.into(), fix: None }
    }

    fn missing(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, standing: Standing::Missing, detail: detail.into(), fix: Some(fix.into()) }
    }

    fn broken(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, standing: Standing::Broken, detail: detail.into(), fix: Some(fix.into()) }
    }
}

async fn run(globals: &Globals, options: DoctorOptions) -> Result<ExitCode, Failure> {
    let home = globals.home()?;
    let mut checks = Vec::new();
    files::check_permissions(&home, &mut checks);
    let settings = globals.settings(&home)?;
    let session = globals.session()?;
    if let Some(version) = server::check(&session, &mut checks).await {
        places::check(&session, &version, &mut checks).await?;
        model::check(&session, !options.skip_model, &mut checks).await?;
    }
    checks.push(files::check_static_runner(&settings, &home));
    report(globals.json, &checks);
    let is_broken = checks.iter().any(|check| check.standing == Standing::Broken);
    Ok(if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The report for programs.
#[derive(Serialize)]
struct Report<'a> {
    checks: Vec<CheckLine<'a>>,
}

#[derive(Serialize)]
struct CheckLine<'a> {
    name: &'a str,
    standing: &'a str,
    detail: &'a str,
    fix: Option<&'a str>,
}

fn report(as_json: bool, checks: &[Check]) {
    if as_json {
        let values = checks.iter().map(|check| {
            let standing = match check.standing {
                Standing::Works => "works",
                Standing::Missing => "missing",
                Standing::Broken => "broken",
            };
            let Check { name, detail, fix, .. } = check;
            CheckLine { name, standing, detail, fix: fix.as_deref() }
        });
        output::json_line(&Report { checks: values.collect() });
        return;
    }
    for check in checks {
        let mark = match check.standing {
            Standing::Works => "ok  ",
            Standing::Missing => "--  ",
            Standing::Broken => "!!  ",
        };
        output::line(&format!("{mark}{}: {}", check.name, output::printable(&check.detail)));
        if let Some(fix) = &check.fix {
            output::line(&format!("      {}", output::printable(fix)));
        }
    }
}
