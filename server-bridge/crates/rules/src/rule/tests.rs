use super::*;

fn error(text: &str) -> RuleError {
    Rule::parse(text).unwrap_err()
}

#[test]
fn rules_that_can_never_match_are_refused() {
    assert_eq!(error("  "), RuleError::Empty);
    assert_eq!(error("Bash()"), RuleError::EmptySpecifier("Bash".to_owned()));
    assert_eq!(error("Bash( )"), RuleError::EmptySpecifier("Bash".to_owned()));
    assert_eq!(error("Bash(npm run"), RuleError::Parentheses);
    assert_eq!(error("Bash(npm run) x"), RuleError::Parentheses);
    assert_eq!(error("Ba sh"), RuleError::ToolName("Ba sh".to_owned()));
    assert_eq!(error("Bash(curl * | sh)"), RuleError::SeveralCommands('|'));
    assert_eq!(error("Bash(a && b)"), RuleError::SeveralCommands('&'));
    assert_eq!(error("Bash(a; b)"), RuleError::SeveralCommands(';'));
    assert_eq!(error("Bash(echo * > out)"), RuleError::Redirection('>'));
    assert_eq!(error("Bash(if *)"), RuleError::ReservedWord("if".to_owned()));
    assert_eq!(error("Bash(time make)"), RuleError::ReservedWord("time".to_owned()));
    assert_eq!(error("Bash(X=1 make)"), RuleError::Assignment("X=1".to_owned()));
    assert_eq!(error("Bash(echo don't)"), RuleError::Quote);
    assert_eq!(error("Edit(/src/[a)"), RuleError::Path(WildError::Bracket));
    assert_eq!(error("Edit(../x)"), RuleError::Path(WildError::Parent));
    assert_eq!(error("Edit(!x)"), RuleError::Negated);
    assert_eq!(error("WebFetch(example.com)"), RuleError::Domain("example.com".to_owned()));
    assert_eq!(error("WebFetch(domain:a b)"), RuleError::Domain("domain:a b".to_owned()));
    assert_eq!(error("WebFetch(domain:bücher.de)"), RuleError::Domain("domain:bücher.de".to_owned()));
    assert_eq!(error("WebSearch(x)"), RuleError::NoSpecifier("WebSearch".to_owned()));
    assert_eq!(error("mcp__github(x)"), RuleError::NoSpecifier("mcp__github".to_owned()));
    assert_eq!(error("mcp__"), RuleError::NoServer);
    assert_eq!(error("Bash(r\u{200b}m)"), RuleError::Unseen('\u{200b}'));
    assert_eq!(error(&"x".repeat(5_000)), RuleError::TooLong);
    assert!(Rule::parse("Bash(find . -exec rm {} \\;)").is_ok());
}

#[test]
fn allow_rules_name_one_server() {
    let refusal = |text: &str| Rule::parse(text).unwrap().refusal(Effect::Allow);
    assert_eq!(refusal("mcp__*"), Some(RuleError::AnyServer));
    assert_eq!(refusal("mcp__git*__x"), Some(RuleError::AnyServer));
    assert_eq!(refusal("mcp_git_hub_x"), Some(RuleError::AmbiguousServer("mcp_git_hub_x".to_owned())));
    assert_eq!(refusal("mcp_git"), Some(RuleError::AmbiguousServer("mcp_git".to_owned())));
    assert_eq!(refusal("mcp_git_push"), None);
    assert_eq!(refusal("mcp__git"), None);
    assert_eq!(Rule::parse("mcp__*").unwrap().refusal(Effect::Deny), None);
}

#[test]
fn warnings_say_what_is_probably_meant() {
    let warnings =
        |text: &str, origin| Rule::parse(text).unwrap().warnings(Effect::Allow, origin, &["weather"]);
    let unknown = |name: &str, nearest| vec![Warning::UnknownTool { name: name.to_owned(), nearest }];
    assert_eq!(warnings("bash", Origin::User), unknown("bash", Some("Bash")));
    assert_eq!(warnings("WebFecth", Origin::User), unknown("WebFecth", Some("WebFetch")));
    assert_eq!(warnings("Whatever", Origin::User), unknown("Whatever", None));
    assert_eq!(warnings("weather", Origin::User), []);
    assert_eq!(warnings("Bash(npm i *)", Origin::Workspace), [Warning::WorkspaceAllows]);
    assert_eq!(warnings("Bash(python3 *)", Origin::User), [Warning::AllowsOptions("python3".to_owned())]);
    assert_eq!(warnings("Bash(git log *)", Origin::User), []);
    let denies = |text: &str| Rule::parse(text).unwrap().warnings(Effect::Deny, Origin::User, &[]);
    for name in ["/usr/bin/touch", "tou?h", "[t]ouch"] {
        assert_eq!(denies(&format!("Bash({name} *)")), [Warning::LiteralName(name.to_owned())]);
    }
    assert_eq!(denies("Bash([ -f *)"), []);
    assert_eq!(warnings("Bash(./gradlew *)", Origin::User), []);
    assert_eq!(warnings("Bash(sudo *)", Origin::User), [Warning::AllowsWrapper("sudo".to_owned())]);
    assert_eq!(warnings("Bash(bash -c *)", Origin::User), [Warning::AllowsWrapper("bash".to_owned())]);
    assert_eq!(warnings("Bash(sudo apt *)", Origin::User), []);
    assert_eq!(warnings("*", Origin::User), [Warning::AllowsEverything]);
    let text = warnings("bash", Origin::User)[0].to_string();
    assert_eq!(
        text,
        "no tool is named `bash` (did you mean `Bash`?); the rule takes effect when one is added"
    );
}
