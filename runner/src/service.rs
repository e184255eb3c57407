//! Running as a service of systemd: a unit of the user, or of the system for root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::account::own_home;
use crate::cli::Options;
use crate::connect::{Source, Token};
use crate::error::Error;
use crate::executor::ExecutorConfig;
use crate::exit_code::{EXIT_REPLACED, EXIT_REVOKED};
use crate::layers::Profile;
use crate::llm::LlmConfig;
use crate::secret::{read_secret, write_private};

/// The unit's file name.
const UNIT: &str = "sandbridge-runner.service";

/// The place of a unit and the way to call systemd.
struct Manager {
    units: PathBuf,
    is_user: bool,
}

impl Manager {
    fn of_this_user() -> Result<Self, Error> {
        if rustix::process::geteuid().is_root() {
            return Ok(Self { units: PathBuf::from("/etc/systemd/system"), is_user: false });
        }
        let configuration = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let configuration = configuration.or_else(|| own_home().map(|home| home.join(".config")));
        let missing = || Error::Usage("HOME is not set; a user's service needs one".to_owned());
        Ok(Self { units: configuration.ok_or_else(missing)?.join("systemd/user"), is_user: true })
    }

    fn unit(&self) -> PathBuf {
        self.units.join(UNIT)
    }

    fn systemctl(&self, arguments: &[&str]) -> Result<(), Error> {
        let mut command = Command::new("systemctl");
        command.args(self.is_user.then_some("--user")).args(arguments);
        let status =
            command.status().map_err(Error::system("run systemctl (is this machine run by systemd?)"))?;
        if status.success() {
            return Ok(());
        }
        Err(Error::Usage(format!("systemctl {} failed ({status}); see above", arguments.join(" "))))
    }
}

/// Installs and starts the service, and reports what was done; with `print` only prints the unit.
///
/// # Errors
/// Options are missing, files cannot be written, or systemd refuses.
pub fn install(options: &Options, token: Option<String>, print: bool) -> Result<(), Error> {
    let source = options.source(token)?;
    let Source::Server { endpoint, token, .. } = &source else {
        return Err(Error::Usage(
            "a service needs --server and --token-file; --stdio is for servers".to_owned(),
        ));
    };
    let config = options.executor_config()?;
    if !config.left_out.is_empty() {
        return Err(Error::Usage(
            "--without is for trying something out: a service runs with every layer".to_owned(),
        ));
    }
    // Mistakes in the options are reported now, instead of by a service that cannot start.
    options.container()?;
    // A token file in the state directory stays in place: it may already contain the replacement of a one-time token.
    let token_file = match token {
        Token::File(file) if file.starts_with(&config.state_dir) => file.clone(),
        Token::File(_) | Token::Given(_) => config.state_dir.join("token"),
    };
    let program = std::env::current_exe().map_err(Error::system("find this program"))?;
    let manager = Manager::of_this_user()?;
    let unit = unit(&program, endpoint.url(), &token_file, &config, options, manager.is_user)?;
    if print {
        print!("{unit}");
        return Ok(());
    }
    fs::create_dir_all(&config.state_dir).map_err(Error::file(&config.state_dir))?;
    match token {
        Token::File(file) if *file == token_file => {}
        Token::File(file) => write_private(&token_file, &format!("{}\n", read_secret(file)?))?,
        Token::Given(token) => write_private(&token_file, &format!("{token}\n"))?,
    }
    fs::create_dir_all(&manager.units).map_err(Error::file(&manager.units))?;
    fs::write(manager.unit(), unit).map_err(Error::file(manager.unit()))?;
    manager.systemctl(&["daemon-reload"])?;
    manager.systemctl(&["enable", UNIT])?;
    manager.systemctl(&["restart", UNIT])?;
    let user = if manager.is_user { "--user " } else { "" };
    println!("installed {}", manager.unit().display());
    println!("the token is in {} (only this user can read it)", token_file.display());
    println!(
        "it is running now, and starts again at every boot; check it with: systemctl {user}status {UNIT}"
    );
    if manager.is_user {
        println!("to keep it running while you are logged out: loginctl enable-linger");
    }
    Ok(())
}

