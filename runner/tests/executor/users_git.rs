//! The user's own git runs nothing that a command left in the work tree.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use proto::request::{Exec, Remove, Rename};
use runner::layers::Profile;

use crate::world::{World, eventually, id, shell};

/// Makes a bare repository of the current directory, whose configuration names a work tree and a program.
const PLANT: &str = "mkdir -p objects refs && echo 'ref: refs/heads/main' > HEAD && \
    printf '[core]\\n\\tworktree = .\\n\\tfsmonitor = touch PWNED\\n\\trepositoryformatversion = 0\\n' > config";

/// Runs the user's git. The executor in this process reaps dead children, this one too if it is first: so the shell around git writes
/// its exit code at the end of the output.
pub(crate) fn git(workspace: &Path, words: &[&str]) -> std::process::Output {
    let mut child = Command::new("sh")
        .args(["-c", "git \"$@\"; printf ' %s' $?", "sh"])
        .args(words)
        .current_dir(workspace)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdout, mut stderr) = (String::new(), Vec::new());
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    let _ = child.wait();
    let (stdout, code) = stdout.rsplit_once(' ').unwrap();
    let status = std::process::ExitStatus::from_raw(code.parse::<i32>().unwrap() << 8);
    std::process::Output { status, stdout: stdout.into(), stderr }
}

fn workspace() -> tempfile::TempDir {
    let workspace = tempfile::tempdir().unwrap();
    assert!(git(workspace.path(), &["init", "-q", "-b", "main"]).status.success());
    workspace
}

/// The user inspects the work tree.
fn assert_harmless(workspace: &Path, what: &str) {
    let status = git(workspace, &["status"]);
    assert!(status.status.success(), "{what}: {}", String::from_utf8_lossy(&status.stderr));
    assert!(!workspace.join("PWNED").exists(), "{what}");
    let top = git(workspace, &["rev-parse", "--git-dir"]);
    assert_eq!(String::from_utf8_lossy(&top.stdout).trim(), ".git", "{what}");
}

#[test]
fn a_command_that_swaps_the_repository_for_a_bare_one_swaps_nothing() {
    for damage in [
        "mv .git/HEAD .git/other",
        "rm .git/HEAD",
        "echo nonsense > .git/HEAD",
        "rm .git/HEAD; mkdir .git/HEAD",
        "chmod 000 .git/refs .git; rm -f .git/HEAD",
    ] {
        let workspace = workspace();
        World::run_in(workspace.path(), Profile::Workspace, async |world| {
            let outcome = world.shell(&format!("{damage}; {PLANT}")).await;
            let told = String::from_utf8_lossy(&outcome.stderr).into_owned();
            assert!(told.contains("sandbridge: ") && told.contains("HEAD"), "{damage}: {told}");
            assert_harmless(&world.workspace, damage);
            assert_eq!(world.shell("git status --short | grep -c .").await.stderr, b"", "once is enough");
        });
    }
}

#[test]
fn a_repository_is_put_right_while_the_command_still_runs() {
    let workspace = workspace();
    World::run_in(workspace.path(), Profile::Workspace, async |world| {
        let line = format!("rm .git/HEAD; {PLANT}; touch done; sleep 60");
        let stream = world.peer.open(shell(&line));
        world.peer.flush().await;
        let (head, place) = (world.path(".git/HEAD"), world.workspace.clone());
        eventually("the command struck", || place.join("done").exists()).await;
        eventually("HEAD is back", || head.exists()).await;
        assert_harmless(&world.workspace, "while it runs");
        world.peer.cancel(stream).await;
    });
}

#[test]
fn what_a_command_left_running_is_looked_after_when_it_ends() {
    let workspace = workspace();
    World::run_in(workspace.path(), Profile::Workspace, async |world| {
        let line = format!("({PLANT}; sleep 1; rm .git/HEAD) >/dev/null 2>&1 </dev/null & echo begun");
        let outcome = world.shell(&line).await;
        assert_eq!(outcome.text(), "begun\n");
        let (head, place) = (world.path(".git/HEAD"), world.path("HEAD"));
        eventually("it struck, and was put right", || {
            head.exists() && !place.exists() && world.workspace.join("objects").exists()
        })
        .await;
        assert_harmless(&world.workspace, "a process in the background");
    });
}

#[test]
fn what_git_does_inside_is_not_disturbed() {
    let workspace = workspace();
    World::run_in(workspace.path(), Profile::Workspace, async |world| {
        let identity = "-c user.name=n -c user.email=e@x";
        let line = format!(
            "git {identity} commit -q --allow-empty -m one && git checkout -q -b topic && git checkout -q --detach && \
             git checkout -q main && git init -q --bare mine.git && git clone -q mine.git copy 2>/dev/null && git pack-refs --all"
        );
        for _ in 0..3 {
            let outcome = world.peer.exec(Exec { ..shell(&line.replace("-b topic", "-B topic")) }).await;
            assert_eq!(String::from_utf8_lossy(&outcome.stderr), "");
            world.shell("rm -rf mine.git copy").await;
        }
    });
}

#[test]
fn file_operations_swap_the_repository_for_no_other_one_either() {
    let workspace = workspace();
    World::run_in(workspace.path(), Profile::Workspace, async |world| {
        let outcome = world.shell("mkdir objects refs").await;
        assert!(outcome.stderr.is_empty());
        world.peer.ask(Remove { id: id(), path: ".git/HEAD".into() }).await.unwrap();
        assert!(world.path(".git/HEAD").exists(), "it was put back");
        let (from, to) = (".git/HEAD".into(), "HEAD".into());
        world.peer.ask(Rename { id: id(), from, to }).await.unwrap();
        assert!(
            world.path(".git/HEAD").exists() && !world.path("HEAD").exists(),
            "HEAD was restored, and the one next to .git was renamed"
        );
        assert_harmless(&world.workspace, "file operations");
    });
}
