//! The machine as requests act on it: the workspace's files, and the confined threads that start commands in it.
//!
//! The base of files, commands and updates; it depends on no request. [`crate::executor`] is above them all.

mod disk;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pathguard::{Protected, Root};
use proto::handshake::RunAsNames;
use proto::{ErrorKind, WireError};
use tokio_util::sync::CancellationToken;

use crate::account::Account;
use crate::blocking::blocking;
use crate::confine::{ConfinePolicy, GitPaths, Ground, Watch};
use crate::layers::{LayerReport, Profile};
use crate::limits::SPAWNER_STACK_BYTES;
use crate::spawn::{Here, Resolver, SpawnError, SpawnRequest, Spawned, Spawner, Spawners, spawners};
pub(crate) use disk::{Disk, Files};

/// The user that a command runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandUser {
    /// The default user.
    Default,
    /// The privileged user, which a request has to name.
    Privileged,
}

/// One workspace of this machine, with its policy. Lives on one thread, which is confined like its commands.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) policy: ConfinePolicy,
    pub(crate) files: Files,
    pub(crate) git_watch: Watch,
    spawner: Here,
    /// The spawners for requests with a narrower profile than the runner's; each is started for the first such request.
    narrower: Spawners,
    /// The user and the spawners for requests that name the privileged user.
    privileged: Option<(Account, Spawners)>,
    /// Cancelled when the runner is to stop.
    pub(crate) stopping: CancellationToken,
}

impl Host {
    /// Confines the calling thread permanently, as it starts commands; blocks for some milliseconds.
    ///
    /// `root` is the workspace, `privileged` the user that requests may name, with the policy for its commands.
    ///
    /// # Errors
    /// The thread cannot be confined. It must not continue then: it may be partly confined.
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

    /// The layers of confinement that are in effect for commands.
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

    /// True if commands run, or may run, as another user than the runner's.
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

    /// The spawner of a narrower profile, or of another user; none for commands of the runner's own thread. A command of the
    /// profile read-only gets its own spawner even if that is the runner's own profile: none of its files stay.
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

    /// Lets commands write in git's own directory of a linked worktree that was just added.
    pub(crate) async fn open_worktree(&self, own: PathBuf) -> Result<(), WireError> {
        let others = std::iter::once(&self.narrower).chain(self.privileged.iter().map(|(_, others)| others));
        let others = others.flat_map(Spawners::started).map(|spawner| spawner.ground());
        let grounds: Vec<_> = std::iter::once(self.spawner.ground()).chain(others).cloned().collect();
        let opened = blocking(move || grounds.iter().try_for_each(|ground| in_view(ground, &own))).await?;
        opened.map_err(|error| {
            let text = format!("the new worktree could not be opened to commands: {error}");
            WireError::new(ErrorKind::Internal, text)
        })
    }

    /// Updates the name servers for commands; call this when the network may have changed.
    pub(crate) async fn refresh_resolver(&self) {
        let others = std::iter::once(&self.narrower).chain(self.privileged.iter().map(|(_, others)| others));
        let others = others.flat_map(Spawners::started).map(|spawner| spawner.resolver());
        let resolvers: Vec<_> = std::iter::once(self.spawner.resolver()).chain(others).cloned().collect();
        let refresh = move || resolvers.iter().try_for_each(Resolver::refresh);
        if let Ok(Err(error)) = blocking(refresh).await {
            tracing::warn!("commands keep their old /etc/resolv.conf: {error}");
        }
    }

    /// Checks the workspace's repositories; the returned repairs are for the output of a running command, and the log.
    pub(crate) fn look_after_git(&self) -> Vec<String> {
        let found = self.git_watch.look();
        found.iter().for_each(|what| tracing::warn!("{what}"));
        found
    }
}

/// Opens a worktree to the commands of one view, on a separate thread, which stays in that view until it ends.
fn in_view(ground: &Arc<Ground>, own: &Path) -> io::Result<()> {
    let (ground, own) = (Arc::clone(ground), own.to_owned());
    let work = std::thread::Builder::new().name("worktree".to_owned()).stack_size(SPAWNER_STACK_BYTES);
    let opened = work.spawn(move || ground.open_worktree(&own))?.join();
    opened.unwrap_or_else(|_| Err(io::Error::other("the runner's log says why")))
}
