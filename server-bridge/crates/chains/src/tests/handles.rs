use api::chain::ChainDraft;

use super::step;
use crate::check_size;
use crate::handles::{fit, handles, strangers};
use crate::limits::{INSTRUCTION_MAX_BYTES, STEPS_MAX};
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

#[test]
fn a_chain_that_is_being_written_is_limited_in_size_and_otherwise_unchecked() {
    let of = |steps| ChainDraft { steps, budget: None };
    let too_many = of((0..120_000).map(|number| step(&number.to_string())).collect());
    assert_eq!(
        check_size(&too_many).unwrap_err().to_string(),
        "a chain can have at most 50 steps; split it into two chains"
    );
    assert_eq!(handles(&too_many).len(), 120_000, "each agent is looked up, not searched for");
    let mut steps = vec![step(""); STEPS_MAX];
    assert_eq!(check_size(&of(steps.clone())), Ok(()));
    steps[1].instruction = format!("{}\n", "x".repeat(INSTRUCTION_MAX_BYTES));
    assert_eq!(check_size(&of(steps.clone())), Ok(()));
    steps[1].instruction.insert(0, 'x');
    assert!(check_size(&of(steps)).unwrap_err().to_string().starts_with("step 2: the instruction can have"));
}
