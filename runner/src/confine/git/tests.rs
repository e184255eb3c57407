use std::fs;
use std::path::Path;

use super::GitPaths;
use crate::limits::{GIT_REPOSITORIES, GIT_SCAN_DIRECTORIES};

fn find(roots: &[&Path]) -> GitPaths {
    GitPaths::find(roots, GIT_SCAN_DIRECTORIES)
}

fn repository(path: &Path) {
    for name in ["objects", "refs", "hooks"] {
        fs::create_dir_all(path.join(name)).unwrap();
    }
    fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
}

#[test]
fn every_kind_of_repository_is_found_with_what_leads_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    repository(&root.join(".git"));
    repository(&root.join(".git/modules/lib/inner"));
    fs::create_dir_all(root.join(".git/worktrees/other")).unwrap();
    repository(&root.join("nested/deep/.git"));
    repository(&root.join("bare.git"));
    fs::create_dir(root.join("lib")).unwrap();
    fs::write(root.join("lib/.git"), "gitdir: ../.git/modules/lib/inner\n").unwrap();
    repository(&root.join("node_modules/x/.git"));
    let found = find(&[root]);
    let expected_pins = [
        ".git",
        ".git/modules",
        ".git/modules/lib",
        ".git/modules/lib/inner",
        ".git/modules/lib/inner/modules",
        ".git/modules/lib/inner/objects",
        ".git/modules/lib/inner/refs",
        ".git/modules/lib/inner/worktrees",
        ".git/objects",
        ".git/refs",
        ".git/worktrees",
        ".git/worktrees/other",
        ".git/worktrees/other/modules",
        "bare.git",
        "bare.git/modules",
        "bare.git/objects",
        "bare.git/refs",
        "bare.git/worktrees",
        "lib",
        "nested",
        "nested/deep",
        "nested/deep/.git",
        "nested/deep/.git/modules",
        "nested/deep/.git/objects",
        "nested/deep/.git/refs",
        "nested/deep/.git/worktrees",
    ];
    assert_eq!(found.pinned, expected_pins.map(|path| root.join(path)));
    assert!(
        found.closed.contains(&root.join(".git/modules/lib")) && !found.closed.contains(&root.join(".git"))
    );
    for path in [
        ".git/config",
        ".git/hooks",
        ".git/commondir",
        ".git/modules/lib/inner/hooks",
        ".git/worktrees/other/commondir",
        "nested/deep/.git/config",
        "bare.git/config",
        "lib/.git",
    ] {
        assert!(found.read_only.contains(&root.join(path)), "{path}: {:?}", found.read_only);
    }
    assert!(!found.read_only.iter().any(|path| path.starts_with(root.join("node_modules"))));
    let gap = format!(
        "not protected, because tools rebuild what is there: the repository {}",
        root.join("node_modules/x").display()
    );
    assert_eq!(found.gaps, [gap]);
}

/// Asserts that the parts of a repository are read-only, regardless of the other paths.
fn assert_held(found: &GitPaths, repository: &Path) {
    for part in ["config", "hooks", "commondir"] {
        assert!(
            found.read_only.contains(&repository.join(part)),
            "{}: {found:?}",
            repository.join(part).display()
        );
    }
}

#[test]
fn what_looks_like_a_bare_repository_does_not_hide_what_lies_in_it() {
    for makes in [
        // The names in any order, and of any kind: git follows links.
        &["objects/", "refs/", "HEAD"][..],
        &["HEAD", "refs/", "objects/"],
        &["HEAD@elsewhere", "refs@.", "objects@."],
        &["HEAD/", "refs", "objects"],
        &["HEAD", "commondir"],
        &["HEAD", "commondir", "gitdir"],
    ] {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        repository(&root.join(".git"));
        repository(&root.join("sub/.git"));
        for name in makes {
            for place in [&root, &root.join("sub")] {
                match (name.strip_suffix('/'), name.split_once('@')) {
                    (Some(name), _) => fs::create_dir(place.join(name)).unwrap(),
                    (None, Some((name, target))) => {
                        std::os::unix::fs::symlink(target, place.join(name)).unwrap()
                    }
                    (None, None) => fs::write(place.join(name), ".").unwrap(),
                }
            }
        }
        if root.join("objects").is_dir() && !root.join("objects").is_symlink() {
            repository(&root.join("objects/inner/.git"));
            repository(&root.join("objects/bare"));
        }
        let found = find(&[&root]);
        assert_held(&found, &root.join(".git"));
        assert_held(&found, &root.join("sub/.git"));
        assert_held(&found, &root.join("sub"));
        if root.join("objects/inner").exists() {
            assert_held(&found, &root.join("objects/inner/.git"));
            assert_held(&found, &root.join("objects/bare"));
        }
        assert!(found.pinned.contains(&root.join("sub")), "{makes:?}: {found:?}");
        assert!(!found.pinned.contains(&root), "the root is a mount already");
    }
}

