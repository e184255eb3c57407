//! The routing table: one row for each rule.

use super::*;

/// Rule; choice; registered runners, `+` for connected ones; backends: `docker`, `local=POLICY`, `admin` for the user; the
/// place, or the error's kind and some of its words.
type Row = (&'static str, Option<&'static str>, &'static str, &'static str, Expected);

type Expected = Result<&'static str, (&'static str, &'static str)>;

const DENIED: &str = "denied";
const OFFLINE: Expected = Err(("offline", "runner a is offline"));

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("Docker by name", Some(DOCKER), "", "docker", Ok(DOCKER)),
    ("Docker by name, a runner is connected", Some(DOCKER), "+a", "docker", Ok(DOCKER)),
    ("Docker by name, not enabled", Some(DOCKER), "+a", "local=admins admin", Err((DENIED, "Docker is not enabled"))),
    ("runner by name", Some("a"), "+a +b", "", Ok("a")),
    ("runner by name, offline: never another", Some("a"), "a +b", "docker local=admins admin", OFFLINE),
    ("runner by name, not registered: never another", Some("x"), "+a", "docker", Err(("no_route", "you have no runner named x"))),
    ("unset, one registered", None, "+a", "docker", Ok("a")),
    ("auto is unset", Some("auto"), "+a", "docker", Ok("a")),
    ("unset, one registered, offline: never Docker", None, "a", "docker local=admins admin", OFFLINE),
    ("unset, several registered, one connected", None, "a +b", "docker", Err(("no_route", "a, b"))),
    ("unset, none registered, Docker", None, "", "docker", Ok(DOCKER)),
    ("unset, none registered, no Docker: never the server", None, "", "local=admins admin", Err((DENIED, "sandbridge runner add"))),
    ("none, policy off", Some(NONE), "+a", "docker admin", Err((DENIED, "does not allow"))),
    ("none, policy admins, an admin", Some(NONE), "+a", "local=admins admin", Ok(NONE)),
    ("none, policy admins, no admin", Some(NONE), "+a", "docker local=admins", Err((DENIED, "only its administrators"))),
    ("none, policy names, named", Some(NONE), "", "local=bob,alice", Ok(NONE)),
    ("none, policy names, an admin who is not named", Some(NONE), "", "local=bob admin", Err((DENIED, "not among"))),
];

fn routed(choice: Option<&str>, runners: &str, backends: &str) -> Result<Target, RouteError> {
    let backends: Vec<_> = backends.split_whitespace().collect();
    let local = backends.iter().find_map(|backend| backend.strip_prefix("local=")).unwrap_or("off");
    let user = User { key: "u1".into(), name: "alice".into(), is_admin: backends.contains(&"admin") };
    let runners: Vec<_> = runners.split_whitespace().collect();
    let registered = runners.iter().map(|name| name.trim_start_matches('+').to_owned()).collect();
    let route_request = RouteRequest { choice: Choice::parse(choice), registered };
    let is_connected = |name: &str| runners.contains(&format!("+{name}").as_str());
    route(&route_request, &user, backends.contains(&"docker"), &local.parse().unwrap(), is_connected)
}

#[test]
fn every_rule_leads_where_the_design_says() {
    for (rule, choice, runners, backends, expected) in TABLE {
        match (routed(*choice, runners, backends), expected) {
            (Ok(target), Ok(name)) => assert_eq!(target.name(), *name, "{rule}"),
            (Err(error), Err((kind, words))) => {
                assert_eq!(error.kind(), *kind, "{rule}");
                assert!(error.to_string().contains(words), "{rule}: {error}");
            }
            (outcome, _) => panic!("{rule}: {outcome:?}"),
        }
    }
}

#[test]
fn policies_are_read_from_text() {
    let policy = |text: &str| text.parse::<LocalPolicy>().unwrap();
    assert_eq!(
        (policy("off"), policy(""), policy("admins")),
        (LocalPolicy::Off, LocalPolicy::Off, LocalPolicy::Admins)
    );
    assert_eq!(policy(" alice, bob"), LocalPolicy::Names(vec!["alice".into(), "bob".into()]));
}

#[test]
fn what_is_no_policy_is_refused_with_the_forms() {
    for (text, found) in [
        ("BAD!!", "BAD!!"),
        ("on", "on"),
        ("true", "true"),
        ("none", "none"),
        ("admins,bob", "admins"),
        ("bob,off", "off"),
        ("bob,Alice", "Alice"),
        ("bob,,alice", ""),
        ("bob,", ""),
    ] {
        let error = text.parse::<LocalPolicy>().unwrap_err();
        assert_eq!(error.found, found, "{text}");
        assert!(error.to_string().contains("off, admins, or users' names"), "{error}");
    }
}