/// Stops and removes the service, and the token's file. Reports if none is installed.
///
/// # Errors
/// Systemd refuses, or a file cannot be removed.
pub fn uninstall(state_dir: &Path) -> Result<(), Error> {
    let manager = Manager::of_this_user()?;
    let file = manager.unit();
    if !file.exists() {
        println!("no service is installed here ({} is missing); nothing was changed", file.display());
        return Ok(());
    }
    manager.systemctl(&["disable", "--now", UNIT])?;
    fs::remove_file(&file).map_err(Error::file(&file))?;
    manager.systemctl(&["daemon-reload"])?;
    let token = state_dir.join("token");
    match fs::remove_file(&token) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::file(&token)(error)),
        Ok(()) | Err(_) => {}
    }
    println!("removed {} and {}", file.display(), token.display());
    Ok(())
}

/// The unit's text.
///
/// Nothing in it makes mounts or hides parts of `/proc`: the kernel would then refuse the namespaces that confine commands.
fn unit(
    program: &Path,
    url: &str,
    token_file: &Path,
    config: &ExecutorConfig,
    options: &Options,
    is_user: bool,
) -> Result<String, Error> {
    let profile = config.profile.to_string();
    let mut words = vec![
        text(program)?,
        "--server",
        url,
        "--token-file",
        text(token_file)?,
        "--workspace",
        text(&config.workspace)?,
        "--state-dir",
        text(&config.state_dir)?,
        "--profile",
        &profile,
    ];
    let allowed = options.sandbox.words(&config.allowances)?;
    words.extend(allowed.iter().map(String::as_str));
    if let Some(name) = &options.name {
        words.extend(["--name", name]);
    }
    let ca_cert =
        options.ca_cert.as_ref().map(|file| file.canonicalize().map_err(Error::file(file))).transpose()?;
    if let Some(file) = &ca_cert {
        words.extend(["--ca-cert", text(file)?]);
    }
    words.extend(options.insecure.then_some("--insecure"));
    words.extend(options.update.auto_update.then_some("--auto-update"));
    words.extend(options.update.refuse_server_updates.then_some("--refuse-server-updates"));
    let pause = options.reconnect_max.map(|pause| pause.as_secs_f64().to_string());
    if let Some(pause) = &pause {
        words.extend(["--reconnect-max", pause]);
    }
    let llm = config.llm.as_ref().map(LlmConfig::words).unwrap_or_default();
    words.extend(llm.iter().map(String::as_str));
    words.extend(options.sandbox.run_as.words());
    let bounds = options.sandbox.bounds.words();
    words.extend(bounds.iter().map(String::as_str));
    let container = options.container.words()?;
    words.extend(container.iter().map(String::as_str));
    let command: Vec<String> = words.into_iter().map(quote).collect();
    let target = if is_user { "default.target" } else { "multi-user.target" };
    let network = if is_user { "" } else { "Wants=network-online.target\nAfter=network-online.target\n" };
    // Commands under full-control may use sudo.
    let privileges = if config.profile == Profile::FullControl { "" } else { "NoNewPrivileges=yes\n" };
    Ok(format!(
        "[Unit]\n\
         Description=Sandbridge runner for {workspace}\n\
         {network}\
         \n\
         [Service]\n\
         ExecStart={command}\n\
         Restart=always\n\
         RestartSec=5\n\
         RestartPreventExitStatus=2 {EXIT_REPLACED} {EXIT_REVOKED}\n\
         KillMode=mixed\n\
         TimeoutStopSec=20\n\
         OOMPolicy=continue\n\
         Delegate=cpu memory pids\n\
         LimitCORE=0\n\
         SystemCallArchitectures=native\n\
         {privileges}\
         \n\
         [Install]\n\
         WantedBy={target}\n",
        workspace = config.workspace.display().to_string().replace('%', "%%"),
        command = command.join(" "),
    ))
}