#[test]
fn a_bare_repository_in_a_bare_one_is_held_too() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for place in ["outer.git", "outer.git/inner.git", "outer.git/inner.git/objects/third"] {
        repository(&root.join(place));
    }
    repository(&root.join("outer.git/inner.git/.git"));
    let found = find(&[&root]);
    for place in
        ["outer.git", "outer.git/inner.git", "outer.git/inner.git/.git", "outer.git/inner.git/objects/third"]
    {
        assert_held(&found, &root.join(place));
    }
    assert_eq!((found.repositories, &found.gaps), (4, &Vec::new()));
}

#[test]
fn what_a_file_leads_to_is_held_before_it_is_a_repository() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("sub/.git")).unwrap();
    fs::write(root.join("sub/.git/config"), "").unwrap();
    fs::write(root.join(".git"), "gitdir: sub/.git\n").unwrap();
    // The repository's own directory names another place for its configuration.
    repository(&root.join("other/.git"));
    fs::create_dir(root.join("common")).unwrap();
    fs::write(root.join("other/.git/commondir"), "../../common\n").unwrap();
    let found = find(&[&root]);
    for place in ["sub/.git", "other/.git", "common"] {
        assert_held(&found, &root.join(place));
    }
    assert!(found.read_only.contains(&root.join(".git")));
    assert!(
        matches!(&found.gaps[..], [gap] if gap.contains("sub/.git has no valid HEAD")),
        "{:?}",
        found.gaps
    );
}

#[test]
fn what_a_file_leads_to_and_cannot_be_held_is_told() {
    for (text, told) in [("gitdir: link/x.git\n", "is a link"), ("gitdir: none/x.git\n", "No such file")] {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        repository(&root.join("real/x.git"));
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        fs::write(root.join(".git"), text).unwrap();
        let found = find(&[&root]);
        assert!(found.gaps.iter().any(|gap| gap.contains(told)), "{text}: {found:?}");
    }
}

#[test]
fn a_repository_is_held_however_deep_it_lies() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    repository(&root.join("1/2/3/4/5/6/7/8/9/.git"));
    let found = find(&[&root]);
    assert_held(&found, &root.join("1/2/3/4/5/6/7/8/9/.git"));
    assert_eq!(found.gaps, Vec::<String>::new());
}

#[test]
fn what_was_not_looked_at_is_told() {
    for place in ["", "node_modules"] {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for number in 0..10 {
            fs::create_dir_all(root.join(place).join(format!("{number}"))).unwrap();
        }
        assert!(GitPaths::find(&[&root], 20).gaps.is_empty());
        let found = GitPaths::find(&[&root], 5);
        assert!(matches!(&found.gaps[..], [gap] if gap.starts_with("not looked at: ")), "{:?}", found.gaps);
    }
}

#[test]
fn links_are_not_followed_and_told() {
    let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    repository(&elsewhere.path().join("x.git"));
    std::os::unix::fs::symlink(elsewhere.path().join("x.git"), directory.path().join(".git")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), directory.path().join("link")).unwrap();
    let found = find(&[directory.path()]);
    assert!(found.pinned.is_empty() && found.read_only.is_empty(), "{found:?}");
    assert!(found.gaps[0].contains("symbolic link"), "{found:?}");
    let file = tempfile::tempdir().unwrap();
    let text = format!("gitdir: {}\n", elsewhere.path().join("x.git").display());
    fs::write(file.path().join(".git"), text).unwrap();
    let found = find(&[file.path()]);
    assert_eq!(found.read_only, [file.path().join(".git")]);
}

#[test]
fn a_search_that_is_not_complete_says_so() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..=GIT_REPOSITORIES {
        repository(&directory.path().join(format!("{number}/.git")));
    }
    let found = find(&[directory.path()]);
    assert_eq!((found.repositories, found.gaps.len()), (GIT_REPOSITORIES, 1));
}
