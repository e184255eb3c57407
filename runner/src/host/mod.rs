//! The machine as requests act on it: the workspace's files, and the confined threads that start commands in it.
//!
//! The base that files, commands and updates stand on; it knows no request. [`crate::executor`] is above them all.

mod disk;

use std::io;
use std::path::Path;
use std::sync::Arc;

use pathguard::{Protected, Root};
use proto::handshake::RunAsNames;
use tokio_util::sync::CancellationToken;

use crate::account::Account;
use crate::blocking::blocking;
use crate::confine::{ConfinePolicy, GitPaths, Ground, Watch};
use crate::layers::{LayerReport, Profile};
use crate::spawn::{Here, Resolver, SpawnError, SpawnRequest, Spawned, Spawner, Spawners, spawners};
pub(crate) use disk::{Disk, Files};

/// As whom a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandUser {
    /// As every command that says nothing.
    Default,
    /// As the one that has to be asked for.
    Privileged,
}

/// One workspace of this machine, and what may be done in it. Lives on one thread, which is confined like its commands.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) policy: ConfinePolicy,
    pub(crate) files: Files,
    pub(crate) git_watch: Watch,
    spawner: Here,
    /// For requests that ask for less than the runner's profile; started when the first one does.
    narrower: Spawners,
    /// For requests that ask for the privileged user.
    privileged: Option<(Account, Spawners)>,
    /// Cancelled when the runner is to stop.
    pub(crate) stopping: CancellationToken,
}

impl Host {
    /// Confines the calling thread for good, as commands come from it; blocks for some milliseconds.
    ///
    /// `root` is the workspace, `privileged` the user that requests may ask for, with what its commands may see.
    ///
    /// # Errors
    /// The thread cannot be confined. It must not go on then: it may be confined half way.
    pub(crate) fn confine(
        profile: Profile,
        root: Root,
        policy: ConfinePolicy,
        privileged: Option<(Account, ConfinePolicy)>,
    ) -> Result<Self, SpawnError> {
        let GitPaths { pinned, closed, read_only, watched, .. } = GitPaths::of(&policy, profile);
        let git_watch = Watch::new(&watched);
        let root = root.with_protected(Protected { in_place: pinned, closed, as_it_is: read_only });
        Ok(Self {
            spawner: Here::confine(profile, &policy)?,
            files: Files { root, disk: Disk::of(policy.run_as.as_ref()) },
            git_watch,
            narrower: Spawners::new(policy.clone()),
            privileged: privileged.map(|(user, policy)| (user, Spawners::new(policy))),
            policy,
            stopping: CancellationToken::new(),
        })
    }

    /// Which layers of confinement hold for commands.
    pub(crate) fn report(&self) -> &LayerReport {
        self.spawner.report()
    }

    /// The profile commands run under unless a request asks for a narrower one.
    pub(crate) fn profile(&self) -> Profile {
        self.spawner.profile()
    }

    /// The workspace's canonical path.
    pub(crate) fn workspace(&self) -> &Path {
        self.files.root.path()
    }

    /// The names of the users that commands run as.
    pub(crate) fn command_users(&self) -> RunAsNames {
        let privileged = self.privileged.as_ref().map(|(user, _)| user.name.clone());
        RunAsNames { default: self.policy.user.clone(), privileged }
    }

    /// True if commands run as another user than the runner's, or may.
    pub(crate) fn knows_users(&self) -> bool {
        self.policy.run_as.is_some() || self.privileged.is_some()
    }

    /// The shell that runs command lines.
    pub(crate) fn shell(&self) -> &str {
        &self.policy.shell
    }

    /// Starts a command under a profile that is no wider than the runner's.
    pub(crate) async fn spawn(
        &self,
        profile: Profile,
        user: CommandUser,
        request: SpawnRequest,
    ) -> Result<Spawned, SpawnError> {
        match self.other_spawner(profile, user).await? {
            None => self.spawner.spawn(&request),
            Some(spawner) => {
                let spawned = spawner.spawn(request).await;
                spawners::let_go(spawner);
                spawned
            }
        }
    }

    /// The reason why a command that the runner's own thread started does not run.
    pub(crate) fn refusal(&self, request: &SpawnRequest, failure: io::Error) -> SpawnError {
        self.spawner.refusal(request, failure)
    }

    /// The base of a command with a terminal, under a profile that is no wider than the runner's.
    pub(crate) async fn ground(
        &self,
        profile: Profile,
        user: CommandUser,
    ) -> Result<Arc<Ground>, SpawnError> {
        let Some(spawner) = self.other_spawner(profile, user).await? else {
            return Ok(Arc::clone(self.spawner.ground()));
        };
        let ground = Arc::clone(spawner.ground());
        spawners::let_go(spawner);
        Ok(ground)
    }

    /// The policy for the commands of a user.
    pub(crate) fn policy_of(&self, user: CommandUser) -> &ConfinePolicy {
        match (user, &self.privileged) {
            (CommandUser::Privileged, Some((_, spawners))) => spawners.policy(),
            (CommandUser::Privileged | CommandUser::Default, _) => &self.policy,
        }
    }

    /// The spawner of a narrower profile, or of another user; none for what the runner's own thread starts. A command of the
    /// profile read-only gets a spawner to itself even where that is the runner's own profile: nothing that it writes stays.
    async fn other_spawner(
        &self,
        profile: Profile,
        user: CommandUser,
    ) -> Result<Option<Arc<Spawner>>, SpawnError> {
        let spawners = match (user, &self.privileged) {
            (CommandUser::Privileged, Some((_, spawners))) => spawners,
            (CommandUser::Privileged | CommandUser::Default, _)
                if profile != self.profile() || profile == Profile::ReadOnly =>
            {
                &self.narrower
            }
            (CommandUser::Privileged | CommandUser::Default, _) => return Ok(None),
        };
        spawners.get(profile, self.report()).await.map(Some)
    }

    /// Brings what commands know about name servers up to date; to be called when the network may have changed.
    pub(crate) async fn refresh_resolver(&self) {
        let others = std::iter::once(&self.narrower).chain(self.privileged.iter().map(|(_, others)| others));
        let others = others.flat_map(Spawners::started).map(|spawner| spawner.resolver());
        let resolvers: Vec<_> = std::iter::once(self.spawner.resolver()).chain(others).cloned().collect();
        let refresh = move || resolvers.iter().try_for_each(Resolver::refresh);
        if let Ok(Err(error)) = blocking(refresh).await {
            tracing::warn!("commands keep their old /etc/resolv.conf: {error}");
        }
    }

    /// Looks after the workspace's repositories; what had to be done is for the output of a command that runs, and the log.
    pub(crate) fn look_after_git(&self) -> Vec<String> {
        let found = self.git_watch.look();
        found.iter().for_each(|what| tracing::warn!("{what}"));
        found
    }
}
