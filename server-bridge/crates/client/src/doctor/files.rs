//! Files on this machine.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use home::{Settings, key_file};

use super::Check;

/// The name of the runner for containers, next to the server.
const STATIC_RUNNER: &str = "sandbridge-runner-static";

/// Files with secrets in the home directory: logins, keys, the server's encryption key.
const SECRETS: [&str; 4] = ["client.json", "config.json", ".env", "sandbridge.key"];

/// Checks that no other user can read secrets, or replace the files.
pub(super) fn check_permissions(home: &Path, checks: &mut Vec<Check>) {
    let mode = |path: &Path| Some(std::fs::metadata(path).ok()?.permissions().mode() & 0o777);
    let mut is_fine = true;
    let mut tell = |path: &Path, mode: u32, why: &str, wanted: &str| {
        is_fine = false;
        let detail = format!("{} has the mode {mode:03o}: {why}", path.display());
        checks.push(Check::broken("permissions", detail, format!("run `chmod {wanted} {}`", path.display())));
    };
    match mode(home) {
        None => return,
        Some(mode) if mode & 0o022 != 0 => tell(home, mode, "others can put files there", "go-w"),
        Some(_) => {}
    }
    for path in SECRETS.map(|name| home.join(name)) {
        if let Some(mode) = mode(&path).filter(|mode| mode & 0o077 != 0) {
            tell(&path, mode, "others can read it", "600");
        }
    }
    let key = key_file(home);
    if key.is_symlink() {
        is_fine = false;
        let detail = format!("{} is a symbolic link: the server does not start with it", key.display());
        checks.push(Check::broken("permissions", detail, "put the file itself in its place"));
    }
    if is_fine {
        checks.push(Check::works("permissions", format!("{} is yours alone", home.display())));
    }
}

/// Looks for the static runner where a server with this home directory would, except for its command line. Only relevant where the server runs.
pub(super) fn check_static_runner(settings: &Settings, home: &Path) -> Check {
    let configured = settings.value("runner_static").map(PathBuf::from);
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(STATIC_RUNNER));
    let looked_at = format!("the environment, and .env and config.json in {}", home.display());
    let fix = "build it with scripts/build, or set SANDBRIDGE_RUNNER_STATIC; only a server that uses Docker needs it";
    match (configured, beside) {
        (Some(path), _) | (None, Some(path)) if path.is_file() => {
            Check::works("static runner", path.display().to_string())
        }
        (Some(path), _) => {
            let detail =
                format!("{} is configured and is not a file (looked in: {looked_at})", path.display());
            Check::missing("static runner", detail, fix)
        }
        (None, _) => {
            let detail = format!(
                "there is no {STATIC_RUNNER} next to this program, and none is configured (looked in: {looked_at})"
            );
            Check::missing("static runner", detail, fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Standing;
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
    fn a_secret_that_others_can_read_is_told_with_the_command_that_mends_it() {
        let home = tempfile::tempdir().unwrap();
        let found = || {
            let mut checks = Vec::new();
            check_permissions(home.path(), &mut checks);
            checks
        };
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(home.path(), 0o700);
        let file = home.path().join("client.json");
        std::fs::write(&file, "{}").unwrap();
        set(&file, 0o600);
        assert!(found().iter().all(|check| check.standing == Standing::Works));
        set(&file, 0o644);
        set(home.path(), 0o777);
        let checks = found();
        assert_eq!(checks.len(), 2);
        assert!(checks.iter().all(|check| check.standing == Standing::Broken));
        assert_eq!(checks[1].fix, Some(format!("run `chmod 600 {}`", file.display())));
        set(home.path(), 0o700);
        set(&file, 0o600);
        let key = key_file(home.path());
        std::fs::write(&key, "").unwrap();
        set(&key, 0o640);
        assert_eq!(found()[0].fix, Some(format!("run `chmod 600 {}`", key.display())));
        std::fs::remove_file(&key).unwrap();
        std::os::unix::fs::symlink(&file, &key).unwrap();
        assert!(found()[0].detail.contains("symbolic link"), "{}", found()[0].detail);
    }
}
