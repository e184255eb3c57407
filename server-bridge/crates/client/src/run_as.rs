//! `--run-as USER`: the user that a command runs as, and the question for approval if that user has more rights.

use api::exec::{ExecAsk, RunAsQuestion};
use clap::Args;

use super::ask;
use super::failure::Failure;
use super::http::Client;
use super::session::Session;

/// The user to run a command as.
#[derive(Args, Default)]
pub(super) struct RunAsOptions {
    /// Run it as this user of the machine, if the runner's options allow that user
    #[arg(long, value_name = "USER")]
    run_as: Option<String>,
    /// Approve the machine's privileged user without being asked
    #[arg(long, requires = "run_as")]
    yes: bool,
}

impl RunAsOptions {
    /// Sets the user in `request`. If approval is needed and `--yes` was not given, asks the person for it.
    ///
    /// `reads_stdin` means that standard input is the command's, so that no answer can be read from it.
    ///
    /// # Errors
    /// `approval_required` without approval; the server's error about the place.
    pub(super) async fn add_to(
        &self,
        request: &mut ExecAsk,
        session: &Session,
        reads_stdin: bool,
    ) -> Result<(), Failure> {
        let Some(user) = &self.run_as else { return Ok(()) };
        request.run_as = Some(user.clone());
        request.approved = self.yes || is_approved(session, request.on.as_deref(), user, reads_stdin).await?;
        Ok(())
    }
}

/// True if the person agreed; `false` if no approval is needed. Fails without approval.
async fn is_approved(
    session: &Session,
    on: Option<&str>,
    user: &str,
    reads_stdin: bool,
) -> Result<bool, Failure> {
    let RunAsQuestion { runner, needs_approval, .. } = Client::new(session)?.run_as(user, on).await?;
    if !needs_approval {
        return Ok(false);
    }
    let required = |why: &str| {
        Failure::other(
            "approval_required",
            format!("running as {user} on {runner} needs your approval: {why}"),
        )
    };
    if reads_stdin || !ask::is_possible() {
        return Err(required("there is no person to ask; pass --yes to approve it"));
    }
    match ask::yes_or_no(&format!("Run as {user} on {runner}? [y/N] ")).await? {
        true => Ok(true),
        false => Err(required("nothing was run")),
    }
}
