use std::process::Command;

use proptest::prelude::*;

use super::*;

fn expand(text: &str, typed: &str) -> Vec<Part> {
    let variables = Variables { root: "/plugin".to_owned(), data: "/data".to_owned() };
    Template::parse(text, &[]).expand(typed, &variables, "/plugin/skills/a").unwrap().parts
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

#[test]
fn arguments_stand_where_the_text_has_them() {
    assert_eq!(expand("Fix $ARGUMENTS now", " 12  high "), [text("Fix 12  high now")]);
    assert_eq!(expand("Fix $1 as $2, $3.", "12 'very high'"), [text("Fix 12 as very high, .")]);
    // A text that contains `$0` counts from 0, as newer texts do.
    assert_eq!(expand("Fix $0 as $1", "12 high"), [text("Fix 12 as high")]);
    assert_eq!(expand("Fix $ARGUMENTS[0] as $ARGUMENTS[1]", "12 high"), [text("Fix 12 as high")]);
    assert_eq!(
        expand("For $100, $5.50 or $1k; \\$1 and $HOME", "x"),
        [text("For $100, $5.50 or $1k; $1 and $HOME"), text("\n\nARGUMENTS: x"),]
    );
    assert_eq!(expand("Review.", ""), [text("Review.")]);
    assert_eq!(
        expand("${CLAUDE_PLUGIN_ROOT}/x ${CLAUDE_SKILL_DIR} ${HOME}", ""),
        [text("/plugin/x /plugin/skills/a ${HOME}")]
    );
    let named = Template::parse("Move $from to $to", &["from".to_owned(), "to".to_owned()]);
    assert_eq!(named.expand("a b", &Variables::default(), "").unwrap().parts, [text("Move a to b")]);
}

#[test]
fn lines_of_shell_and_files_are_parts_for_the_caller() {
    let parts = expand(
        "Status: !`git status`, see @src/main.rs and (@docs/$1).\n```!\nls -l\ndate\n```\nEnd",
        "a.md",
    );
    assert_eq!(
        parts,
        [
            text("Status: "),
            Part::Shell("git status".to_owned()),
            text(", see "),
            Part::File("src/main.rs".to_owned()),
            text(" and ("),
            Part::File("docs/a.md".to_owned()),
            text(").\n"),
            Part::Shell("ls -l\ndate".to_owned()),
            text("\nEnd"),
        ]
    );
}

#[test]
fn code_names_and_addresses_are_text() {
    for plain in [
        "Ask @someone or a@b.com; `@x/y.rs` and `!`; wow!`x`",
        "```sh\n!`rm -rf x` @a/b\n```\nend",
        "~~~\n!`x`\n~~~",
        "!`` and !` and ``` inline ```",
        "```!\n\n```\n",
        "```\nnever closed !`x`",
    ] {
        assert_eq!(expand(plain, ""), [text(plain)], "{plain}");
    }
}

#[test]
fn an_argument_never_becomes_a_line_of_shell_or_a_file() {
    let parts = expand("Look at $ARGUMENTS", "!`rm -rf ~` @/etc/passwd $1 ${CLAUDE_PLUGIN_ROOT}");
    assert_eq!(parts, [text("Look at !`rm -rf ~` @/etc/passwd $1 ${CLAUDE_PLUGIN_ROOT}")]);
}

#[test]
fn an_argument_in_a_line_of_shell_stays_one_word() {
    let shell = |line: &str, typed: &str| match &expand(&format!("!`{line}`"), typed)[0] {
        Part::Shell(line) => line.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(shell("gh pr view $1", "12"), "gh pr view 12");
    assert_eq!(shell("echo $1", "'; rm -rf ~'"), "echo '; rm -rf ~'");
    assert_eq!(shell("echo \"$1\"", "'$(rm x)\"'"), r#"echo "\$(rm x)\"""#);
    assert_eq!(shell("echo 'a $1'", r#""it's""#), r"echo 'a it'\''s'");
    assert_eq!(shell("git add $ARGUMENTS", "a 'b c' d"), "git add a 'b c' d");
    assert_eq!(
        shell("\"${CLAUDE_PLUGIN_ROOT}/x.sh\" ${HOME} $ARGUMENTS", "a 'b;c'"),
        "\"/plugin/x.sh\" ${HOME} a 'b;c'"
    );
    // If quotes have another meaning, only plain arguments are accepted.
    for line in [
        "echo $(basename '$1')",
        "echo $'it\\'s $1'",
        "# don't\necho $1",
        "true;# don't\necho $1",
        "cat <<END\n$1\nEND",
        "sh -c \"echo $1\"",
        "eval \"$1\"",
        "awk '/$1/'",
        "echo ${X:-$1}",
    ] {
        let template = Template::parse(&format!("```!\n{line}\n```\n"), &[]);
        assert_eq!(template.lines_of_shell().count(), 1, "{line}");
        assert!(template.expand("a.md", &Variables::default(), "").is_ok(), "{line}");
        let refused = template.expand("\"'; rm -rf ~; '\"", &Variables::default(), "");
        assert!(matches!(refused, Err(ExpansionError::Unsafe { .. })), "{line}: {refused:?}");
    }
}

#[test]
fn what_exceeds_a_limit_is_refused() {
    let expand =
        |text: &str, typed: &str| Template::parse(text, &[]).expand(typed, &Variables::default(), "");
    assert_eq!(expand("x", &"a".repeat(ARGUMENTS_BYTES + 1)), Err(ExpansionError::Arguments));
    assert_eq!(expand(&"$ARGUMENTS ".repeat(100), &"a".repeat(ARGUMENTS_BYTES)), Err(ExpansionError::Prompt));
    assert_eq!(expand(&"!`x`\n".repeat(PROMPT_PARTS + 1), ""), Err(ExpansionError::Parts));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Runs a real shell: its output must be the argument that was typed.
    #[test]
    fn a_shell_passes_on_what_was_typed(word in "[ a'\"$`\\\\;&|<>()*~!#\n-]{1,12}", place in 0usize..4) {
        let line = ["printf %s $1", "printf %s \"$1\"", "printf %s '$1'", "printf '%s' a\"$1\"'' | cat"][place];
        // A single word for the parser of arguments.
        let typed = format!("'{}'", word.replace('\'', "'\"'\"'"));
        let parts = Template::parse(&format!("!`{line}`"), &[]).expand(&typed, &Variables::default(), "").unwrap().parts;
        let Part::Shell(line) = &parts[0] else { panic!("{parts:?}") };
        let output = Command::new("sh").args(["-c", line]).env_clear().env("PATH", "/usr/bin:/bin").output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        if place == 3 {
            prop_assert_eq!(output, format!("a{word}"));
        } else {
            prop_assert_eq!(output, word);
        }
    }

    #[test]
    fn any_text_is_taken_apart(body in "(?s)[!`@$~a-c./()0-9\n {}\\[\\]\\\\A-Z]{0,60}", typed in ".{0,20}") {
        let _ = Template::parse(&body, &["a".to_owned()]).expand(&typed, &Variables::default(), "/d");
    }
}
