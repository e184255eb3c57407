//! What people plant so that the user's own git runs it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{Bench, finish, git, shell};
use runner::confine::{Profile, layer_name};
use runner::spawn::Spawner;

/// Plants what makes git take a directory for a bare repository.
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
    // What a hostile clone brings along, or a command makes before the next start.
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
