//! The layers that runners must have for this server to use them: an admin's policy.
//!
//! A runner itself reports which layers are in effect on its machine, so this protects users from weak machines and
//! forgotten options. It does not protect against a runner that lies, which only harms its own user. It applies to machines
//! that dial in and to the server itself; a container is the admin's own choice, confined by the engine.

use std::str::FromStr;

use crate::error::RouteError;
use crate::facts::{LEGACY_PROFILE, RunnerFacts};

/// The word for the layers without which a runner reports that its commands are not confined.
const CONFINED: &str = "confined";

/// The layers that the word `confined` requires.
const CONFINED_LAYERS: [&str; 3] = ["landlock", "seccomp", "no-new-privs"];

/// The layers that can be required, each with the way to put it in effect.
const LAYERS: &[(&str, &str)] = &[
    ("mount-namespace", "start it as root, or allow unprivileged user namespaces there"),
    ("pid-namespace", "start it as root, or allow unprivileged user namespaces there"),
    ("landlock", "it needs Linux 5.13 or newer with landlock in the kernel's lsm= list"),
    ("landlock-scope", "it needs Linux 6.12 or newer"),
    ("seccomp", "it needs a kernel with CONFIG_SECCOMP_FILTER"),
    ("capabilities", "update sandbridge-runner"),
    ("no-new-privs", "update sandbridge-runner"),
    ("private-home", "keep its --state-dir outside the workspace"),
    ("non-dumpable", "start sandbridge-runner itself, which starts its guardian process"),
    ("kill-tier", "update sandbridge-runner"),
    ("ipc-namespace", "start it as root, or allow unprivileged user namespaces there"),
    ("network", "give it a --network policy that the machine can enforce"),
    (
        "git-config",
        "leave out --allow-git-config there; it needs a mount namespace, and `git config --global safe.bareRepository explicit`",
    ),
    ("socket-files", "it needs a mount namespace; its line in the doctor's report names what is not closed"),
    (
        "limits",
        "leave out --memory none and --pids none there; it needs a cgroup, Linux 6.14 or newer, or a user other than root",
    ),
];

/// The layers of confinement that a runner must have; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirement(Vec<&'static str>);

/// The error for a text that is not a [`Requirement`]; names the wrong word and the existing layers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found:?} is not a layer of confinement: use confined, or layers with commas between them: {}",
    names()
)]
pub struct RequirementError {
    /// The word that is not a layer.
    pub found: String,
}

fn names() -> String {
    LAYERS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Requirement {
    type Err = RequirementError;

    /// Parses layers separated by commas; `confined` means the minimum for commands to count as confined, and an empty
    /// text requires nothing.
    fn from_str(text: &str) -> Result<Self, RequirementError> {
        let mut layers = Vec::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            if word == CONFINED {
                layers.extend(CONFINED_LAYERS);
                continue;
            }
            let known = LAYERS.iter().find(|(name, _)| *name == word);
            let (name, _) =
                known.ok_or_else(|| RequirementError { found: word.chars().take(63).collect() })?;
            layers.push(*name);
        }
        let mut seen = Vec::new();
        layers.retain(|layer| {
            !seen.contains(layer) && {
                seen.push(*layer);
                true
            }
        });
        Ok(Self(layers))
    }
}

impl Requirement {
    /// The required layers that a runner does not report, in the order they were required.
    pub fn lacking(&self, facts: &RunnerFacts) -> Vec<&'static str> {
        let holds = |name: &str| facts.layers.iter().any(|layer| layer.name == name && layer.holds);
        self.0.iter().copied().filter(|name| !holds(name)).collect()
    }

    /// Refuses a runner that lacks a layer.
    pub(crate) fn check(&self, runner: &str, facts: &RunnerFacts) -> Result<(), RouteError> {
        let lacking = self.lacking(facts);
        let Some(first) = lacking.first() else { return Ok(()) };
        let fix = match facts.profile.as_str() {
            LEGACY_PROFILE => "start sandbridge-runner there in place of the other program",
            "full-control" => "start it with --profile workspace",
            _ => LAYERS
                .iter()
                .find(|(name, _)| name == first)
                .map_or("see the doctor's report", |(_, fix)| fix),
        };
        Err(RouteError::Refused { runner: runner.to_owned(), lacking: lacking.join(", "), fix })
    }
}

#[cfg(test)]
mod tests {
    use proto::handshake::Layer;

    use super::*;

    fn facts(profile: &str, layers: &[(&str, bool)]) -> RunnerFacts {
        let layer = |(name, holds): &(&str, bool)| Layer {
            name: (*name).to_owned(),
            holds: *holds,
            detail: String::new(),
        };
        let facts = proto::handshake::Facts {
            profile: profile.to_owned(),
            layers: layers.iter().map(layer).collect(),
            ..crate::testing::facts(1)
        };
        RunnerFacts::new(&facts, "/workspace")
    }

    #[test]
    fn layers_and_their_short_word_are_read() {
        let read = |text: &str| text.parse::<Requirement>().map(|requirement| requirement.0);
        assert_eq!(read(""), Ok(vec![]));
        assert_eq!(read(" landlock , mount-namespace,"), Ok(vec!["landlock", "mount-namespace"]));
        assert_eq!(read("seccomp,confined,seccomp"), Ok(vec!["seccomp", "landlock", "no-new-privs"]));
        for bad in ["landlok", "Landlock", "landlock seccomp", "all", "confined,x"] {
            let text = read(bad).unwrap_err().to_string();
            assert!(text.contains("confined") && text.contains("mount-namespace"), "{text}");
        }
    }

    #[test]
    fn a_layer_that_is_not_told_or_does_not_hold_is_lacking_and_the_fix_is_said() {
        let requirement: Requirement = "confined".parse().unwrap();
        let whole = [("landlock", true), ("seccomp", true), ("no-new-privs", true)];
        assert_eq!(requirement.check("laptop", &facts("workspace", &whole)), Ok(()));
        assert_eq!(Requirement::default().check("laptop", &facts("full-control", &[])), Ok(()));
        let weak = [("landlock", false), ("seccomp", true), ("no-new-privs", true)];
        let error = requirement.check("laptop", &facts("workspace", &weak)).unwrap_err();
        assert_eq!(error.kind(), "denied");
        let text = error.to_string();
        assert!(
            text.contains("runner laptop lacks landlock; this server requires it: it needs Linux 5.13"),
            "{text}"
        );
        for (profile, fix) in [("full-control", "--profile workspace"), (LEGACY_PROFILE, "sandbridge-runner")]
        {
            let text = requirement.check("laptop", &facts(profile, &[])).unwrap_err().to_string();
            assert!(text.contains("landlock, seccomp, no-new-privs") && text.contains(fix), "{text}");
        }
    }
}
