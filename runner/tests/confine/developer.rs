//! A developer's tools: git's own files, toolchains, and additional permissions.

use std::fs;

use crate::support::{Bench, Output, finish, git, shell};
use runner::confine::{Allowances, ConfinePolicy};
use runner::layers::{Profile, layer_name};
use runner::spawn::Spawner;

/// A workspace with a repository, a submodule, a linked worktree and a nested repository.
struct Project {
    bench: Bench,
    spawner: Spawner,
}

impl Project {
    fn new(profile: Profile, allowances: Allowances) -> Self {
        let bench = Bench::new(Profile::Workspace);
        let (work, library) = (bench.workspace().to_owned(), bench.outside("library"));
        for path in [&work, &library, &work.join("a/nested")] {
            fs::create_dir_all(path).unwrap();
            git(path, &["init", "-q", "-b", "main"]);
            fs::write(path.join("file"), "text").unwrap();
            git(path, &["add", "file"]);
            git(path, &["commit", "-qm", "first"]);
        }
        git(&work, &["submodule", "--quiet", "add", library.to_str().unwrap(), "lib/sub"]);
        git(&work, &["commit", "-qm", "submodule"]);
        git(&work, &["worktree", "add", "-q", "tree"]);
        let policy = bench.policy.clone().allowing(allowances);
        let spawner = Spawner::start(profile, &policy).unwrap();
        Self { bench, spawner }
    }

    fn run(&self, script: &str) -> Output {
        let identity =
            "export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e@x GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e@x;";
        finish(self.spawner.spawn_blocking(shell(&format!("{identity} {script}"))).unwrap())
    }

    fn is_held(&self) -> bool {
        self.spawner.report().holds(layer_name::GIT_CONFIG)
    }
}

#[test]
fn git_works_while_its_configuration_and_hooks_stay_as_they_are() {
    let project = Project::new(Profile::Workspace, Allowances::default());
    let mounted = project.spawner.report().holds(layer_name::MOUNT_NAMESPACE);
    assert_eq!(project.is_held(), mounted, "{:?}", project.spawner.report());
    for script in [
        "echo x >> file && git add file && git commit -qm second",
        "git checkout -q -b topic && git switch -q main && git branch -d topic",
        "echo y >> file && git stash -q && git stash pop -q && git checkout -q -- file",
        "git tag one && git gc -q && git fsck",
        "cd tree && echo z >> file && git commit -qam tree && git status --short",
        "cd lib/sub && echo z >> file && git commit -qam sub",
        "cd a/nested && echo z >> file && git commit -qam nested && git reset -q --hard HEAD~1",
        "git worktree list && git submodule status",
        "git init -q new && git -C new config user.name n && touch new/.git/hooks/pre-commit",
        "git clone -q . copy && rm -rf copy new",
    ] {
        let output = project.run(script);
        assert!(output.succeeded(), "{script}: {} {}", output.stdout, output.stderr);
    }
    if !mounted {
        return;
    }
    let repositories = [".git", "a/nested/.git", ".git/modules/lib/sub"];
    for repository in repositories {
        for script in [
            "git config --file $R/config core.fsmonitor evil",
            "echo x >> $R/config",
            "rm $R/config",
            "mv $R/config $R/old",
            "echo x > $R/hooks/post-checkout",
            "rmdir $R/hooks || rm -r $R/hooks",
            "mv $R/hooks $R/old",
            "rm -rf $R; test ! -e $R",
            "mv $R $R-old",
            "echo ../evil > $R/commondir",
            "rm $R/commondir",
            "echo x > $R/config.worktree",
            "ln -f file $R/config",
            "ln $R/config linked && echo x >> linked",
            "cp file evil && mv evil $R/config",
        ] {
            let script = script.replace("$R", repository);
            // rm -rf removes everything it may: not this repository's objects.
            let script = if script.starts_with("rm -rf") { format!("exit 1; {script}") } else { script };
            assert!(!project.run(&script).succeeded(), "{script}");
        }
    }
    for script in [
        "mv a a2",
        "mv a/nested a/moved",
        "mv lib lib2",
        "echo gitdir: /tmp > lib/sub/.git",
        "rm lib/sub/.git",
        "mv .git/modules .git/old",
        "mv .git/worktrees .git/old",
        "echo /tmp > .git/worktrees/tree/commondir",
        "mv .git/worktrees/tree .git/worktrees/old",
        "rm tree/.git",
        "git config --local alias.x '!evil'",
    ] {
        assert!(!project.run(script).succeeded(), "{script}");
    }
    let work = project.bench.workspace();
    git(work, &["fsck"]);
    git(&work.join("tree"), &["status"]);
    git(&work.join("lib/sub"), &["status"]);
    assert!(!fs::read_to_string(work.join(".git/config")).unwrap().contains("evil"));
}

