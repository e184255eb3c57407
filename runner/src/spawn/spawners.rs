//! Spawners for commands that the runner's own thread does not start: of a narrower profile, or of another user.

use std::io;
use std::sync::Arc;

use tokio::sync::OnceCell;

use super::{SpawnError, Spawner};
use crate::blocking::{blocking, post};
use crate::confine::{Allowances, ConfinePolicy};
use crate::layers::{LayerReport, Profile, layer_name};

/// One spawner per profile under one policy, each started when it is first needed; for the profile read-only one per command, as
/// home and temporary directories belong to the spawner.
#[derive(Debug)]
pub(crate) struct Spawners {
    policy: ConfinePolicy,
    cells: [(Profile, OnceCell<Arc<Spawner>>); 2],
}

impl Spawners {
    pub(crate) fn new(policy: ConfinePolicy) -> Self {
        let profiles = [Profile::Workspace, Profile::FullControl];
        Self { policy, cells: profiles.map(|profile| (profile, OnceCell::new())) }
    }

    pub(crate) fn policy(&self) -> &ConfinePolicy {
        &self.policy
    }

    /// The spawner of a profile. It is an error if it lacks a layer that `least` has: a request cannot be used to avoid one.
    pub(crate) async fn get(
        &self,
        profile: Profile,
        least: &LayerReport,
    ) -> Result<Arc<Spawner>, SpawnError> {
        let start = || async {
            let policy = self.narrowed(profile);
            let started = blocking(move || Spawner::start(profile, &policy)).await;
            let started = started.map_err(|_| SpawnError::Stopped)??;
            let keeps = |layer| started.report().holds(layer);
            if profile == Profile::ReadOnly
                && !keeps(layer_name::MOUNT_NAMESPACE)
                && !keeps(layer_name::LANDLOCK)
            {
                let reason = "this machine has no means to keep a command from writing";
                return Err(SpawnError::Confinement(io::Error::other(reason)));
            }
            let lacking = started.report().lacking(least);
            if lacking.is_empty() {
                return Ok(Arc::new(started));
            }
            let reason = format!(
                "the profile {profile} lacks layers that other profiles have: {}",
                lacking.join(", ")
            );
            Err(SpawnError::Confinement(io::Error::other(reason)))
        };
        match self.cells.iter().find(|(known, _)| *known == profile) {
            Some((_, cell)) => cell.get_or_try_init(start).await.cloned(),
            None => start().await,
        }
    }

    /// The policy for requests of this profile: a request for a read-only profile cannot change extra allowed paths either.
    fn narrowed(&self, profile: Profile) -> ConfinePolicy {
        let mut policy = self.policy.clone();
        if profile == Profile::ReadOnly {
            let Allowances { read, write, .. } = &mut policy.allowances;
            read.append(write);
        }
        policy
    }

    /// The spawners that are running.
    pub(crate) fn started(&self) -> impl Iterator<Item = &Arc<Spawner>> {
        self.cells.iter().filter_map(|(_, cell)| cell.get())
    }
}

/// Releases a spawner; the last holder waits for its thread to end, which must not happen on this thread.
pub(crate) fn let_go(spawner: Arc<Spawner>) {
    if Arc::strong_count(&spawner) == 1 {
        post(move || drop(spawner));
    }
}
