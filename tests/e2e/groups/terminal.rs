//! A group in the full-screen chat of a terminal.

use serde_json::json;
use tests::tmux::Tmux;

use super::{Team, echo};

#[test]
fn a_group_is_used_and_its_gate_answered_in_a_terminal() {
    let team = Team::new(echo);
    team.of(&team.bob, &["grant", &team.group, "writer", "alice", "--mode", "own"]);
    team.post(&team.bob, "hello from bob");
    let tmux = Tmux::start(100, 30);
    tmux.runs("", &team.world.alice, &["chat", "--new"]);
    tmux.sees("● laptop online");
    tmux.press(&["C-g"]);
    tmux.sees("Groups");
    tmux.press(&["Enter"]);
    tmux.sees("hello from bob");
    tmux.types("@cod");
    tmux.sees("@coder laptop");
    tmux.press(&["Tab"]);
    tmux.types("say hello");
    tmux.press(&["Enter"]);
    tmux.sees("coder heard: @coder say hello");
    tmux.sees("@coder · laptop");
    assert_eq!(team.calls().len(), 1);

    // A waiting chain shows its steps and its question, and continues after the answer.
    let run = team.begin("1. @writer: write it [gate]\n2. @coder: check it\n");
    tmux.sees("? @writer desk › · @coder laptop");
    tmux.sees("Tab: answer it");
    tmux.press(&["Tab"]);
    tmux.sees("a approve");
    tmux.becomes("the gate accepts the key", |_| {
        tmux.press(&["a"]);
        team.run(&run)["gate"].is_null()
    });
    let done = team.until_run(&run, "done");
    assert_eq!(done["steps"][1]["output"], json!("coder heard: check it"));
    tmux.sees("The chain story is done.");
    // A key that is pressed after the question was answered becomes text, which is cleared here.
    tmux.press(&["C-u", "Escape"]);
    tmux.sees("Say something");
    tmux.leaves_chat();
    tmux.sees("ended 0");
}