fn text(path: &Path) -> Result<&str, Error> {
    let usable = path.to_str().filter(|path| !path.contains(char::is_control));
    usable.ok_or_else(|| Error::Usage(format!("{}: a unit's paths must be plain text", path.display())))
}

/// One word of a unit's command line.
fn quote(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    use crate::cli::Cli;

    fn unit_of(words: &[&str], is_user: bool) -> String {
        let options =
            Cli::try_parse_from(std::iter::once(&"sandbridge-runner").chain(words)).unwrap().options;
        let (workspace, profile) =
            (PathBuf::from("/home/me/my project"), options.sandbox.profile.unwrap_or(Profile::Workspace));
        let mut config = ExecutorConfig::new(workspace, PathBuf::from("/state"), profile);
        config.llm = options.llm.config(Vec::new).unwrap();
        let (program, token) = (Path::new("/opt/sandbridge-runner"), Path::new("/state/token"));
        unit(program, "wss://example.com/runner", token, &config, &options, is_user).unwrap()
    }

    #[test]
    fn the_unit_runs_the_same_command_and_holds_no_token() {
        let unit = unit_of(&["--name", "laptop"], true);
        assert!(
            unit.contains(r#"ExecStart="/opt/sandbridge-runner" "--server" "wss://example.com/runner""#),
            "{unit}"
        );
        assert!(unit.contains(r#""--workspace" "/home/me/my project""#), "{unit}");
        assert!(
            unit.contains(r#""--token-file" "/state/token""#) && unit.contains(r#""--name" "laptop""#),
            "{unit}"
        );
        assert!(unit.contains("WantedBy=default.target") && unit.contains("NoNewPrivileges=yes"), "{unit}");
    }

    #[test]
    fn a_replaced_or_revoked_runner_is_not_started_again() {
        assert!(unit_of(&[], false).contains("RestartPreventExitStatus=2 3 4"));
    }

    #[test]
    fn an_update_in_place_is_no_end_of_the_service() {
        let unit = unit_of(&["--auto-update"], false);
        assert!(unit.contains(r#""--auto-update""#), "{unit}");
        // The main process stays the same one, so the unit needs no setting that is about starting or replacing its program.
        for setting in ["Type=", "PIDFile=", "ReadOnlyPaths=", "ProtectSystem=", "ExecStartPre="] {
            assert!(!unit.contains(setting), "{setting}: {unit}");
        }
        assert!(!unit_of(&[], false).contains("auto-update"));
    }

    #[test]
    fn the_unit_names_the_llm_endpoint_and_not_its_key() {
        let key = tempfile::NamedTempFile::new().unwrap();
        fs::write(&key, "sk-secret").unwrap();
        let file = key.path().to_str().unwrap();
        let words =
            ["--llm-url", "https://a.example/x", "--llm-key-file", file, "--llm-provider", "anthropic"];
        let unit = unit_of(&words, true);
        let expected = format!(
            r#""--llm-url" "https://a.example/x" "--llm-provider" "anthropic" "--llm-key-file" "{file}""#
        );
        assert!(unit.contains(&expected) && !unit.contains("sk-secret"), "{unit}");
        assert!(!unit_of(&[], true).contains("llm"));
    }

    #[test]
    fn the_unit_bounds_commands_the_same_and_may_make_groups_for_that() {
        let unit = unit_of(&["--network", "loopback", "--memory", "1G", "--allow-net", "53,443"], true);
        assert!(
            unit.contains(r#""--network" "loopback" "--allow-net" "53,443" "--memory" "1073741824""#),
            "{unit}"
        );
        assert!(unit.contains("Delegate=cpu memory pids"), "{unit}");
    }

    #[test]
    fn full_control_keeps_sudo() {
        assert!(!unit_of(&["--profile", "full-control"], false).contains("NoNewPrivileges"));
    }

    #[test]
    fn nothing_in_a_word_is_expanded_by_systemd() {
        assert_eq!(quote(r#"a "b" %h $HOME \x"#), r#""a \"b\" %%h $$HOME \\x""#);
    }
}
