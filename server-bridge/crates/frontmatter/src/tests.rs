use super::*;
use proptest::prelude::*;

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

#[test]
fn a_head_is_read_in_the_forms_that_people_write() {
    let text = Text::read(
        "---\r\nname: review\ndescription: >\n  Looks at a change\n  with care: always\n\
         tools: [Read, \"Grep\"]\nmodel: 'swift'\n# a remark\n---\n\nBe kind.\n",
    );
    assert_eq!(text.line("name"), "review");
    assert_eq!(text.line("description"), "Looks at a change with care: always");
    assert_eq!(text.list("tools").unwrap(), ["Read", "Grep"]);
    assert_eq!((text.line("model").as_str(), text.body), ("swift", "Be kind."));
    assert_eq!(Text::read("---\ntools:\n  - Read\n- Grep\n---\n").list("tools").unwrap(), ["Read", "Grep"]);
    assert_eq!(Text::read("---\ntools: Read, Grep\n---").list("tools").unwrap(), ["Read", "Grep"]);
    let below = Text::read("---\ntools:\n  [\n    \"Read\",\n    Grep,\n  ]\nafter: x\n---\n");
    assert_eq!(
        (below.list("tools").unwrap(), below.line("after")),
        (vec!["Read".to_owned(), "Grep".to_owned()], "x".to_owned())
    );
    assert_eq!(text.list("none"), None);
}

#[test]
fn what_has_no_head_or_a_broken_one_is_read_all_the_same() {
    assert_eq!(Text::read("plain\n---\n"), Text { body: "plain\n---", is_closed: true, ..Text::default() });
    let cut = Text::read("---\nname: x\ndescr");
    assert_eq!((cut.line("name").as_str(), cut.body, cut.is_closed), ("x", "", false));
    assert_eq!(Text::read("---\n\u{0}:::\n- \n ---\n---\nb").body, "b");
    assert_eq!(Text::read("").body, "");
}

#[test]
fn values_have_the_structure_that_was_written() {
    let text = Text::read(
        "---\nmetadata:\n  nanobot: {\"always\": true, requires: {bins: [git, 'gh']}}\n  tags: [a]\n\
         hooks:\n  PreToolUse:\n    - matcher: \"Bash\"\n      hooks:\n        - type: command\n          command: ./x.sh # why\n\
         quoted: \"two\\nlines \\u00e9\"\nsingle: 'it''s'\n---\n",
    );
    let metadata = text.head.get("metadata").unwrap().map().unwrap();
    let nanobot = metadata.get("nanobot").unwrap().map().unwrap();
    assert_eq!(nanobot.get("always").unwrap().truth(), Some(true));
    let requires = nanobot.get("requires").unwrap().map().unwrap();
    assert_eq!(requires.get("bins").unwrap().list(), ["git", "gh"]);
    assert_eq!(metadata.get("tags").unwrap(), &Value::List(vec![super::tests::text("a")]));
    let hooks = text.head.get("hooks").unwrap().map().unwrap();
    let Value::List(groups) = hooks.get("PreToolUse").unwrap() else { panic!("{hooks:?}") };
    let group = groups[0].map().unwrap();
    assert_eq!(group.get("matcher").unwrap().text(), Some("Bash"));
    let Value::List(handlers) = group.get("hooks").unwrap() else { panic!("{group:?}") };
    let handler = handlers[0].map().unwrap();
    assert_eq!(handler.get("command").unwrap().text(), Some("./x.sh"));
    assert_eq!(text.head.get("quoted").unwrap().text(), Some("two\nlines é"));
    assert_eq!(text.line("single"), "it's");
}

#[test]
fn prose_with_colons_quotes_and_examples_is_text() {
    let text = Text::read(
        "---\ndescription: Use this when: the user says \"go\". Examples:\\n<example>x: y</example>\nother: \"quoted\" and more\n\
         long: first line\n  second: line\n  [third]\nkept: |\n  a\n    b\n\n  c: d\n---\n",
    );
    let description = text.head.get("description").unwrap().text().unwrap();
    assert!(description.starts_with("Use this when: the user says \"go\"."), "{description}");
    assert_eq!(text.line("other"), "\"quoted\" and more");
    assert_eq!(text.line("long"), "first line second: line [third]");
    assert_eq!(text.head.get("kept").unwrap().text(), Some("a\n  b\n\nc: d"));
}

#[test]
fn items_are_not_split_within_parentheses() {
    let text = Text::read("---\nallowed-tools: Bash(git add:*, git rm:*), Read Bash(gh pr view *)\n---\n");
    let tools = text.head.get("allowed-tools").unwrap();
    assert_eq!(tools.list(), ["Bash(git add:*, git rm:*)", "Read Bash(gh pr view *)"]);
    assert_eq!(tools.words(), ["Bash(git add:*, git rm:*)", "Read", "Bash(gh pr view *)"]);
    assert_eq!(text.head.get("none"), None);
}

#[test]
fn deep_nesting_is_text() {
    let deep = format!("---\na: {}\n---\n", "[".repeat(100_000));
    assert_eq!(Text::read(&deep).head.get("a"), Some(&text(&"[".repeat(100_000))));
    let lines: String = (0..500).map(|depth| format!("{}k:\n", " ".repeat(depth))).collect();
    assert!(Text::read(&format!("---\n{lines}---\nbody")).head.get("k").is_some());
}

proptest! {
    #[test]
    fn any_text_is_read(head in "(?s)[-:a\\[\\]{}'\"|>#, \n\u{a0}\u{e9}\\\\]{0,80}", body in ".*") {
        let written = format!("---\n{head}\n---\n{body}");
        let read = Text::read(&written);
        prop_assert!(read.is_closed);
        for key in read.head.keys() {
            let _ = (read.line(key), read.list(key));
        }
    }
}
