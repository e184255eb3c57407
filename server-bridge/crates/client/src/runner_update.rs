//! `sandbridge runner update`: waits until a runner has replaced its own program, or tells why not.

use std::time::Instant;

use serde_json::{Value, json};

use super::failure::Failure;
use super::http::{Client, percent_encoded};
use super::limits::{UPDATE_LOOK_INTERVAL, UPDATE_RETURN_PATIENCE, UPDATE_TIMEOUT};
use super::output;

/// How an update stands.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// It is connected as it was: something runs there.
    Waiting,
    /// It is away.
    Away,
    /// It connected again as it was and says nothing of an update: it was started anew, or its connection broke.
    Forgotten,
    /// It is back, in this version.
    Done(String),
    /// It is back as it was, and says why.
    Failed(String),
}

/// Lets the runner of that name update; returns its new version. `tells` gets a line for each thing that is waited for.
pub(super) async fn update(client: &mut Client, name: &str, tells: impl Fn(&str)) -> Result<Value, Failure> {
    let mut before = runner(client, name).await?;
    let mut version = ask(client, name, &tells).await?;
    let mut away_since: Option<Instant> = None;
    loop {
        let now = runner(client, name).await?;
        match stage(&before, &now) {
            Stage::Done(version) => return Ok(json!({"name": name, "version": version})),
            Stage::Failed(why) => return Err(Failure::other("failed", why)),
            Stage::Waiting => {}
            Stage::Forgotten => {
                away_since = None;
                before = now;
                version = ask(client, name, &tells).await?;
            }
            Stage::Away => {
                let since = *away_since.get_or_insert_with(|| {
                    tells(&format!("{name} tries version {version} and restarts"));
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

/// Asks for the update and waits until the new program is downloaded; returns its version.
async fn ask(client: &mut Client, name: &str, tells: &impl Fn(&str)) -> Result<String, Failure> {
    tells(&format!("{name} downloads its new program and checks it"));
    let path = format!("/api/v1/runners/{}/update", percent_encoded(name));
    let answer = client.post_within(&path, &json!({}), UPDATE_TIMEOUT).await?;
    let version = answer["version"].as_str().unwrap_or_default().to_owned();
    match answer["running"].as_u64() {
        None | Some(0) => {}
        Some(running) => {
            let commands = if running == 1 {
                "a command that runs".to_owned()
            } else {
                format!("{running} commands that run")
            };
            tells(&format!(
                "version {version} is there; {name} waits for {commands} (sandbridge ps). Ctrl-C ends this waiting, not the update"
            ));
        }
    }
    Ok(version)
}

async fn runner(client: &mut Client, name: &str) -> Result<Value, Failure> {
    let runners = client.get("/api/v1/runners").await?;
    let found = runners.as_array().into_iter().flatten().find(|runner| runner["name"] == name);
    found.cloned().ok_or_else(|| {
        Failure::other(
            "not_found",
            format!("you have no runner {name}; `sandbridge runner list` shows yours"),
        )
    })
}

fn stage(before: &Value, now: &Value) -> Stage {
    if now["online"] != true {
        return Stage::Away;
    }
    if now["update"].is_null() {
        return Stage::Done(now["version"].as_str().unwrap_or_default().to_owned());
    }
    match (now["connected_at"] == before["connected_at"], now["update_error"].as_str()) {
        (true, _) => Stage::Waiting,
        (false, Some(error)) => Stage::Failed(error.to_owned()),
        (false, None) => Stage::Forgotten,
    }
}

fn lost(name: &str) -> String {
    format!(
        "{name} went away for its update and has not come back within {} s; look at its machine, and start it there if it does \
         not run",
        UPDATE_RETURN_PATIENCE.as_secs()
    )
}

/// The version of a runner as a list shows it, with how to update it.
pub(super) fn version_words(runner: &Value) -> String {
    let version = runner["version"].as_str().unwrap_or("-");
    let name = runner["name"].as_str().unwrap_or_default();
    let Some(newer) = runner["update"]["version"].as_str() else { return version.to_owned() };
    let how = if runner["update"]["can"] == true {
        format!("sandbridge runner update {name}")
    } else {
        format!("paste the line of sandbridge runner rotate {name} there")
    };
    let failed =
        runner["update_error"].as_str().map(|error| format!("; last time: {error}")).unwrap_or_default();
    format!("{version} (update to {newer}: {how}{failed})")
}

/// What a person is told while they wait.
pub(super) fn tell(line: &str) {
    output::warn(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_is_over_when_the_runner_is_back_and_never_before() {
        let older = json!({"version": "0.1.0", "can": true});
        let before = json!({"online": true, "connected_at": 1, "version": "0.0.9", "update": older, "update_error": "earlier"});
        let with = |change: Value| {
            let mut now = before.clone();
            now.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            stage(&before, &now)
        };
        assert_eq!(with(json!({})), Stage::Waiting, "an error of an earlier update says nothing of this one");
        assert_eq!(with(json!({"online": false, "connected_at": null})), Stage::Away);
        assert_eq!(
            with(json!({"connected_at": 2, "version": "0.1.0", "update": null})),
            Stage::Done("0.1.0".to_owned())
        );
        assert_eq!(with(json!({"connected_at": 2})), Stage::Failed("earlier".to_owned()));
        assert_eq!(with(json!({"connected_at": 2, "update_error": null})), Stage::Forgotten);
    }

    #[test]
    fn a_list_says_how_to_update_each_runner() {
        let runner = |can, error: Value| {
            let update = json!({"version": "0.1.0", "can": can});
            json!({"name": "laptop", "version": "0.0.9", "update": update, "update_error": error})
        };
        assert_eq!(
            version_words(&runner(true, Value::Null)),
            "0.0.9 (update to 0.1.0: sandbridge runner update laptop)"
        );
        assert!(version_words(&runner(false, Value::Null)).contains("rotate laptop"));
        assert!(version_words(&runner(true, json!("no space"))).ends_with("; last time: no space)"));
        assert_eq!(version_words(&json!({"version": "0.1.0", "update": null})), "0.1.0");
        assert_eq!(version_words(&json!({"version": null})), "-");
    }
}
