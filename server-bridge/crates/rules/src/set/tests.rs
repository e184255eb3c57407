use super::*;
use crate::call::{PathAccess, Place, Subject};
use crate::document::Document;
use crate::rule::Rule;

const PLACE: Place<'_> = Place { cwd: "/work/src", root: Some("/work"), home: Some("/home/ann") };

fn set(layers: &[(Origin, &str)]) -> RuleSet {
    RuleSet::new(layers.iter().map(|(origin, json)| {
        let document = Document::parse(json, *origin, &[]).unwrap();
        assert!(document.problems.iter().all(|problem| !problem.kind.is_error()), "{:?}", document.problems);
        Layer { origin: *origin, rules: document.rules }
    }))
}

fn user(json: &str) -> RuleSet {
    set(&[(Origin::User, json)])
}

fn verdict(set: &RuleSet, tool: &str, subjects: &[Subject<'_>]) -> Option<Effect> {
    set.decide(&Call { tool, subjects, place: PLACE }).verdict
}

fn shell(line: &str) -> Subject<'_> {
    Subject::Shell { line }
}

fn write(path: &str) -> Subject<'_> {
    Subject::Path { path, access: PathAccess::Write }
}

fn read(path: &str) -> Subject<'_> {
    Subject::Path { path, access: PathAccess::Read }
}

const DENY: Option<Effect> = Some(Effect::Deny);
const ASK: Option<Effect> = Some(Effect::Ask);
const ALLOW: Option<Effect> = Some(Effect::Allow);

