//! `sandbridge doctor`: what works here, what does not, and the fix.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::client::Client;
use super::failure::Failure;
use super::session::Session;
use super::{Globals, output};
use crate::config::Settings;

/// The runner that goes into containers, as it is called beside the server.
const STATIC_RUNNER: &str = "sandbridge-runner-static";

/// How something stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Works,
    /// It does not work, and need not for everything else to.
    Missing,
    Broken,
}

struct Check {
    name: &'static str,
    standing: Standing,
    detail: String,
    /// What to do about it.
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

pub(super) async fn run(globals: &Globals) -> Result<ExitCode, Failure> {
    let home = globals.home()?;
    let settings = globals.settings(&home)?;
    let session = globals.session()?;
    let mut checks = Vec::new();
    let has_login = check_server(&session, &mut checks).await;
    if has_login {
        check_places(&session, &mut checks).await?;
    }
    checks.push(check_static_runner(&settings, &home));
    report(globals.json, &checks);
    let is_broken = checks.iter().any(|check| check.standing == Standing::Broken);
    Ok(if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Is the server there, of this version, and does it know us?
async fn check_server(session: &Session, checks: &mut Vec<Check>) -> bool {
    let login = format!("run `sandbridge login --server {} --user NAME`", session.server);
    let asked = match Client::new(session) {
        Ok(mut client) => client.get("/api/v1/me").await,
        // Without a login the server refuses, which shows that it is there.
        Err(_) => match Client::anonymous(session) {
            Ok(mut client) => client.get("/api/v1/me").await,
            Err(failure) => Err(failure),
        },
    };
    match asked {
        Ok(me) => {
            checks.push(Check::works("server", format!("{} answers", session.server)));
            checks.push(Check::works("login", format!("you are {}", me["name"].as_str().unwrap_or("?"))));
            checks.push(check_version(me["version"].as_str().unwrap_or("?")));
            true
        }
        Err(failure) if failure.kind == "unauthorized" => {
            checks.push(Check::works("server", format!("{} answers", session.server)));
            checks.push(Check::broken("login", "you are not logged in", login));
            false
        }
        Err(failure) => {
            let fix = "start it with `sandbridge serve`, or name another one with --server";
            checks.push(Check::broken("server", failure.message, fix));
            false
        }
    }
}

fn check_version(server: &str) -> Check {
    let own = env!("CARGO_PKG_VERSION");
    if server == own {
        Check::works("version", own)
    } else {
        let detail = format!("the server is {server}, this is {own}");
        Check::missing("version", detail, "update the older of the two if something does not work")
    }
}

/// Is the active runner there, and what about the other places?
async fn check_places(session: &Session, checks: &mut Vec<Check>) -> Result<(), Failure> {
    let mut client = Client::new(session)?;
    let settings = client.get("/api/v1/settings").await?;
    let runners = client.get("/api/v1/runners").await?;
    checks.push(check_active(&settings, &runners));
    for runner in runners.as_array().into_iter().flatten().filter(|runner| runner["online"] == true) {
        let open: Vec<&str> = runner["layers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|layer| layer["holds"] == false)
            .filter_map(|layer| layer["name"].as_str())
            // Whoever did not ask for these two lacks nothing.
            .filter(|name| !["network", "limits"].contains(name))
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
    if let Some(docker) = choice(&settings, sandbox::DOCKER) {
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

/// Only of interest where the server runs. Looks where a server with this home directory would, flags aside.
fn check_static_runner(settings: &Settings, home: &Path) -> Check {
    let configured = settings.value("runner_static").map(PathBuf::from);
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(STATIC_RUNNER));
    let looked_at = format!("the environment, and .env and config.json in {}", home.display());
    let fix = "build it with scripts/build, or set SANDBRIDGE_RUNNER_STATIC; only a server that uses Docker needs it";
    match (configured, beside) {
        (Some(path), _) | (None, Some(path)) if path.is_file() => {
            Check::works("static runner", path.display().to_string())
        }
        (Some(path), _) => {
            let detail = format!("{} is configured and is not a file (asked: {looked_at})", path.display());
            Check::missing("static runner", detail, fix)
        }
        (None, _) => {
            let detail = format!(
                "there is no {STATIC_RUNNER} beside this program, and none is configured (asked: {looked_at})"
            );
            Check::missing("static runner", detail, fix)
        }
    }
}

fn report(as_json: bool, checks: &[Check]) {
    if as_json {
        let values = checks.iter().map(|check| {
            let standing = match check.standing {
                Standing::Works => "works",
                Standing::Missing => "missing",
                Standing::Broken => "broken",
            };
            json!({"name": check.name, "standing": standing, "detail": check.detail, "fix": check.fix})
        });
        output::json_line(&json!({"checks": values.collect::<Vec<_>>()}));
        return;
    }
    for check in checks {
        let mark = match check.standing {
            Standing::Works => "ok  ",
            Standing::Missing => "--  ",
            Standing::Broken => "!!  ",
        };
        output::line(&format!("{mark}{}: {}", check.name, check.detail));
        if let Some(fix) = &check.fix {
            output::line(&format!("      {fix}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_own_configuration_says_where_the_static_runner_is() {
        let home = tempfile::tempdir().unwrap();
        let check = |path: &str| {
            std::fs::write(home.path().join("config.json"), json!({"runner_static": path}).to_string())
                .unwrap();
            check_static_runner(&Settings::load(home.path()).unwrap(), home.path())
        };
        assert!(check("/proc/self/exe").standing == Standing::Works);
        let missing = check("/nowhere/runner");
        assert!(missing.standing == Standing::Missing);
        assert!(
            missing.detail.contains("/nowhere/runner is configured and is not a file"),
            "{}",
            missing.detail
        );
    }

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
}
