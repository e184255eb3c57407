use crate::handles::{fit, handles, strangers};
use crate::text::{read, write};

const TEXT: &str = "# for @nobody
1. @writer: Ask @coder what it is.
   - @critic belongs to the instruction
2) @写手：写
3、@coder-2, go
- @Editor do it
4. @writer: End it.
budget: 5 tokens
";

#[test]
fn the_agents_of_steps_are_named_once_in_their_order_and_those_of_instructions_are_not() {
    let chain = read(TEXT).unwrap();
    assert_eq!(handles(&chain), ["writer", "写手", "coder-2", "Editor"]);
    assert!(handles(&read("").unwrap()).is_empty());
    assert_eq!(strangers(&handles(&chain), &["Writer", "editor"]), ["写手", "coder-2"]);
}

#[test]
fn an_agent_takes_the_place_of_another_one_only_where_that_is_obvious() {
    for (agents, expected) in [
        (["Coder", "rust-coder"].as_slice(), "Coder"),
        (&["rust-coder", "writer"], "rust-coder"),
        (&["coder2"], "coder2"),
        (&["rust-coder", "go-coder"], "coder"),
        (&["decoder", "coders"], "coder"),
        (&[], "coder"),
    ] {
        let mut chain = read("1. @coder: Ask @coder.\n").unwrap();
        fit(&mut chain, agents);
        assert_eq!(write(&chain), format!("1. @{expected}: Ask @coder.\n"), "{agents:?}");
    }
    let mut unfinished = read("1. @x:\n").unwrap();
    unfinished.steps[0].agent.clear();
    fit(&mut unfinished, &["coder", "-"]);
    assert_eq!(unfinished.steps[0].agent, "");
}
