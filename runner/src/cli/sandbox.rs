//! The confinement of commands: a flag takes precedence over its variable, which takes precedence over the policy file.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::BoolishValueParser;

use super::place::{self, WhereOptions};
use super::policy_file::PolicyFile;
use crate::account::RunAsOptions;
use crate::cli::bounds::BoundsOptions;
use crate::confine::Allowances;
use crate::error::Error;
use crate::executor::ExecutorConfig;
use crate::layers::{LeftOut, Profile};

/// The place where commands work, and what they may touch.
#[derive(Debug, Clone, Default, Args)]
pub struct SandboxOptions {
    /// The workspace and the state directory.
    #[command(flatten)]
    pub place: WhereOptions,
    /// How tightly commands are confined: workspace, read-only or full-control [default: workspace]
    #[arg(long, env = "SANDBRIDGE_PROFILE")]
    pub profile: Option<Profile>,
    /// Let commands read (and run) this file or directory too; may be given many times
    #[arg(long, value_name = "PATH", env = "SANDBRIDGE_ALLOW_READ", value_delimiter = ':')]
    pub allow_read: Vec<PathBuf>,
    /// Let commands change this file or directory too; may be given many times
    #[arg(long, value_name = "PATH", env = "SANDBRIDGE_ALLOW_WRITE", value_delimiter = ':')]
    pub allow_write: Vec<PathBuf>,
    /// Let commands change the hooks and the configuration of git repositories, which your own git obeys later
    #[arg(long, env = "SANDBRIDGE_ALLOW_GIT_CONFIG", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub allow_git_config: Option<bool>,
    /// Read the policy from this file [default: ~/.config/sandbridge/runner.toml, if it exists]
    #[arg(long, value_name = "FILE", env = "SANDBRIDGE_POLICY")]
    pub policy: Option<PathBuf>,
    /// Networks and resources of commands.
    #[command(flatten, next_help_heading = "Network and resource limits")]
    pub bounds: BoundsOptions,
    /// The users that commands run as.
    #[command(flatten, next_help_heading = None::<&'static str>)]
    pub run_as: RunAsOptions,
    /// Leave out layers of confinement; meant only for finding the one that denies something
    #[arg(long, value_name = "LAYER", value_delimiter = ',', hide = true)]
    pub without: Vec<LeftOut>,
}

impl SandboxOptions {
    /// The resulting configuration, without an LLM endpoint. `token_file` must stay out of the commands' reach. If the
    /// commands belong to other people (`is_for_others`), the default policy file of the runner's user is ignored.
    ///
    /// # Errors
    /// A directory is missing, the workspace would be `/` or the home directory without being named, the policy file
    /// cannot be trusted or understood, or an allowed path would expose the runner's own secrets.
    pub fn executor_config(
        &self,
        token_file: Option<&Path>,
        is_for_others: bool,
    ) -> Result<ExecutorConfig, Error> {
        let file = PolicyFile::find(self.policy.as_deref(), !is_for_others)?;
        let (found, keys) = file.map_or_else(Default::default, |(path, keys)| (Some(path), keys));
        let of_policy = keys.bounds();
        let profile = self.profile.or(keys.profile).unwrap_or(Profile::Workspace);
        let place = WhereOptions {
            workspace: self.place.workspace.clone().or(keys.workspace),
            state_dir: self.place.state_dir.clone(),
        };
        let (workspace, state_dir) = place.directories(profile)?;
        let of_file = |flags: &[PathBuf], keys: Vec<PathBuf>| {
            if flags.is_empty() { keys } else { flags.to_vec() }
        };
        let allowances = Allowances::new(
            &of_file(&self.allow_read, keys.allow_read),
            &of_file(&self.allow_write, keys.allow_write),
            self.allow_git_config.or(keys.allow_git_config).unwrap_or(false),
        )?;
        let run_as = self.run_as.users()?;
        let mut secrets = vec![("the runner's own files", place::canonical(&state_dir)?)];
        let token_file = token_file.filter(|file| *file != Path::new("-"));
        if let Some(file) = token_file {
            secrets.push(("the runner's token", place::canonical(file)?));
        }
        if profile != Profile::FullControl {
            let users = [&run_as.default, &run_as.privileged].into_iter().flatten();
            for home in place::home().into_iter().chain(users.map(|user| user.home.clone())) {
                allowances.check(Some(&home), &secrets)?;
            }
            if let Some(policy) = &found {
                refuse_policy_of_commands(policy, &workspace, &allowances)?;
            }
        }
        let left_out =
            LeftOut::all(&self.without).map_err(|error| Error::Usage(format!("--without: {error}")))?;
        let bounds = self.bounds.bounds(of_policy, profile)?;
        let config = ExecutorConfig::new(workspace, state_dir, profile);
        Ok(ExecutorConfig { allowances, run_as, left_out, bounds, is_for_others, ..config })
    }

    /// The arguments that request the same on a command line, beyond the directories and the profile.
    ///
    /// # Errors
    /// A path cannot be made absolute.
    pub(crate) fn words(&self, allowances: &Allowances) -> Result<Vec<String>, Error> {
        let mut words = Vec::new();
        let flagged = [
            ("--allow-read", !self.allow_read.is_empty(), &allowances.read),
            ("--allow-write", !self.allow_write.is_empty(), &allowances.write),
        ];
        for (flag, is_given, paths) in flagged {
            let paths = paths.iter().filter(|_| is_given);
            words.extend(paths.flat_map(|path| [flag.to_owned(), path.to_string_lossy().into_owned()]));
        }
        words.extend(self.allow_git_config.map(|allowed| format!("--allow-git-config={allowed}")));
        // Including the default file: a service may not find it.
        if let Some((policy, _)) = PolicyFile::find(self.policy.as_deref(), true)? {
            words.extend(["--policy".to_owned(), policy.to_string_lossy().into_owned()]);
        }
        Ok(words)
    }
}

