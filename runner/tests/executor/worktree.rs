//! Linked worktrees that the runner makes and removes, since commands cannot.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use proto::request::{Worktree, WorktreeAction};
use proto::{ErrorKind, WireError};
use runner::layers::Profile;

use crate::users_git::git;
use crate::world::{World, id, shell};

const IDENTITY: &str = "-c user.name=n -c user.email=e@x";

fn repository(directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    for words in [
        &["init", "-q", "-b", "main"][..],
        &["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "--allow-empty", "-m", "first"],
    ] {
        assert!(git(directory, words).status.success());
    }
}

async fn ask(
    world: &mut World,
    repository: &str,
    name: &str,
    action: WorktreeAction,
) -> Result<(), WireError> {
    let request = Worktree { id: id(), repository: repository.into(), name: name.to_owned(), action };
    world.peer.ask(request).await.map(drop)
}

/// Makes a worktree as the server does: branch, worktree, files.
async fn add(world: &mut World, repository: &str, name: &str) {
    done(world, &format!("git -C {repository} update-ref refs/heads/sandbridge/{name} HEAD ''")).await;
    ask(world, repository, name, WorktreeAction::Add).await.unwrap();
    done(world, &format!("git -C {repository}/.sandbridge/worktrees/{name} reset -q --hard")).await;
}

async fn done(world: &mut World, line: &str) -> String {
    let outcome = world.shell(line).await;
    let (text, error) = (outcome.text().to_owned(), String::from_utf8_lossy(&outcome.stderr).into_owned());
    assert_eq!(outcome.status(), proto::message::ExitStatus::Code(0), "{line}: {text} {error}");
    text
}

async fn refused(world: &mut World, line: &str) {
    let status = world.shell(line).await.status();
    assert_ne!(status, proto::message::ExitStatus::Code(0), "{line}");
}

#[test]
fn commands_work_in_a_new_worktree_and_it_is_removed_with_everything_in_it() {
    let workspace = tempfile::tempdir().unwrap();
    repository(workspace.path());
    World::run_in(workspace.path(), Profile::Workspace, async |world| {
        for round in 0..5 {
            add(world, ".", "topic").await;
            let inside = format!(
                "cd .sandbridge/worktrees/topic && echo x > file && git add file && git {IDENTITY} commit -qm {round} && \
                 git switch -q -c other-{round} && git branch --show-current && git stash list && git gc -q"
            );
            assert_eq!(done(world, &inside).await, format!("other-{round}\n"));
            assert_eq!(done(world, "git status --porcelain").await, "", "the repository does not show it");
            refused(world, "echo evil > .git/worktrees/topic/commondir").await;
            refused(world, "rm .git/worktrees/topic/commondir").await;
            refused(world, "echo x > .git/worktrees/topic/config.worktree").await;
            refused(world, "mkdir .git/worktrees/topic/modules/x").await;
            refused(world, "mv .git/worktrees/topic .git/worktrees/other").await;
            refused(world, "echo x >> .git/config").await;
            refused(world, "mkdir .git/worktrees/mine").await;
            done(
                world,
                "mkdir -p .sandbridge/worktrees/topic/a/b && git init -q .sandbridge/worktrees/topic/a/b",
            )
            .await;
            ask(world, ".", "topic", WorktreeAction::Remove).await.unwrap();
            ask(world, ".", "topic", WorktreeAction::Remove).await.unwrap();
            assert_eq!(
                done(world, "ls -A .sandbridge/worktrees .git/worktrees").await.matches("topic").count(),
                0
            );
            done(world, "git update-ref -d refs/heads/sandbridge/topic").await;
        }
        assert_eq!(done(world, "ls -A .sandbridge/worktrees").await, ".gitignore\n", "nothing is left");
    });
    assert!(git(workspace.path(), &["fsck"]).status.success());
    assert!(git(workspace.path(), &["worktree", "prune"]).status.success());
}

#[test]
fn a_worktree_that_an_earlier_runner_made_is_held_and_can_be_removed() {
    let workspace = tempfile::tempdir().unwrap();
    let project = workspace.path().join("project");
    repository(&project);
    World::run_in(workspace.path(), Profile::Workspace, async |world| add(world, "project", "topic").await);
    World::run_in(workspace.path(), Profile::Workspace, async |world| {
        let line =
            format!("cd project/.sandbridge/worktrees/topic && git {IDENTITY} commit -q --allow-empty -m x");
        done(world, &line).await;
        refused(world, "echo evil > project/.sandbridge/worktrees/topic/.git").await;
        refused(world, "rm -rf project/.sandbridge/worktrees/topic").await;
        let found = git(&world.path("project"), &["worktree", "list"]);
        assert_eq!(String::from_utf8_lossy(&found.stdout).lines().count(), 2);
        ask(world, "project", "topic", WorktreeAction::Remove).await.unwrap();
        assert!(!world.path("project/.sandbridge/worktrees/topic").exists());
        add(world, "project", "topic-2").await;
    });
    assert!(git(&project, &["fsck"]).status.success());
}

#[test]
fn what_is_no_main_repository_gets_no_worktree() {
    let workspace = tempfile::tempdir().unwrap();
    let top = workspace.path();
    repository(&top.join("a"));
    fs::create_dir_all(top.join("plain")).unwrap();
    fs::create_dir_all(top.join("file")).unwrap();
    fs::write(top.join("file/.git"), "gitdir: ../a/.git\n").unwrap();
    fs::create_dir_all(top.join("linked")).unwrap();
    symlink("../a/.git", top.join("linked/.git")).unwrap();
    repository(&top.join("trap"));
    fs::create_dir_all(top.join("trap/.sandbridge")).unwrap();
    symlink("../../a/.git", top.join("trap/.sandbridge/worktrees")).unwrap();
    repository(&top.join("trap2"));
    symlink("../../a/.git/hooks", top.join("trap2/.git/worktrees")).unwrap();
    World::run_in(top, Profile::Workspace, async |world| {
        for (repository, kind) in [
            ("plain", ErrorKind::NotFound),
            ("missing", ErrorKind::NotFound),
            ("file", ErrorKind::Unsupported),
            ("linked", ErrorKind::Unsupported),
            ("..", ErrorKind::EscapesWorkspace),
        ] {
            for action in [WorktreeAction::Add, WorktreeAction::Remove] {
                let error = ask(world, repository, "topic", action).await.unwrap_err();
                assert_eq!(error.kind, kind, "{repository}: {error}");
            }
        }
        for repository in ["trap", "trap2"] {
            for name in ["hooks", "config", "topic"] {
                for action in [WorktreeAction::Remove, WorktreeAction::Add] {
                    assert!(ask(world, repository, name, action).await.is_err(), "{repository} {name}");
                }
            }
        }
        for name in ["../x", "-f", "a\0b", "", ".", "..", "a/b", "x.lock", &"n".repeat(300)] {
            let error = ask(world, "a", name, WorktreeAction::Add).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidPath, "{name:?}");
        }
    });
    assert!(top.join("a/.git/hooks").is_dir() && top.join("a/.git/config").is_file());
    assert!(!top.join("a/.git/hooks/topic").exists());
}

