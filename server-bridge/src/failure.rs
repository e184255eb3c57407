//! The failure of a command on this machine: its causes in one line, and a kind for programs.

use client::failure::Failure;

use crate::config::ConfigError;

/// Converts an error into a failure that names its causes; a cause that the text of the error above it already contains is not
/// repeated.
pub(crate) fn failure_of(error: &anyhow::Error) -> Failure {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.contains(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
    }
    let kind = match error.downcast_ref::<store::Error>() {
        Some(store::Error::NotFound { .. }) => "not_found",
        Some(store::Error::Taken { .. } | store::Error::Conflict { .. }) => "conflict",
        Some(error) if error.is_callers() => "invalid",
        None if error.is::<ConfigError>() || error.is::<home::Error>() => "invalid",
        Some(_) | None => "failed",
    };
    Failure::other(kind, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once_whether_its_error_names_it_or_not() {
        let missing = || std::io::Error::from_raw_os_error(2);
        let home = home::Error::Home { home: "/h".into(), source: missing() };
        let listen = crate::serve::StartError::Listen { listen: "x:1".to_owned(), source: missing() };
        let store = store::Error::Open { path: "/h/db".into(), source: missing() };
        let plain = anyhow::Error::new(missing()).context("cannot read the password");
        for error in [home.into(), listen.into(), anyhow::Error::new(store), plain] {
            let told = failure_of(&error).message;
            assert_eq!(told.matches("os error 2").count(), 1, "{told}");
        }
    }

    #[test]
    fn failures_of_accounts_have_kinds() {
        let taken = store::Error::Taken { what: "user", name: "ada".to_owned() };
        let missing = store::Error::NotFound { what: "user", name: "ada".to_owned() };
        let name = store::Error::InvalidName { name: "!".to_owned() };
        for (error, kind) in [(taken, "conflict"), (missing, "not_found"), (name, "invalid")] {
            assert_eq!(failure_of(&error.into()).kind, kind);
        }
        assert_eq!(failure_of(&home::Error::NoHome.into()).kind, "invalid");
    }
}
