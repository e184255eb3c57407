//! Chains that are read from a file in the workspace of an agent.

use std::fs;

use super::{Team, echo};

const STORY: &str = "1. @coder: begin\n2. @writer: end [gate]\nbudget: 1000 tokens\n";

fn put(team: &Team, path: &str, content: &[u8]) {
    let path = team.world.machine.workspace().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// The error of `set` for a file that it refuses.
fn refused(team: &Team, path: &str, agent: &str) -> String {
    let set = ["group", "chain", "set", &team.group, "story", path, "--from", agent];
    let refused = team.world.alice.run(&set);
    assert_ne!(refused.code, 0, "{path}: {refused:?}");
    refused.stderr
}

#[test]
fn a_chain_is_read_from_the_workspace_of_an_agent_of_ones_own() {
    let team = Team::new(echo);
    team.of(&team.bob, &["grant", &team.group, "writer", "alice", "--mode", "own"]);
    put(&team, "chains/story.md", STORY.as_bytes());
    let stored = team.alice(&["chain", "set", &team.group, "story", "chains/story.md", "--from", "@coder"]);
    assert_eq!(stored["chain"]["steps"][1]["gate"], true, "{stored}");
    assert_eq!(stored["chain"]["budget"]["tokens"], 1000, "{stored}");
    let run = team.alice(&["chain", "run", &team.group, "story", "rain"])["id"].clone();
    assert_eq!(team.until_run(&run, "asking")["gate"]["step"], 1);
    // Another person's workspace is not read, even if their agent may be asked.
    fs::write(team.desk.workspace().join("story.md"), STORY).unwrap();
    let why = refused(&team, "story.md", "writer");
    assert!(why.contains("only bob can read a chain from the workspace of @writer"), "{why}");
}

#[test]
fn an_invalid_chain_file_is_refused_and_changes_nothing() {
    let team = Team::new(echo);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("story.md"), STORY).unwrap();
    put(&team, "story.md", STORY.as_bytes());
    team.alice(&["chain", "set", &team.group, "story", "story.md", "--from", "coder"]);
    let workspace = team.world.machine.workspace();
    std::os::unix::fs::symlink(outside.path(), workspace.join("out")).unwrap();
    put(&team, "binary", b"1. @coder: \xff\xfe");
    put(&team, "large", &b"1. @coder: much\n".repeat(1 << 15));
    put(&team, "odd", b"begin with the coder\n");
    for (path, part) in [
        ("/etc/passwd", "not the path of a file"),
        ("../story.md", "not the path of a file"),
        ("chains/*.md", "not the path of a file"),
        ("chains/", "not the path of a file"),
        ("absent.md", "cannot be read"),
        ("out/story.md", "cannot be read"),
        ("binary", "is not text"),
        ("large", "at most 262144 bytes"),
        ("odd", "line 1"),
    ] {
        let why = refused(&team, path, "coder");
        assert!(why.contains(part), "{path}: {why}");
    }
    assert!(refused(&team, "story.md", "nobody").contains("there is no agent @nobody"));
    let kept = team.alice(&["chain", "list", &team.group]);
    assert_eq!(kept[0]["chain"]["steps"][0]["instruction"], "begin", "{kept}");
    assert_eq!(kept.as_array().unwrap().len(), 1);
}