/// Refuses a policy file that the commands it governs could write.
fn refuse_policy_of_commands(policy: &Path, workspace: &Path, allowances: &Allowances) -> Result<(), Error> {
    let mut open = std::iter::once(workspace).chain(allowances.write.iter().map(PathBuf::as_path));
    let Some(open) = open.find(|open| policy.starts_with(open)) else { return Ok(()) };
    Err(Error::Usage(format!(
        "the policy file {} lies in {}, where commands could rewrite it: keep it elsewhere",
        policy.display(),
        open.display()
    )))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    struct Desk {
        directory: tempfile::TempDir,
    }

    impl Desk {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            for name in ["work", "state", "more", "etc"] {
                fs::create_dir(directory.path().join(name)).unwrap();
            }
            Self { directory }
        }

        fn path(&self, name: &str) -> String {
            self.directory.path().canonicalize().unwrap().join(name).to_str().unwrap().to_owned()
        }

        fn config(&self, words: &[&str]) -> Result<ExecutorConfig, Error> {
            let (work, state) = (self.path("work"), self.path("state"));
            let place = ["sandbridge-runner", "--state-dir", &state];
            let workspace = ["--workspace", work.as_str()];
            let own = if words.contains(&"--workspace") { &[][..] } else { &workspace };
            let words: Vec<_> = place.iter().chain(own).chain(words).collect();
            Cli::try_parse_from(words).unwrap().options.sandbox.executor_config(None, false)
        }

        fn write_policy(&self, name: &str, text: &str) -> String {
            let path = self.path(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            path
        }
    }

    #[test]
    fn a_flag_wins_over_the_policy_file_which_wins_over_the_default() {
        let desk = Desk::new();
        let text = format!(
            "# what this machine allows\nprofile = \"read-only\" # no writes\nworkspace = {:?}\nallow_read = [{:?}]\n\
             allow_git_config = true\n",
            desk.path("work"),
            desk.path("more")
        );
        let policy = desk.write_policy("etc/runner.toml", &text);
        let config = desk.config(&["--policy", &policy]).unwrap();
        assert_eq!((config.profile, config.allowances.git_config), (Profile::ReadOnly, true));
        assert_eq!(config.allowances.read, [PathBuf::from(desk.path("more"))]);
        let flags = ["--policy", &policy, "--profile", "workspace", "--allow-git-config=false"];
        let more = ["--allow-read", &desk.path("etc")];
        let config = desk.config(&[&flags[..], &more[..]].concat()).unwrap();
        assert_eq!((config.profile, config.allowances.git_config), (Profile::Workspace, false));
        assert_eq!(config.allowances.read, [PathBuf::from(desk.path("etc"))]);
        let config = desk.config(&["--allow-git-config"]).unwrap();
        assert!(config.allowances.git_config && config.profile == Profile::Workspace);
    }

    #[test]
    fn a_policy_file_that_commands_could_write_is_refused() {
        let desk = Desk::new();
        let inside = desk.write_policy("work/runner.toml", "");
        let text = desk.config(&["--policy", &inside]).unwrap_err().to_string();
        assert!(text.contains("rewrite it"), "{text}");
        let link = desk.path("etc/link.toml");
        std::os::unix::fs::symlink(&inside, &link).unwrap();
        assert!(desk.config(&["--policy", &link]).is_err());
        let beside = desk.write_policy("more/runner.toml", "");
        assert!(desk.config(&["--policy", &beside]).is_ok());
        assert!(desk.config(&["--policy", &beside, "--allow-write", &desk.path("more")]).is_err());
    }

    #[test]
    fn what_holds_the_runners_own_files_is_not_allowed() {
        let desk = Desk::new();
        for path in [desk.path("state"), desk.path(""), "/".to_owned(), "/etc".to_owned()] {
            for flag in ["--allow-read", "--allow-write"] {
                let text = desk.config(&[flag, &path]).unwrap_err().to_string();
                assert!(text.contains(path.trim_end_matches('/')), "{flag} {path}: {text}");
            }
        }
        let token = desk.write_policy("more/token", "t");
        let options = SandboxOptions {
            place: WhereOptions {
                workspace: Some(desk.path("work").into()),
                state_dir: Some(desk.path("state").into()),
            },
            allow_read: vec![desk.path("more").into()],
            ..SandboxOptions::default()
        };
        let text = options.executor_config(Some(Path::new(&token)), false).unwrap_err().to_string();
        assert!(text.contains("the runner's token"), "{text}");
        assert!(options.executor_config(Some(Path::new("-")), false).is_ok());
    }

    #[test]
    fn links_are_resolved_and_missing_paths_named() {
        let desk = Desk::new();
        let link = desk.path("link");
        std::os::unix::fs::symlink(desk.path("more"), &link).unwrap();
        let config = desk.config(&["--allow-write", &link]).unwrap();
        assert_eq!(config.allowances.write, [PathBuf::from(desk.path("more"))]);
        let text = desk.config(&["--allow-read", &desk.path("none")]).unwrap_err().to_string();
        assert!(text.contains("none"), "{text}");
    }
}
