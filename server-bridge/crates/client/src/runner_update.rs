//! `sandbridge runner update`: waits until a runner has replaced its own program, or reports why it failed.

use std::time::Instant;

use api::runner::{RunnerView, UpdateStarted};
use serde::Serialize;

use super::failure::Failure;
use super::http::Client;
use super::limits::{UPDATE_LOOK_INTERVAL, UPDATE_RETURN_PATIENCE};
use super::output;

/// The state of an update.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// It is still connected, because commands run there.
    Waiting,
    /// It is disconnected, to restart with the new version.
    Away,
    /// It reconnected unchanged and reports no update: it was restarted, or its connection broke.
    Forgotten,
    /// It reconnected with this version.
    Done(String),
    /// It reconnected with the old version, and reports this reason.
    Failed(String),
}

/// A runner that was updated.
#[derive(Serialize)]
pub(super) struct Updated {
    name: String,
    pub(super) version: String,
}

/// Updates the runner of that name; returns its new version. `tells` is called with a line for each stage of waiting.
pub(super) async fn update(
    client: &mut Client,
    name: &str,
    tells: impl Fn(&str),
) -> Result<Updated, Failure> {
    let mut before = runner(client, name).await?;
    let mut version = ask(client, name, &tells).await?;
    let mut away_since: Option<Instant> = None;
    loop {
        let now = runner(client, name).await?;
        match stage(&before, &now) {
            Stage::Done(version) => return Ok(Updated { name: name.to_owned(), version }),
            Stage::Failed(why) => return Err(Failure::other("failed", why)),
            Stage::Waiting => {}
            Stage::Forgotten => {
                away_since = None;
                before = now;
                version = ask(client, name, &tells).await?;
            }
            Stage::Away => {
                let since = *away_since.get_or_insert_with(|| {
                    tells(&format!("{name} is trying version {version} and restarting"));
                    Instant::now()
                });
                if since.elapsed() > UPDATE_RETURN_PATIENCE {
                    return Err(Failure::other("offline", lost(name)));
                }
            }
        }
        tokio::time::sleep(UPDATE_LOOK_INTERVAL).await;
    }
}

/// Requests the update and waits until the new program is downloaded; returns its version.
async fn ask(client: &mut Client, name: &str, tells: &impl Fn(&str)) -> Result<String, Failure> {
    tells(&format!("{name} is downloading its new program and checking it"));
    let UpdateStarted { version, running } = client.update_runner(name).await?;
    match running {
        0 => {}
        running => {
            let commands = if running == 1 {
                "a running command".to_owned()
            } else {
                format!("{running} running commands")
            };
            tells(&format!(
                "version {version} is downloaded; {name} is waiting for {commands} (sandbridge ps). Ctrl-C stops the waiting, not the update"
            ));
        }
    }
    Ok(version)
}

async fn runner(client: &mut Client, name: &str) -> Result<RunnerView, Failure> {
    client.runners().await?.into_iter().find(|runner| runner.name == name).ok_or_else(|| {
        Failure::other(
            "not_found",
            format!("you have no runner {name}; `sandbridge runner list` lists your runners"),
        )
    })
}

fn stage(before: &RunnerView, now: &RunnerView) -> Stage {
    if !now.online {
        return Stage::Away;
    }
    if now.update.is_none() {
        return Stage::Done(now.version.clone().unwrap_or_default());
    }
    match (now.connected_at == before.connected_at, &now.update_error) {
        (true, _) => Stage::Waiting,
        (false, Some(error)) => Stage::Failed(error.clone()),
        (false, None) => Stage::Forgotten,
    }
}

fn lost(name: &str) -> String {
    format!(
        "{name} disconnected for its update and did not reconnect within {} s; start it on its machine if it is not running",
        UPDATE_RETURN_PATIENCE.as_secs()
    )
}

/// The version of a runner in a list, with how to update it.
pub(super) fn version_words(runner: &RunnerView) -> String {
    let RunnerView { name, update, update_error, .. } = runner;
    let version = runner.version.as_deref().unwrap_or("-");
    let Some(newer) = update else { return version.to_owned() };
    let how = if newer.can {
        format!("sandbridge runner update {name}")
    } else {
        format!("on its machine, paste the line that `sandbridge runner rotate {name}` prints")
    };
    let failed = update_error.as_ref().map(|error| format!("; last time: {error}")).unwrap_or_default();
    format!("{version} (update to {}: {how}{failed})", newer.version)
}

/// Prints a line for a waiting person.
pub(super) fn tell(line: &str) {
    output::warn(line);
}

#[cfg(test)]
mod tests {
    use api::runner::UpdateView;

    use super::*;

    fn runner(can: bool) -> RunnerView {
        let json = r#"{"name": "laptop", "online": true, "connected_at": 1, "version": "0.0.9", "update_error": "earlier"}"#;
        let update = Some(UpdateView { version: "0.1.0".to_owned(), can });
        RunnerView { update, ..serde_json::from_str(json).unwrap() }
    }

    #[test]
    fn an_update_is_over_when_the_runner_is_back_and_never_before() {
        let before = runner(true);
        let now = || RunnerView { connected_at: Some(2), ..runner(true) };
        assert_eq!(
            stage(&before, &before),
            Stage::Waiting,
            "an error of an earlier update does not concern this one"
        );
        let away = RunnerView { online: false, connected_at: None, ..runner(true) };
        assert_eq!(stage(&before, &away), Stage::Away);
        let updated = RunnerView { version: Some("0.1.0".to_owned()), update: None, ..now() };
        assert_eq!(stage(&before, &updated), Stage::Done("0.1.0".to_owned()));
        assert_eq!(stage(&before, &now()), Stage::Failed("earlier".to_owned()));
        assert_eq!(stage(&before, &RunnerView { update_error: None, ..now() }), Stage::Forgotten);
    }

    #[test]
    fn a_list_says_how_to_update_each_runner() {
        let calm = |can| RunnerView { update_error: None, ..runner(can) };
        assert_eq!(version_words(&calm(true)), "0.0.9 (update to 0.1.0: sandbridge runner update laptop)");
        assert!(version_words(&calm(false)).contains("rotate laptop"));
        assert!(version_words(&runner(true)).ends_with("; last time: earlier)"));
        let newest = RunnerView { version: Some("0.1.0".to_owned()), update: None, ..calm(true) };
        assert_eq!(version_words(&newest), "0.1.0");
        assert_eq!(version_words(&RunnerView { version: None, ..newest }), "-");
    }
}
