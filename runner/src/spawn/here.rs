//! Starting commands on the calling thread.

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use super::place::Place;
use super::{Facts, Resolver, SpawnError, SpawnRequest, Spawned, prepare, start_helpers};
use crate::confine::{ConfinePolicy, Ground};
use crate::kill;
use crate::layers::{LayerReport, Profile};

/// Starts commands under one profile, on the thread that created it: no other thread has to wake up for an exec.
#[derive(Debug)]
pub(crate) struct Here {
    facts: Facts,
    place: Place,
    /// The confinement belongs to one thread.
    _stays: PhantomData<*const ()>,
}

impl Here {
    /// Confines the calling thread permanently; blocks for some milliseconds.
    ///
    /// # Errors
    /// The same as for [`super::Spawner::start`]. The thread must not continue then: it may be partly confined.
    pub(crate) fn confine(profile: Profile, policy: &ConfinePolicy) -> Result<Self, SpawnError> {
        start_helpers()?;
        let (place, facts) = Place::new(profile, policy)?;
        Ok(Self { facts, place, _stays: PhantomData })
    }

    /// Starts a command, and does not wait until its program runs: see [`super::Child::start_failure`].
    ///
    /// # Errors
    /// See [`SpawnError`]; nothing runs after one.
    pub(crate) fn spawn(&self, request: &SpawnRequest) -> Result<Spawned, SpawnError> {
        let (pipes, ends) = prepare(request)?;
        // Identified only by its session, a command could not be found before it has one.
        let is_marked = kill::marks_enforced();
        let child =
            if is_marked { self.place.begin(request, &ends)? } else { self.place.start(request, &ends)? };
        let held = std::iter::once(ends.stdout).chain(ends.stderr).collect();
        Ok(Spawned { held, ..pipes.with(child) })
    }

    /// The reason why a command of this thread did not start.
    pub(crate) fn refusal(&self, request: &SpawnRequest, error: io::Error) -> SpawnError {
        self.place.refusal(request, error)
    }

    pub(crate) fn report(&self) -> &LayerReport {
        &self.facts.report
    }

    pub(crate) fn profile(&self) -> Profile {
        self.facts.profile
    }

    /// The base for commands with a terminal.
    pub(crate) fn ground(&self) -> &Arc<Ground> {
        &self.facts.ground
    }

    pub(crate) fn resolver(&self) -> &Resolver {
        &self.facts.resolver
    }
}