#[test]
fn deny_goes_over_ask_over_allow_in_all_layers() {
    let rules = set(&[
        (Origin::Workspace, r#"{"deny": ["Bash(make deploy)"], "ask": ["Bash(make *)"]}"#),
        (Origin::Chat, r#"{"allow": ["Bash(make test)"]}"#),
        (Origin::User, r#"{"allow": ["Bash(make *)", "Bash(git *)"]}"#),
        (
            Origin::Managed,
            r#"{"allow": ["Bash(make deploy)"], "deny": [{"rule": "Bash(git push *)", "justification": "pushing is CI's."}]}"#,
        ),
    ]);
    assert_eq!(verdict(&rules, "Shell", &[shell("make deploy")]), DENY);
    assert_eq!(verdict(&rules, "Shell", &[shell("make test")]), ASK);
    assert_eq!(verdict(&rules, "Bash", &[shell("git status")]), ALLOW);
    let call = Call { tool: "Shell", subjects: &[shell("git status && git push origin")], place: PLACE };
    let decision = rules.decide(&call);
    assert_eq!(decision.rules[0].origin, Origin::Managed);
    assert_eq!(decision.rules[0].rule.id, "deny[0]");
    assert_eq!(
        decision.reason,
        "`git push origin` is denied by the administrator's rule `Bash(git push *)`: pushing is CI's."
    );
}

#[test]
fn rules_of_a_workspace_that_allow_are_left_out() {
    let rule = Rule::parse("Bash").unwrap();
    let loaded = LoadedRule { id: "1".to_owned(), effect: Effect::Allow, rule, justification: None };
    let rules = RuleSet::new([Layer { origin: Origin::Workspace, rules: vec![loaded] }]);
    assert!(rules.is_empty());
    assert_eq!(verdict(&rules, "Shell", &[shell("make")]), None);
}

#[test]
fn names_of_peers_and_ours_are_the_same_tools() {
    for rule in ["Edit", "FileReplace", "MultiEdit"] {
        let rules = user(&format!(r#"{{"deny": ["{rule}"]}}"#));
        for tool in ["FileCreate", "FileReplace", "Write", "Edit", "DownloadFile"] {
            assert_eq!(verdict(&rules, tool, &[write("x")]), DENY, "{rule} {tool}");
        }
        assert_eq!(verdict(&rules, "Shell", &[shell("make > x")]), DENY, "{rule}");
    }
    let rules = user(r#"{"deny": ["Write(*.rs)", "Task(scout)", "WebFetch"]}"#);
    assert_eq!(verdict(&rules, "FileCreate", &[write("a.rs")]), DENY);
    assert_eq!(verdict(&rules, "FileReplace", &[write("a.rs")]), None);
    assert_eq!(verdict(&rules, "SubAgent", &[Subject::Named { name: "scout" }]), DENY);
    assert_eq!(verdict(&rules, "SubAgent", &[Subject::Named { name: "cook" }]), None);
    assert_eq!(verdict(&rules, "Fetch", &[Subject::Domain { host: "a.b" }]), DENY);
    assert_eq!(verdict(&rules, "weather", &[]), None);
    assert_eq!(verdict(&user(r#"{"deny": ["weather"]}"#), "weather", &[]), DENY);
    assert_eq!(verdict(&user(r#"{"ask": ["*"]}"#), "weather", &[]), ASK);
}

#[test]
fn paths_begin_where_their_pattern_says() {
    let cases = [
        ("//etc/**", "/etc/passwd", true),
        ("//etc/**", "/work/etc/passwd", false),
        ("/docs/**", "/work/docs/a/b", true),
        ("/docs/**", "/docs/a", false),
        ("/docs", "/work/docs/a", true),
        ("/docs/", "/work/docs", false),
        ("/docs/", "/work/docs/a", true),
        ("/docs/*.md", "/work/docs/a.md", true),
        ("/docs/*.md", "/work/docs/a/b.md", false),
        ("/docs/**/*.md", "/work/docs/b.md", true),
        ("/docs/**/*.md", "/work/docs/a/b/c.md", true),
        ("~/.ssh/**", "/home/ann/.ssh/id", true),
        ("~/.ssh/**", "~/.ssh/id", true),
        ("~/.ssh/**", "/root/.ssh/id", false),
        (".env", "a/b/.env", true),
        (".env", "/tmp/.env", true),
        (".env", ".environment", false),
        ("*.pem", "../x.pem", true),
        ("node_modules", "a/node_modules/b/c.js", true),
        ("lib/*.rs", "lib/a.rs", true),
        ("lib/*.rs", "/work/src/lib/a.rs", true),
        ("./a?.[rt]s", "ab.rs", true),
        ("./a?.[!rt]s", "ab.rs", false),
        ("/src", "../src/../src/x", true),
        ("/src", "../srcs/x", false),
        ("**", "/anything", true),
    ];
    for (pattern, path, is_match) in cases {
        let rules = user(&format!(r#"{{"deny": ["Edit({pattern})"]}}"#));
        let expected = is_match.then_some(Effect::Deny);
        assert_eq!(verdict(&rules, "FileReplace", &[write(path)]), expected, "{pattern} {path}");
    }
}

#[test]
fn an_allow_rule_for_relative_paths_stays_in_the_workspace() {
    let rules = user(r#"{"allow": ["Edit(*.md)", "Edit(lib/**)", "Read"]}"#);
    assert_eq!(verdict(&rules, "FileCreate", &[write("a.md")]), ALLOW);
    assert_eq!(verdict(&rules, "FileCreate", &[write("/tmp/a.md")]), None);
    assert_eq!(verdict(&rules, "FileCreate", &[write("lib/x")]), ALLOW);
    assert_eq!(verdict(&rules, "FileCreate", &[write("../lib/x")]), None);
    let place = Place { cwd: "/", ..PLACE };
    let call = Call { tool: "FileCreate", subjects: &[write("lib/x")], place };
    assert_eq!(rules.decide(&call).verdict, None, "the current directory left the workspace");
    assert_eq!(verdict(&rules, "Grep", &[read("x")]), ALLOW);
    assert_eq!(verdict(&rules, "DownloadFile", &[Subject::Domain { host: "a.b" }, write("a.md")]), None);
}

#[test]
fn all_that_a_download_acts_on_is_judged() {
    let both = [Subject::Domain { host: "Example.COM." }, write("/work/in/a")];
    let rules = user(r#"{"allow": ["DownloadFile(domain:example.com)"]}"#);
    assert_eq!(verdict(&rules, "DownloadFile", &both), None);
    let rules = user(r#"{"allow": ["DownloadFile(domain:example.com)", "DownloadFile(/in/**)"]}"#);
    assert_eq!(verdict(&rules, "DownloadFile", &both), ALLOW);
    let rules = user(r#"{"allow": ["DownloadFile"], "deny": ["WebFetch(domain:example.com)"]}"#);
    assert_eq!(verdict(&rules, "DownloadFile", &both), DENY);
}

#[test]
fn domains_match_as_they_are_written() {
    let rules = user(r#"{"deny": ["WebFetch(domain:Example.com)", "WebFetch(domain:*.test.org)"]}"#);
    let six = user(r#"{"deny": ["WebFetch(domain:[2606:4700::1111])"]}"#);
    for host in ["2606:4700::1111", "[2606:4700:0::1111]"] {
        assert_eq!(verdict(&six, "Fetch", &[Subject::Domain { host }]), DENY, "{host}");
    }
    let cases = [
        ("example.com", DENY),
        ("EXAMPLE.com.", DENY),
        ("www.example.com", None),
        ("badexample.com", None),
        ("a.test.org", DENY),
        ("a.b.test.org", DENY),
        ("test.org", None),
        ("atest.org", None),
    ];
    for (host, expected) in cases {
        assert_eq!(verdict(&rules, "Fetch", &[Subject::Domain { host }]), expected, "{host}");
    }
}

#[test]
fn http_tools_are_named_together_by_name_or_by_host() {
    let subjects = [Subject::Named { name: "weather" }, Subject::Domain { host: "api.example.com" }];
    for (rule, expected) in [
        ("Http", true),
        ("Http(weather)", true),
        ("Http(wea*)", true),
        ("Http(news)", false),
        ("http__weather", true),
        ("http__*", true),
        ("http__wea*", true),
        ("http__weather2", false),
        ("http__news", false),
    ] {
        for (effect, verdict_of) in [("deny", DENY), ("allow", ALLOW)] {
            let rules = user(&format!("{{\"{effect}\": [\"{rule}\"]}}"));
            let expected = if expected { verdict_of } else { None };
            assert_eq!(verdict(&rules, "http__weather", &subjects), expected, "{effect} {rule}");
            assert_eq!(
                verdict(&rules, "http__weather", &[]),
                expected,
                "{effect} {rule}: the name identifies the tool"
            );
        }
    }
    // A tool cannot use a host from which no page may be fetched, and a host from which pages may be fetched allows no tool.
    assert_eq!(
        verdict(
            &user(r#"{"deny": ["Fetch(domain:example.com)", "Fetch(domain:*.example.com)"]}"#),
            "http__weather",
            &subjects
        ),
        DENY
    );
    assert_eq!(
        verdict(&user(r#"{"allow": ["Fetch(domain:*.example.com)", "Fetch"]}"#), "http__weather", &subjects),
        None
    );
    assert!(Rule::parse("http__").is_err() && Rule::parse("http__weather(x)").is_err());
}

#[test]
fn mcp_rules_match_servers_and_tools() {
    let mcp = |server, tool| [Subject::Mcp { server, tool }];
    let cases = [
        ("mcp__git", "git", "push", true),
        ("mcp__git__*", "git", "push", true),
        ("mcp__git__push", "git", "push", true),
        ("mcp__git__push", "git", "pull", false),
        ("mcp__git__pu*", "git", "pull", true),
        ("mcp__git", "github", "push", false),
        ("mcp__*", "git", "push", true),
        ("mcp_git_push", "git", "push", true),
        ("mcp_git", "git", "push", true),
        ("mcp_git", "github", "push", false),
        ("mcp_a_b_c", "a", "b_c", true),
        ("mcp_a_b_c", "a_b", "c", true),
        ("mcp__a__b__c", "a__b", "c", true),
        ("mcp__a__b__c", "a", "b__c", true),
    ];
    for (rule, server, tool, is_match) in cases {
        let rules = user(&format!(r#"{{"deny": ["{rule}"]}}"#));
        let expected = is_match.then_some(Effect::Deny);
        assert_eq!(verdict(&rules, "mcp__x", &mcp(server, tool)), expected, "{rule} {server} {tool}");
    }
    let rules = user(r#"{"allow": ["mcp__a__b__c", "mcp_git_push"]}"#);
    assert_eq!(verdict(&rules, "mcp__a__b__c", &mcp("a__b", "c")), None);
    assert_eq!(verdict(&rules, "mcp__a__b__c", &mcp("a", "b__c")), ALLOW);
    assert_eq!(verdict(&rules, "mcp__git__push", &mcp("git", "push")), ALLOW);
    assert_eq!(verdict(&rules, "mcp__git__push", &[]), ALLOW, "the name identifies the tool");
}

#[test]
fn without_rules_for_lines_nothing_is_asked() {
    assert_eq!(verdict(&user(r#"{"deny": ["WebFetch"]}"#), "Shell", &[shell("$X \"")]), None);
    assert_eq!(verdict(&user(r#"{"deny": ["Edit(.env)"]}"#), "Shell", &[shell("$X \"")]), ASK);
    assert_eq!(verdict(&RuleSet::default(), "Shell", &[shell("rm x")]), None);
    assert_eq!(verdict(&user(r#"{"allow": ["Bash(make)"]}"#), "Shell", &[shell("")]), None);
}
