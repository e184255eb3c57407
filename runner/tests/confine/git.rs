//! Traps planted so that the user's own git runs a program.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{Bench, finish, git, shell};
use runner::confine::ConfinePolicy;
use runner::layers::{Profile, layer_name};
use runner::spawn::Spawner;

/// Plants the files that make git take a directory for a bare repository.
fn plant_bare(directory: &Path) {
    for name in ["objects", "refs"] {
        fs::create_dir_all(directory.join(name)).unwrap();
    }
    fs::write(directory.join("HEAD"), "ref: refs/heads/main\n").unwrap();
}

#[test]
fn a_planted_bare_repository_opens_no_other_ones_configuration() {
    let bench = Bench::new(Profile::Workspace);
    let work = bench.workspace().to_owned();
    for path in ["", "sub", "objects/inner", "linked"] {
        fs::create_dir_all(work.join(path)).unwrap();
        git(&work.join(path), &["init", "-q"]);
    }
    // Files that a hostile clone contains, or a command creates before the next start.
    plant_bare(&work);
    plant_bare(&work.join("sub"));
    fs::write(work.join("linked/HEAD"), "ref: refs/heads/main\n").unwrap();
    symlink("../objects", work.join("linked/objects")).unwrap();
    symlink("../refs", work.join("linked/refs")).unwrap();
    let spawner = Spawner::start(Profile::Workspace, &bench.policy).unwrap();
    if !spawner.report().holds(layer_name::MOUNT_NAMESPACE) {
        return;
    }
    let run = |script: &str| finish(spawner.spawn_blocking(shell(script)).unwrap());
    for repository in [".git", "sub/.git", "objects/inner/.git", "linked/.git"] {
        for script in [
            "git config --file $R/config core.fsmonitor evil",
            "echo x > $R/hooks/pre-commit",
            "echo ../evil > $R/commondir",
            "mv $R $R-old",
        ] {
            let script = script.replace("$R", repository);
            assert!(!run(&script).succeeded(), "{script}");
        }
    }
    let output = run("git status && git -C sub status && git -C linked status");
    assert!(output.succeeded(), "{} {}", output.stdout, output.stderr);
}

#[test]
fn a_git_file_that_leads_to_a_planted_directory_leads_to_nothing_writable() {
    let bench = Bench::new(Profile::Workspace);
    let work = bench.workspace().to_owned();
    fs::create_dir_all(work.join("sub/.git")).unwrap();
    fs::write(work.join("sub/.git/config"), "").unwrap();
    fs::write(work.join(".git"), "gitdir: sub/.git\n").unwrap();
    let spawner = Spawner::start(Profile::Workspace, &bench.policy).unwrap();
    if !spawner.report().holds(layer_name::MOUNT_NAMESPACE) {
        return;
    }
    for script in ["echo x > .git", "echo x >> sub/.git/config", "echo x > sub/.git/hooks/x", "mv sub other"]
    {
        assert!(!finish(spawner.spawn_blocking(shell(script)).unwrap()).succeeded(), "{script}");
    }
}

