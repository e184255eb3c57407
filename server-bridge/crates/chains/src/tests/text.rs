use api::chain::{ChainBudget, ChainDraft, ChainStep};
use proptest::prelude::*;

use super::step;
use crate::check;
use crate::limits::{
    HANDLE_MAX_CHARS, INSTRUCTION_MAX_BYTES, OUTPUTS_MAX, RETRIES_MAX, STEPS_MAX, TEXT_MAX_BYTES,
};
use crate::text::{read, write};

const EXAMPLE: &str = "\
# A story in two languages
1. @writer: Write a story about the request. [outputs story.md, my notes/, logs/**/*.txt]
2. @editor: Shorten it to 500 words.
   Keep the ending. [gate] [retries 2] [limit 10m]

3) @小说家：翻译成中文，保留 [原文] 的语气
Budget: 200000 tokens, $2.50, 1h
";

fn example() -> ChainDraft {
    ChainDraft {
        steps: vec![
            ChainStep {
                instruction: "Write a story about the request.".to_owned(),
                outputs: ["story.md", "my notes/", "logs/**/*.txt"].map(str::to_owned).to_vec(),
                ..step("writer")
            },
            ChainStep {
                instruction: "Shorten it to 500 words.\nKeep the ending.".to_owned(),
                gate: true,
                retries: 2,
                limit_seconds: Some(600),
                ..step("editor")
            },
            ChainStep {
                instruction: "翻译成中文，保留 [原文] 的语气".to_owned(), ..step("小说家")
            },
        ],
        budget: Some(ChainBudget {
            tokens: Some(200_000),
            cost_micro_usd: Some(2_500_000),
            seconds: Some(3600),
        }),
    }
}

#[test]
fn a_list_is_a_chain_and_a_chain_is_a_list() {
    let chain = read(EXAMPLE).unwrap();
    assert_eq!(chain, example());
    check(&chain).unwrap();
    let text = write(&chain);
    assert_eq!(read(&text).unwrap(), chain, "{text}");
    assert!(text.contains(
        "2. @editor: Shorten it to 500 words.\n   Keep the ending. [gate] [retries 2] [limit 10m]\n"
    ));
    assert!(text.ends_with("budget: 200000 tokens, $2.5, 1h\n"), "{text}");
}

#[test]
fn a_bracket_of_the_instruction_stays_one() {
    for instruction in [
        "Explain [gate]",
        "Explain [outputs a, b]",
        "Explain [limit 3m] [retries 1]",
        "a []",
        "a [] [gate]",
        "see [1]",
        "]",
        "a[]]",
    ] {
        let chain = ChainDraft {
            steps: vec![ChainStep { instruction: instruction.to_owned(), ..step("a") }],
            budget: None,
        };
        let text = write(&chain);
        assert_eq!(read(&text).unwrap(), chain, "{text}");
    }
}

#[test]
fn a_line_that_is_no_step_is_named() {
    let told = |text: &str| read(text).unwrap_err().to_string();
    assert!(told("write a story").starts_with("line 1: begin each step with its number and its agent"));
    assert!(told("1. writer: x").starts_with("line 1: begin each step"));
    assert!(told("1. @: x").starts_with("line 1: "));
    assert!(told("1. @a: x [retries many]").starts_with("step 1: `[retries many]` needs a number"));
    assert!(told("1. @a: x [limit soon]").starts_with("step 1: `[limit soon]` needs a time"));
    assert!(told("1. @a: x\nbudget: much").starts_with("line 2: write the budget as"));
    assert!(
        told("1. @a: x\nbudget: $1\nbudget: $1")
            .starts_with("line 3: the budget is given twice; keep one of the lines")
    );
    assert!(told("budget: $1.0000001").starts_with("line 1: "));
    assert!(told("budget: $99999999999999999999").starts_with("line 1: "));
    assert!(told("1. @a: x [limit 99999999999999999999d]").contains("needs a time"));
    assert!(told(&"x".repeat(TEXT_MAX_BYTES + 1)).contains("the text of a chain"));
}

