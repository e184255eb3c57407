//! Situations in which an executor refuses to start.

use runner::Error;
use runner::executor::{Executor, ExecutorConfig};
use runner::layers::Profile;
use tokio::task::LocalSet;

/// Starts an executor whose state directory is in its workspace.
fn start(profile: Profile) -> Result<(), Error> {
    let directory = tempfile::tempdir().unwrap();
    let (workspace, state_dir) = (directory.path().to_owned(), directory.path().join(".local/state"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let executor = Executor::start(&ExecutorConfig::new(workspace, state_dir, profile))?;
        executor.shutdown().await;
        Ok(())
    })
}

#[test]
fn a_state_directory_in_the_workspace_is_refused_with_advice() {
    for profile in [Profile::Workspace, Profile::ReadOnly] {
        let text = start(profile).unwrap_err().to_string();
        assert!(text.contains("outside the workspace") && text.contains("--state-dir"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
}

#[test]
fn where_everything_is_open_anyway_the_state_directory_may_be_anywhere() {
    start(Profile::FullControl).unwrap();
}