#[test]
fn what_git_obeys_can_be_opened_to_commands() {
    let allowances = Allowances { git_config: true, ..Allowances::default() };
    let project = Project::new(Profile::Workspace, allowances);
    assert!(!project.is_held());
    let output = project.run("git config --local alias.x status && touch .git/hooks/post-commit && mv a a2");
    assert!(output.succeeded(), "{}", output.stderr);
}

#[test]
fn a_link_in_a_repository_shows_nothing_of_what_it_leads_to() {
    let bench = Bench::new(Profile::Workspace);
    let work = bench.workspace();
    git(work, &["init", "-q"]);
    fs::write(bench.outside("secret"), "SECRET").unwrap();
    fs::remove_file(work.join(".git/config")).unwrap();
    std::os::unix::fs::symlink(bench.outside("secret"), work.join(".git/config")).unwrap();
    let spawner = Spawner::start(Profile::Workspace, &bench.policy).unwrap();
    assert!(!spawner.report().holds(layer_name::GIT_CONFIG));
    let output = finish(spawner.spawn_blocking(shell("cat .git/config")).unwrap());
    assert!(!output.stdout.contains("SECRET"));
}

#[test]
fn a_read_only_workspace_keeps_everything_of_git() {
    let project = Project::new(Profile::ReadOnly, Allowances::default());
    assert!(project.is_held());
    assert!(project.run("git status --short && git log --oneline").succeeded());
    assert!(!project.run("echo x > .git/hooks/x").succeeded());
    assert!(!project.bench.workspace().join(".git/commondir").exists(), "nothing is made in it");
}

#[test]
fn what_is_allowed_besides_can_be_read_or_written_and_no_more() {
    let bench = Bench::new(Profile::Workspace);
    for name in ["read", "write/deep", "neither"] {
        fs::create_dir_all(bench.outside(name)).unwrap();
        fs::write(bench.outside(name).join("file"), "text").unwrap();
    }
    let paths = |name: &str| vec![bench.outside(name)];
    let allowances = Allowances::new(&paths("read"), &paths("write"), false).unwrap();
    for profile in [Profile::Workspace, Profile::ReadOnly] {
        let spawner = Spawner::start(profile, &bench.policy.clone().allowing(allowances.clone())).unwrap();
        let run = |script: &str| finish(spawner.spawn_blocking(shell(script)).unwrap());
        let output =
            run("cat ../read/file ../write/deep/file && echo x > ../write/deep/new && rm ../write/deep/new");
        assert!(output.succeeded() && output.stdout == "texttext", "{}", output.stderr);
        for script in ["echo x > ../read/file", "rm ../read/file", "cat ../neither/file"] {
            assert!(!run(script).succeeded(), "{script}");
        }
        run("echo x > ../new");
        assert!(!bench.outside("new").exists());
    }
    assert_eq!(fs::read_to_string(bench.outside("read/file")).unwrap(), "text");
}

#[test]
fn an_allowed_directory_around_the_workspace_changes_neither_its_rights_nor_its_files() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let outer = directory.path().join("outer");
    let work = outer.join("closed/work");
    fs::create_dir_all(&work).unwrap();
    fs::write(outer.join("file"), "text").unwrap();
    fs::set_permissions(outer.join("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    let allowances = Allowances::new(std::slice::from_ref(&outer), &[], false).unwrap();
    let policy = ConfinePolicy::detect(&work, &directory.path().join("state")).unwrap().allowing(allowances);
    let spawner = Spawner::start(Profile::Workspace, &policy).unwrap();
    let run = |script: &str| finish(spawner.spawn_blocking(shell(script)).unwrap());
    let output = run("cat ../../file && echo x > inside");
    assert!(output.succeeded(), "{}", output.stderr);
    assert!(!run("echo x > ../../file").succeeded());
    assert!(work.join("inside").exists());
    assert_eq!(fs::read_dir(&outer).unwrap().count(), 2, "nothing was moved aside");
}

#[test]
fn programs_that_commands_install_are_found_and_take_nobodys_place() {
    let bench = Bench::new(Profile::Workspace);
    let script = "mkdir -p $CARGO_INSTALL_ROOT/bin && cd $CARGO_INSTALL_ROOT/bin && \
                  printf '#!/bin/sh\\necho mine\\n' | tee tool > ls && chmod +x tool ls && test \"$GOBIN\" = $PWD";
    assert!(bench.run(script).succeeded());
    assert_eq!(bench.run("tool").stdout, "mine\n");
    assert!(!bench.run("ls").stdout.contains("mine"));
}