#[test]
fn a_taken_name_and_a_worktree_of_the_user_stay_as_they_are() {
    let workspace = tempfile::tempdir().unwrap();
    repository(workspace.path());
    assert!(git(workspace.path(), &["worktree", "add", "-q", "elsewhere/topic"]).status.success());
    World::run_in(workspace.path(), Profile::Workspace, async |world| {
        let error = ask(world, ".", "topic", WorktreeAction::Add).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::AlreadyExists, "git's own name of it is taken");
        let error = ask(world, ".", "topic", WorktreeAction::Remove).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported, "it is not below .sandbridge");
        done(world, "mkdir .sandbridge/worktrees/plain && touch .sandbridge/worktrees/plain/x").await;
        assert!(ask(world, ".", "plain", WorktreeAction::Remove).await.is_err());
        add(world, ".", "mine").await;
        let error = ask(world, ".", "mine", WorktreeAction::Add).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::AlreadyExists);
        done(world, "git worktree lock .sandbridge/worktrees/mine").await;
        assert_eq!(ask(world, ".", "mine", WorktreeAction::Remove).await.unwrap_err().kind, ErrorKind::Busy);
        done(world, "git worktree unlock .sandbridge/worktrees/mine").await;
        // A person deletes the files; the name is free again.
        fs::remove_dir_all(world.path(".sandbridge/worktrees/mine")).unwrap();
        ask(world, ".", "mine", WorktreeAction::Add).await.unwrap();
        ask(world, ".", "mine", WorktreeAction::Remove).await.unwrap();
        assert!(world.path("elsewhere/topic/.git").exists() && world.path(".git/worktrees/topic").exists());
        assert!(world.path(".sandbridge/worktrees/plain/x").exists());
    });
}

#[test]
fn a_repository_of_a_command_has_worktrees_and_a_read_only_runner_makes_none() {
    let workspace = tempfile::tempdir().unwrap();
    World::run_in(workspace.path(), Profile::Workspace, async |world| {
        let line = format!("git init -q -b main new && git -C new {IDENTITY} commit -q --allow-empty -m one");
        assert!(world.peer.exec(shell(&line)).await.stderr.is_empty());
        add(world, "new", "topic").await;
        done(
            world,
            &format!("git -C new/.sandbridge/worktrees/topic {IDENTITY} commit -q --allow-empty -m x"),
        )
        .await;
        ask(world, "new", "topic", WorktreeAction::Remove).await.unwrap();
    });
    World::run_in(workspace.path(), Profile::ReadOnly, async |world| {
        let error = ask(world, "new", "topic", WorktreeAction::Add).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::ReadOnly);
    });
}
