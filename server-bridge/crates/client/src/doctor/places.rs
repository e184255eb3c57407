//! The runners and the other places where commands run.

use serde_json::Value;

use super::Check;
use crate::failure::Failure;
use crate::http::Client;
use crate::session::Session;

/// Is the active runner there, and what about the other places?
pub(super) async fn check(session: &Session, version: &str, checks: &mut Vec<Check>) -> Result<(), Failure> {
    let mut client = Client::new(session)?;
    let settings = client.get("/api/v1/settings").await?;
    let runners = client.get("/api/v1/runners").await?;
    checks.push(check_active(&settings, &runners));
    checks.extend(check_online(&runners));
    checks.extend(check_versions(&runners, version));
    for runner in runners.as_array().into_iter().flatten().filter(|runner| runner["online"] == true) {
        let open: Vec<&str> = runner["layers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|layer| layer["holds"] == false && !is_chosen(layer))
            .filter_map(|layer| layer["name"].as_str())
            .collect();
        if !open.is_empty() {
            let name = runner["name"].as_str().unwrap_or("?");
            let detail = format!("{name} does not hold: {}", open.join(", "));
            checks.push(Check::missing(
                "confinement",
                detail,
                "run `sandbridge-runner doctor` on that machine",
            ));
        }
    }
    if let Some(docker) = choice(&settings, api::runner::DOCKER) {
        checks.push(if docker["available"] == true {
            Check::works("docker", "the server can run commands in containers")
        } else {
            let note = docker["note"].as_str().unwrap_or("the server does not offer it");
            Check::missing("docker", note, "ask the server's admin, or use a runner")
        });
    }
    Ok(())
}

fn check_active(settings: &Value, runners: &Value) -> Check {
    let count = runners.as_array().map_or(0, Vec::len);
    let add = "run `sandbridge runner add NAME` and, on your machine, the command it prints";
    let name = match settings["active_runner"].as_str() {
        Some(name) => name,
        None if count == 0 => return Check::missing("active runner", "you have no runner", add),
        None if count > 1 => {
            let fix = "choose one with `sandbridge use NAME`";
            return Check::broken("active runner", format!("none is chosen, and you have {count}"), fix);
        }
        None => runners[0]["name"].as_str().unwrap_or("?"),
    };
    match choice(settings, name) {
        Some(found) if found["available"] == true && found["online"] != false => {
            Check::works("active runner", format!("{name} is online"))
        }
        Some(found) if found["kind"] == "runner" => {
            let fix = "start sandbridge-runner on that machine, or choose another with `sandbridge use NAME`";
            Check::broken("active runner", format!("{name} is offline"), fix)
        }
        Some(found) => {
            let note = found["note"].as_str().unwrap_or("it is not available");
            Check::broken(
                "active runner",
                format!("{name}: {note}"),
                "choose another with `sandbridge use NAME`",
            )
        }
        None => Check::broken("active runner", format!("there is no runner {name}"), add),
    }
}

fn choice<'a>(settings: &'a Value, name: &str) -> Option<&'a Value> {
    settings["choices"].as_array()?.iter().find(|choice| choice["name"] == name)
}

/// Is any runner there at all?
fn check_online(runners: &Value) -> Option<Check> {
    let runners = runners.as_array().filter(|runners| !runners.is_empty())?;
    if runners.iter().any(|runner| runner["online"] == true) {
        return None;
    }
    let fix = "start sandbridge-runner on one of them: `sandbridge runner rotate NAME` prints the command with a new token";
    Some(Check::missing("runners", "none of your runners is online", fix))
}

/// Is a runner of another version than the server?
fn check_versions(runners: &Value, server: &str) -> Option<Check> {
    let list = runners.as_array().into_iter().flatten().filter(|runner| runner["online"] == true);
    let others: Vec<String> = list
        .filter_map(|runner| {
            let version = runner["version"].as_str().filter(|version| *version != server)?;
            Some(format!("{} is {version}", runner["name"].as_str().unwrap_or("?")))
        })
        .collect();
    if others.is_empty() {
        return None;
    }
    let detail = format!("the server is {server}, and {}", others.join(", "));
    Some(Check::missing("runner versions", detail, "update the older ones if something does not work"))
}

/// Whether somebody chose to go without a layer: then nothing is missing.
fn is_chosen(layer: &Value) -> bool {
    let is_off = layer["detail"].as_str().is_some_and(|detail| detail.starts_with("switched off"));
    layer["name"] == "network" || layer["name"] == "limits" && is_off
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Standing;
    use super::*;

    #[test]
    fn the_active_runner_is_judged() {
        let choices = |online: bool| json!([{"name": "laptop", "kind": "runner", "online": online, "available": online, "note": null}]);
        let one = json!([{"name": "laptop"}]);
        let standing = |settings: Value, runners: &Value| check_active(&settings, runners).standing;
        assert!(
            standing(json!({"active_runner": "laptop", "choices": choices(true)}), &one) == Standing::Works
        );
        assert!(standing(json!({"active_runner": null, "choices": choices(true)}), &one) == Standing::Works);
        assert!(
            standing(json!({"active_runner": "laptop", "choices": choices(false)}), &one) == Standing::Broken
        );
        assert!(
            standing(json!({"active_runner": "gone", "choices": choices(true)}), &one) == Standing::Broken
        );
        let two = json!([{"name": "laptop"}, {"name": "work"}]);
        assert!(standing(json!({"active_runner": null, "choices": choices(true)}), &two) == Standing::Broken);
        assert!(standing(json!({"active_runner": null, "choices": []}), &json!([])) == Standing::Missing);
    }

    #[test]
    fn a_runner_of_another_version_and_none_online_are_told() {
        let runners =
            json!([{"name": "a", "online": true, "version": "0.1.0"}, {"name": "b", "online": false}]);
        assert!(check_versions(&runners, "0.1.0").is_none() && check_online(&runners).is_none());
        assert!(check_versions(&runners, "0.2.0").unwrap().detail.contains("a is 0.1.0"));
        let offline = json!([{"name": "b", "online": false}]);
        assert!(check_online(&offline).is_some() && check_online(&json!([])).is_none());
    }
}
