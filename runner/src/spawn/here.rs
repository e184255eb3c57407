//! Starting commands on the thread that asks for them.

use std::marker::PhantomData;
use std::sync::Arc;

use super::place::Place;
use super::{Facts, Resolver, SpawnError, SpawnRequest, Spawned, prepare, start_helpers};
use crate::confine::{ConfinePolicy, Ground, LayerReport, Profile};

/// Starts commands under one profile, on the thread that made it: no other thread has to wake up for an exec.
#[derive(Debug)]
pub(crate) struct Here {
    facts: Facts,
    place: Place,
    /// The confinement is that of one thread.
    _stays: PhantomData<*const ()>,
}

impl Here {
    /// Confines the calling thread for good; blocks for some milliseconds.
    ///
    /// # Errors
    /// As those of [`super::Spawner::start`]. The thread must not go on after one: it may be confined half way.
    pub(crate) fn confine(profile: Profile, policy: &ConfinePolicy) -> Result<Self, SpawnError> {
        start_helpers()?;
        let (place, facts) = Place::new(profile, policy)?;
        Ok(Self { facts, place, _stays: PhantomData })
    }

    /// Starts a command; blocks until its program runs.
    ///
    /// # Errors
    /// See [`SpawnError`]; nothing runs after one.
    pub(crate) fn spawn(&self, request: &SpawnRequest) -> Result<Spawned, SpawnError> {
        let (pipes, ends) = prepare(request)?;
        Ok(pipes.with(self.place.start(request, ends)?))
    }

    pub(crate) fn report(&self) -> &LayerReport {
        &self.facts.report
    }

    pub(crate) fn profile(&self) -> Profile {
        self.facts.profile
    }

    /// What a command with a terminal needs of this thread.
    pub(crate) fn ground(&self) -> &Arc<Ground> {
        &self.facts.ground
    }

    pub(crate) fn resolver(&self) -> &Resolver {
        &self.facts.resolver
    }
}