#[test]
fn what_the_user_adds_to_a_repository_later_is_held_as_well() {
    let bench = Bench::new(Profile::Workspace);
    let (work, library) = (bench.workspace().to_owned(), bench.outside("library"));
    for path in [&work, &library, &work.join("a/nested")] {
        fs::create_dir_all(path).unwrap();
        git(path, &["init", "-q", "-b", "main"]);
        fs::write(path.join("file"), "text").unwrap();
        git(path, &["add", "file"]);
        git(path, &["commit", "-qm", "first"]);
    }
    let library = library.to_str().unwrap();
    git(&work, &["submodule", "--quiet", "add", "--name", "group/known", library, "known"]);
    git(&work, &["worktree", "add", "-q", "tree"]);
    git(&work, &["clone", "-q", "--bare", library, "bare.git"]);
    let spawner = Spawner::start(Profile::Workspace, &bench.policy).unwrap();
    if !spawner.report().holds(layer_name::MOUNT_NAMESPACE) {
        return;
    }
    let run = |script: &str| finish(spawner.spawn_blocking(shell(script)).unwrap());
    git(&work, &["worktree", "add", "-q", "later"]);
    git(&work.join("a/nested"), &["worktree", "add", "-q", "later"]);
    git(&work.join("bare.git"), &["worktree", "add", "-q", "../of-bare"]);
    git(&work, &["submodule", "--quiet", "add", "--name", "group/new", library, "new"]);
    git(&work.join("known"), &["submodule", "--quiet", "add", library, "inner"]);
    git(&work.join("tree"), &["submodule", "--quiet", "add", library, "inner"]);
    for (directory, part) in [
        (".git/worktrees/later", "commondir"),
        ("a/nested/.git/worktrees/later", "commondir"),
        ("bare.git/worktrees/of-bare", "commondir"),
        (".git/modules/group/new", "config"),
        (".git/modules/group/known/modules/inner", "config"),
        (".git/worktrees/tree/modules/inner", "config"),
    ] {
        assert!(work.join(directory).join(part).exists(), "{directory}/{part} is there");
        for script in
            ["echo evil > $D/$P", "rm $D/$P", "mv $D $D-old", "mkdir -p $D/hooks/x", "cp -r $D $D-copy"]
        {
            let script = script.replace("$D", directory).replace("$P", part);
            assert!(!run(&script).succeeded(), "{script}");
        }
    }
    for script in ["git worktree add -q mine", "mkdir .git/modules/mine", "rmdir .git/worktrees"] {
        assert!(!run(script).succeeded(), "{script}");
    }
    let identity = "-c user.name=n -c user.email=e@x";
    for place in ["tree", "known", "a/nested"] {
        let script = format!("cd {place} && echo x >> file && git {identity} commit -qm more file");
        let output = run(&script);
        assert!(output.succeeded(), "{place}: {}", output.stderr);
    }
    git(&work, &["worktree", "prune"]);
    git(&work, &["fsck"]);
}

#[test]
fn the_layer_holds_only_where_the_users_git_obeys_no_bare_repository() {
    let bench = Bench::new(Profile::Workspace);
    git(bench.workspace(), &["init", "-q"]);
    for git_refuses_bare in [true, false] {
        let policy = ConfinePolicy { git_refuses_bare, ..bench.policy.clone() };
        let spawner = Spawner::start(Profile::Workspace, &policy).unwrap();
        let report = spawner.report();
        let holds = git_refuses_bare && report.holds(layer_name::MOUNT_NAMESPACE);
        assert_eq!(report.holds(layer_name::GIT_CONFIG), holds, "{report:?}");
        let offers =
            report.layer(layer_name::GIT_CONFIG).unwrap().detail.contains("safe.bareRepository explicit");
        assert_eq!(offers, !git_refuses_bare, "{report:?}");
    }
}

#[test]
fn what_makes_a_repository_of_a_directory_cannot_be_moved() {
    let bench = Bench::new(Profile::Workspace);
    git(bench.workspace(), &["init", "-q"]);
    let spawner = Spawner::start(Profile::Workspace, &bench.policy).unwrap();
    if !spawner.report().holds(layer_name::MOUNT_NAMESPACE) {
        return;
    }
    for script in ["mv .git/refs .git/old", "mv .git/objects .git/old", "rm -r .git/refs", "mv .git old"] {
        assert!(!finish(spawner.spawn_blocking(shell(script)).unwrap()).succeeded(), "{script}");
    }
    let script = "git -c user.name=n -c user.email=e@x commit -q --allow-empty -m one && git gc -q && git checkout -q -b two";
    let output = finish(spawner.spawn_blocking(shell(script)).unwrap());
    assert!(output.succeeded(), "{}", output.stderr);
}
