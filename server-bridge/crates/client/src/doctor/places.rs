//! The runners and the other places where commands run.

use api::runner::RunnerView;
use api::settings::SettingsView;
use api::words::ChoiceKind;

use super::{Check, docker};
use crate::failure::Failure;
use crate::http::Client;
use crate::session::Session;

/// Checks the active runner, and the other places.
pub(super) async fn check(session: &Session, version: &str, checks: &mut Vec<Check>) -> Result<(), Failure> {
    let mut client = Client::new(session)?;
    let (settings, runners) = (client.settings().await?, client.runners().await?);
    checks.push(check_active(&settings, &runners));
    checks.extend(check_online(&runners));
    checks.extend(check_versions(&runners, version));
    for RunnerView { name, layers, .. } in runners.iter().filter(|runner| runner.online) {
        let open = layers.iter().filter(|layer| !layer.holds && !layer.by_choice);
        let open: Vec<&str> = open.map(|layer| layer.name.as_str()).collect();
        if !open.is_empty() {
            let detail = format!("{name} lacks: {}", open.join(", "));
            checks.push(Check::missing(
                "confinement",
                detail,
                "run `sandbridge-runner doctor` on that machine",
            ));
        }
    }
    if let Some(choice) = settings.choices.iter().find(|choice| choice.kind == ChoiceKind::Docker) {
        checks.push(docker::check(session, choice).await);
    }
    Ok(())
}

fn check_active(settings: &SettingsView, runners: &[RunnerView]) -> Check {
    let add = "run `sandbridge runner add NAME` and, on your machine, the command it prints";
    let name = match (&settings.active_runner, runners) {
        (Some(name), _) => name,
        (None, []) => return Check::missing("active runner", "you have no runner", add),
        (None, [only]) => &only.name,
        (None, several) => {
            let fix = "choose one with `sandbridge use NAME`";
            let detail = format!("none is chosen, and you have {} runners", several.len());
            return Check::broken("active runner", detail, fix);
        }
    };
    match settings.choices.iter().find(|choice| choice.name == *name) {
        Some(found) if found.available && found.online => {
            Check::works("active runner", format!("{name} is online"))
        }
        Some(found) if found.kind == ChoiceKind::Runner => {
            let fix = "start sandbridge-runner on that machine, or choose another with `sandbridge use NAME`";
            Check::broken("active runner", format!("{name} is offline"), fix)
        }
        Some(found) => {
            let note = found.note.as_deref().unwrap_or("it is not available");
            Check::broken(
                "active runner",
                format!("{name}: {note}"),
                "choose another with `sandbridge use NAME`",
            )
        }
        None => Check::broken("active runner", format!("there is no runner {name}"), add),
    }
}

/// Checks that at least one runner is connected.
fn check_online(runners: &[RunnerView]) -> Option<Check> {
    if runners.is_empty() || runners.iter().any(|runner| runner.online) {
        return None;
    }
    let fix = "start sandbridge-runner on one of them: `sandbridge runner rotate NAME` prints the command with a new token";
    Some(Check::missing("runners", "none of your runners is online", fix))
}

/// Checks for runners of another version than the server.
fn check_versions(runners: &[RunnerView], server: &str) -> Option<Check> {
    let online = runners.iter().filter(|runner| runner.online);
    let others = online.filter_map(|runner| {
        let version = runner.version.as_deref().filter(|version| *version != server)?;
        Some(format!("{} has version {version}", runner.name))
    });
    let others: Vec<String> = others.collect();
    if others.is_empty() {
        return None;
    }
    let detail = format!("the server has version {server}, but {}", others.join(", "));
    Some(Check::missing("runner versions", detail, "update the older ones if something does not work"))
}

#[cfg(test)]
mod tests {
    use api::settings::ChoiceView;

    use super::super::Standing;
    use super::*;

    fn runner(name: &str, online: bool, version: Option<&str>) -> RunnerView {
        let runner: RunnerView = serde_json::from_str(r#"{"name": "x"}"#).unwrap();
        RunnerView { name: name.to_owned(), online, version: version.map(str::to_owned), ..runner }
    }

    #[test]
    fn the_active_runner_is_judged() {
        let settings = |active: Option<&str>, online: bool| {
            let (name, kind) = ("laptop".to_owned(), ChoiceKind::Runner);
            let choices = vec![ChoiceView { name, kind, online, available: online, note: None }];
            SettingsView { active_runner: active.map(str::to_owned), choices }
        };
        let one = [runner("laptop", true, None)];
        let standing =
            |settings: SettingsView, runners: &[RunnerView]| check_active(&settings, runners).standing;
        assert!(standing(settings(Some("laptop"), true), &one) == Standing::Works);
        assert!(standing(settings(None, true), &one) == Standing::Works);
        assert!(standing(settings(Some("laptop"), false), &one) == Standing::Broken);
        assert!(standing(settings(Some("gone"), true), &one) == Standing::Broken);
        let two = ["laptop", "work"].map(|name| runner(name, true, None));
        assert!(standing(settings(None, true), &two) == Standing::Broken);
        assert!(standing(settings(None, true), &[]) == Standing::Missing);
    }

    #[test]
    fn a_runner_of_another_version_and_none_online_are_told() {
        let runners = [runner("a", true, Some("0.1.0")), runner("b", false, None)];
        assert!(check_versions(&runners, "0.1.0").is_none() && check_online(&runners).is_none());
        assert!(check_versions(&runners, "0.2.0").unwrap().detail.contains("a has version 0.1.0"));
        let offline = [runner("b", false, None)];
        assert!(check_online(&offline).is_some() && check_online(&[]).is_none());
    }
}
