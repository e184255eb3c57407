//! Running as a runner's privileged user: the user that a command names, and a person's permission.

use crate::error::SandboxError;
use crate::facts::RunnerFacts;

/// A person's permission for one command to run as the user it names.
///
/// Create one only if the owner of the sandbox permitted this very command: by a key they pressed, or by a field in their
/// request. Code that acts for a person, such as an agent, passes on the one it was given and creates none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    by: String,
}

impl Approval {
    /// The permission of `person`, who owns the sandbox and was asked about this command.
    pub fn given_by(person: impl Into<String>) -> Self {
        Self { by: person.into() }
    }

    /// The person who gave it.
    pub fn by(&self) -> &str {
        &self.by
    }
}

/// The user that a command is to run as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunAs {
    pub(crate) user: String,
    pub(crate) approval: Option<Approval>,
}

/// True if commands that run as `user` need an approval, as those of the privileged user do. A runner of xbot's dialect runs a command as any user
/// that it names, and reports no users' rights, so all of its users need one. Any other user that a runner does not know is refused by the runner.
pub(crate) fn needs_approval(facts: &RunnerFacts, user: &str) -> bool {
    match &facts.run_as {
        Some(names) => names.privileged.as_deref() == Some(user) && names.default != user,
        None => facts.is_legacy(),
    }
}

/// Refuses a command that needs an approval and has none.
pub(crate) fn check(place: &str, facts: &RunnerFacts, run_as: Option<&RunAs>) -> Result<(), SandboxError> {
    match run_as {
        Some(RunAs { user, approval: None }) if needs_approval(facts, user) => {
            Err(SandboxError::ApprovalRequired { runner: place.to_owned(), user: user.clone() })
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proto::handshake::RunAsNames;

    use super::*;
    use crate::ExecRequest;

    fn facts(privileged: Option<&str>) -> RunnerFacts {
        let run_as = RunAsNames { default: "dev".to_owned(), privileged: privileged.map(str::to_owned) };
        let facts = proto::handshake::Facts { run_as: Some(run_as), ..crate::testing::facts(1) };
        RunnerFacts::new(&facts, "/workspace")
    }

    fn checked(facts: &RunnerFacts, request: &ExecRequest) -> Result<(), &'static str> {
        check("laptop", facts, request.run_as.as_ref()).map_err(|error| error.kind())
    }

    #[test]
    fn only_the_privileged_user_needs_an_approval() {
        let asks = |user: &str| ExecRequest::shell("id").run_as(user, None);
        let facts_with_root = facts(Some("root"));
        assert_eq!(checked(&facts_with_root, &ExecRequest::shell("id")), Ok(()));
        assert_eq!(checked(&facts_with_root, &asks("dev")), Ok(()));
        assert_eq!(checked(&facts_with_root, &asks("root")), Err("approval_required"));
        let approved = ExecRequest::shell("id").run_as("root", Some(Approval::given_by("alice")));
        assert_eq!(checked(&facts_with_root, &approved), Ok(()));
        // Left for the runner to refuse: an approval would change nothing.
        assert_eq!(checked(&facts_with_root, &asks("mallory")), Ok(()));
        assert_eq!(checked(&facts(None), &asks("root")), Ok(()));
        assert_eq!(checked(&facts(Some("dev")), &asks("dev")), Ok(()), "it is the default");
    }

    #[test]
    fn a_legacy_runner_becomes_nobody_without_an_approval() {
        let mut facts = RunnerFacts::new(&crate::testing::facts(1), "/workspace");
        let asks = ExecRequest::shell("id").run_as("dev", None);
        assert_eq!(checked(&facts, &asks), Ok(()), "it answers that it cannot");
        facts.profile = crate::facts::LEGACY_PROFILE.to_owned();
        assert_eq!(checked(&facts, &asks), Err("approval_required"));
        assert_eq!(checked(&facts, &ExecRequest::shell("id")), Ok(()));
    }
}
