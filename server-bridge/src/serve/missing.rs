//! Logs one line for each feature that is unavailable on a server that starts nevertheless.

use std::path::{Path, PathBuf};

use sandbox::LocalPolicy;

use crate::config::{Config, docker_socket};

/// Logs the unavailable features.
pub(super) fn say(config: &Config) {
    if !config.docker {
        tracing::info!(
            "Docker is off: no socket was found, or the option turns it off; users cannot choose containers"
        );
    }
    let socket = config.docker_config.socket.as_ref().map_or_else(docker_socket, PathBuf::from);
    for line in lines(config, &socket) {
        tracing::warn!("{line}");
    }
}

fn lines(config: &Config, docker_socket: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    if config.docker {
        if !docker_socket.exists() {
            lines.push(format!(
                "Docker is on, but there is no socket at {}: start its engine, set DOCKER_HOST=unix://PATH, or pass \
                 --docker off; until then Docker cannot be used",
                docker_socket.display()
            ));
        }
        lines.extend(runner(
            config.runner_static.as_deref(),
            "static runner for containers",
            "sandbridge-runner-static",
            "--runner-static",
        ));
    }
    if config.local != LocalPolicy::Off {
        let what = "runner for work on this server";
        lines.extend(runner(config.runner.as_deref(), what, "sandbridge-runner", "--runner"));
    }
    lines
}

/// The line for a missing runner; `name` is its file name next to this program.
fn runner(path: Option<&Path>, what: &str, name: &str, option: &str) -> Option<String> {
    match path {
        Some(path) if path.is_file() => None,
        Some(path) => Some(format!(
            "no {what}: {} is not a file; build it with scripts/build, or correct {option}",
            path.display()
        )),
        None => Some(format!(
            "no {what}: put {name} next to this program (scripts/build builds it), or name it with {option}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServeArgs;

    fn told(args: ServeArgs, socket: &str) -> Vec<String> {
        let home = tempfile::tempdir().unwrap();
        lines(&Config::load(args, Some(home.path())).unwrap(), Path::new(socket))
    }

    fn args(docker: &str, local: &str, runner: &str) -> ServeArgs {
        ServeArgs {
            docker: Some(docker.to_owned()),
            local: Some(local.to_owned()),
            runner_static: Some(runner.into()),
            runner: Some(runner.into()),
            ..ServeArgs::default()
        }
    }

    #[test]
    fn a_configured_runner_that_is_no_file_is_named() {
        let told = told(args("on", "admins", "/nowhere/runner"), "/");
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("/nowhere/runner is not a file") && told[0].contains("--runner-static"));
        assert!(told[1].contains("/nowhere/runner is not a file") && told[1].contains("--runner"));
    }

    #[test]
    fn docker_that_is_on_without_a_socket_is_told() {
        let told = told(args("on", "off", "/proc/self/exe"), "/nowhere/docker.sock");
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("no socket at /nowhere/docker.sock"), "{told:?}");
    }

    #[test]
    fn nothing_is_told_of_what_is_not_wanted() {
        assert_eq!(told(args("off", "off", "/nowhere"), "/nowhere"), Vec::<String>::new());
    }
}