#[test]
fn a_definition_out_of_bounds_is_refused_with_its_step() {
    let told = |step: ChainStep| {
        let good = self::step("a");
        check(&ChainDraft { steps: vec![good, step], budget: None }).unwrap_err().to_string()
    };
    let good = || step("b");
    assert!(told(ChainStep { agent: String::new(), ..good() }).starts_with("step 2: name its agent"));
    assert!(told(ChainStep { agent: "b c".to_owned(), ..good() }).starts_with("step 2: name its agent"));
    assert!(
        told(ChainStep { agent: "好".repeat(HANDLE_MAX_CHARS + 1), ..good() }).contains("name its agent")
    );
    let longest = ChainStep { agent: "好".repeat(HANDLE_MAX_CHARS), ..good() };
    check(&ChainDraft { steps: vec![longest], budget: None }).unwrap();
    assert!(told(ChainStep { instruction: " \n".to_owned(), ..good() }).contains("write what @b is to do"));
    assert!(
        told(ChainStep { instruction: "x".repeat(INSTRUCTION_MAX_BYTES + 1), ..good() })
            .contains("into a file")
    );
    assert!(told(ChainStep { retries: RETRIES_MAX + 1, ..good() }).contains("retries"));
    assert!(told(ChainStep { limit_seconds: Some(9), ..good() }).contains("from 10s to 24h"));
    let of = |outputs: Vec<String>| ChainStep { outputs, ..good() };
    let last = told(of(vec!["a".to_owned(), "b/".to_owned()]));
    assert!(last.starts_with("step 2: no later step receives `a, b/`"), "{last}");
    let told_of = |outputs: Vec<String>| {
        let steps = vec![of(outputs), good()];
        check(&ChainDraft { steps, budget: None }).map_err(|refused| refused.to_string())
    };
    assert!(told_of(vec!["x".to_owned(); OUTPUTS_MAX + 1]).unwrap_err().contains("at most 20 outputs"));
    for path in [
        "",
        " ",
        "/",
        "/etc/passwd",
        "~/x",
        "..",
        "a/../../b",
        "../a",
        "a//b",
        "./a",
        "a/.",
        ".",
        "a,b",
        "a\nb",
        "a\0",
        " a",
        "a\\..\\b",
        "a]",
        "{a}",
        "a/b//",
    ] {
        assert!(told_of(vec![path.to_owned()]).unwrap_err().contains("cannot be an output"), "{path:?}");
    }
    for path in ["a", "a/", "a/b.c", "*", "**/*.md", "...", ".hidden/", "文件.txt", "a b", "out?"] {
        assert_eq!(told_of(vec![path.to_owned()]), Ok(()), "{path:?}");
    }
    let steps = vec![good(); STEPS_MAX + 1];
    assert!(check(&ChainDraft { steps, budget: None }).unwrap_err().to_string().contains("at most 50 steps"));
    assert!(check(&ChainDraft::default()).unwrap_err().to_string().contains("at least one step"));
    for budget in [
        ChainBudget { tokens: Some(0), ..ChainBudget::default() },
        ChainBudget { cost_micro_usd: Some(-1), ..ChainBudget::default() },
        ChainBudget { seconds: Some(1), ..ChainBudget::default() },
    ] {
        assert!(check(&ChainDraft { steps: vec![good()], budget: Some(budget) }).is_err());
    }
}

fn any_step() -> impl Strategy<Value = ChainStep> {
    let words = "[a-z\\[\\]@:.0-9 中\n-]{0,40}[a-z\\]]";
    let limit = proptest::option::of(10_u64..86_400);
    let outputs = proptest::collection::vec("[a-z*?.]{1,6}(/[a-z 中]{1,6}[a-z])?/?", 0..3);
    ("[a-z小][a-z0-9_-]{0,8}", words, any::<bool>(), 0..=RETRIES_MAX, limit, outputs).prop_map(
        |(agent, instruction, gate, retries, limit_seconds, outputs)| {
            // Each line is trimmed here, because reading a chain's text trims it.
            let lines: Vec<_> = instruction.lines().map(str::trim).collect();
            let instruction = lines.join("\n").trim().to_owned();
            ChainStep { agent, instruction, gate, retries, limit_seconds, outputs }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(steps in proptest::collection::vec(any_step(), 1..5), tokens in proptest::option::of(1_i64..1_000_000)) {
        let budget = tokens.map(|tokens| ChainBudget { tokens: Some(tokens), ..ChainBudget::default() });
        // Reading removes a colon at the beginning of an instruction, like the colon after the handle.
        prop_assume!(steps.iter().all(|step| !step.instruction.starts_with(':') && !step.instruction.is_empty()));
        let chain = ChainDraft { steps, budget };
        let text = write(&chain);
        prop_assert_eq!(read(&text).unwrap(), chain, "{}", text);
    }

    #[test]
    fn no_text_makes_it_fail(text in "[ \\na-z@:.0-9\\[\\]$budget中]{0,200}") {
        if let Ok(chain) = read(&text) {
            let _ = check(&chain);
            let _ = write(&chain);
        }
    }
}
