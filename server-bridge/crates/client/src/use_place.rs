//! `sandbridge use`: choose the place where the user's commands run.

use std::process::ExitCode;

use api::runner::AUTO;
use api::settings::SettingsChanged;
use clap::Parser;

use super::failure::Failure;
use super::http::Client;
use super::{names, output};
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Choose where your commands run
#[derive(Parser)]
pub(crate) struct UseOptions {
    /// A runner's name, `__docker__` (your container), `none` (the server itself), or `auto` (your only runner; without a runner,
    /// your container)
    #[arg(value_name = "NAME|__docker__|none|auto", add = names::places())]
    place: String,
}

impl Command for UseOptions {
    const NAME: &'static str = "use";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, options: UseOptions) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let changed = client.use_place(Some(options.place).filter(|place| place != AUTO)).await?;
    if globals.json {
        output::json_line(&changed);
    } else {
        output::line(&words(&changed));
    }
    if let Some(warning) = &changed.warning {
        output::warn(&format!("warning: {warning}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The choice in words. If no command can run there now, the warning has the reason.
fn words(changed: &SettingsChanged) -> String {
    match (&changed.active_runner, &changed.warning) {
        (Some(name), _) => format!("your commands run on {name} now"),
        (None, None) => "your commands run on your only runner now, or in Docker if you have none".to_owned(),
        (None, Some(_)) => "no place is chosen for your commands now".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_that_leads_nowhere_promises_no_place() {
        let words = |runner: Option<&str>, warning: Option<&str>| {
            words(&SettingsChanged {
                active_runner: runner.map(str::to_owned),
                warning: warning.map(str::to_owned),
            })
        };
        assert!(words(None, None).contains("your only runner"));
        assert_eq!(
            words(None, Some("several runners are registered")),
            "no place is chosen for your commands now"
        );
        assert!(words(Some("laptop"), Some("runner laptop is offline")).contains("laptop"));
    }
}
