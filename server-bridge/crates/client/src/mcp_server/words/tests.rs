//! Texts about well-behaved servers, and about hostile ones.

use api::problem::Problem;

use super::*;

pub(in crate::mcp_server) fn server(name: &str, hash: &str, layer: &str, state: &str) -> McpServerView {
    let json = format!(
        r#"{{"name": "{name}", "layer": "{layer}", "origin": ".mcp.json", "transport": "stdio", "action": "uvx mcp-server-{name}",
            "secrets": ["TOKEN", "TZ"], "hash": "{hash}", "state": "{state}"}}"#
    );
    serde_json::from_str(&json).unwrap()
}

fn tool(name: &str, state: &str, changed: Option<&str>) -> McpToolView {
    McpToolView {
        name: format!("mcp__time__{name}"),
        tool: name.to_owned(),
        description: format!("The {name}"),
        state: state.into(),
        definition: "{\n  \"name\": \"now\"\n}".to_owned(),
        problem: (state == "invalid").then(|| "its schema contains invisible characters".to_owned()),
        changed: changed.map(str::to_owned),
    }
}

fn time(tools: Vec<McpToolView>) -> McpServerView {
    let changes = tools.iter().any(|tool| tool.changed.is_some()).then(|| "c0".to_owned());
    McpServerView { tools, changes, listed_at: Some(0), ..server("time", "01", "user", "ready") }
}

#[test]
fn the_list_says_what_to_do_about_servers_and_tools_that_are_not_offered() {
    let now = "{\n  \"name\": \"later\"\n}";
    let tools = vec![
        tool("a", "ready", None),
        tool("b", "changed", Some(now)),
        tool("c", "changed", Some(now)),
        tool("d", "invalid", None),
    ];
    let servers = vec![
        time(tools),
        server("git", "02", "workspace", "waiting"),
        server("memory", "03", "managed", "ready"),
        server("time", "04", "workspace-local", "shadowed"),
    ];
    let words = list(&McpServerList { servers, problems: vec![Problem::of(".mcp.json", "not\nread")] });
    let lines: Vec<_> = words.lines().collect();
    let rows: Vec<Vec<_>> = lines[1..5]
        .iter()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(rows[0], ["time", "ready", "you", "4, 2 changed, 1 invalid", "uvx mcp-server-time"]);
    assert_eq!(rows[1], ["git", "waits", "workspace", "unknown", "uvx mcp-server-git"]);
    assert_eq!(rows[2], ["memory", "ready", "administrator", "unknown", "uvx mcp-server-memory"]);
    assert_eq!(rows[3], ["time", "shadowed", "workspace (local)", "unknown", "uvx mcp-server-time"]);
    assert!(lines[5].ends_with("`sandbridge mcp-server approve git`"), "{words}");
    assert!(lines[6].ends_with("`sandbridge mcp-server accept time`"), "{words}");
    assert!(lines[7].ends_with("`sandbridge mcp-server check memory`"), "{words}");
    assert_eq!(lines[8..], [r"warning: .mcp.json: not\nread"]);
    // If several servers wait, none of them is named.
    let servers = vec![server("a", "1", "workspace", "waiting"), server("b", "2", "workspace", "waiting")];
    assert!(list(&McpServerList { servers, problems: Vec::new() }).contains("approve NAME`"));
    // A server whose name a shell would run is not named either.
    let servers = vec![server("a`; id", "1", "workspace", "waiting")];
    assert!(list(&McpServerList { servers, problems: Vec::new() }).contains("approve NAME`"));
    let words = list(&McpServerList::default());
    assert_eq!(words, "there are no MCP servers; `sandbridge mcp-server add NAME -- COMMAND` adds one");
}

#[test]
fn an_approval_shows_all_that_runs_and_nothing_leaves_its_place() {
    let mut server = server("git", "0123", "workspace", "waiting");
    server.action = format!("npx {}\nhash:      9999\u{202e}\u{1b}[2J\u{200b}", "x".repeat(300));
    server.secrets = vec!["TOKEN\nname: x".to_owned()];
    server.files = vec!["tool/a.py".to_owned()];
    let expected = format!(
        "name:      git\nstate:     waits\nfrom:      workspace\norigin:    .mcp.json\ntransport: a program on the machine\n\
         hash:      0123\nvariables:\n  | TOKEN\\nname: x\nfiles:\n  | tool/a.py\ncommand:\n  | npx {}\n  | hash:      9999\\u{{202e}}\\u{{1b}}[2J\\u{{200b}}",
        "x".repeat(300)
    );
    assert_eq!(whole(&server), expected);
    // A list shows only the beginning of the command, on one line.
    let words = list(&McpServerList { servers: vec![server], problems: Vec::new() });
    assert!(words.lines().count() == 3 && words.lines().nth(1).unwrap().ends_with("xxx…"), "{words}");
}

#[test]
fn a_server_on_the_network_has_headers_and_an_address() {
    let mut server = server("far", "0123", "user", "ready");
    (server.transport, server.secrets) = (McpTransport::Http, Vec::new());
    let words = whole(&server);
    assert!(words.contains("\nheaders:   none\naddress:\n") && !words.contains("files:"), "{words}");
    assert!(show(&server, std::iter::empty()).contains("\nlisted:    never\nlogged in: no\n"));
    server.logged_in = true;
    assert!(show(&server, std::iter::empty()).contains("\nlogged in: yes\n"));
    // A program is started, not logged in to.
    let program = self::server("near", "0123", "user", "ready");
    assert!(!show(&program, std::iter::empty()).contains("logged in:"));
}

#[test]
fn a_command_to_log_in_can_be_copied() {
    assert_eq!(log_in("far", None), "`sandbridge mcp-server login far`");
    assert_eq!(log_in("far`; id", Some("lap top")), "`sandbridge mcp-server login NAME --on NAME`");
    assert_eq!(log_in("far", Some("laptop")), "`sandbridge mcp-server login far --on laptop`");
}

#[test]
fn a_changed_tool_is_shown_as_it_was_and_as_it_is() {
    let now = "{\n  \"name\": \"now\",\n  \"description\": \"\u{202e}x\"\n}";
    let mut server = time(vec![tool("a", "ready", None), tool("now\u{1b}", "changed", Some(now))]);
    let expected = "mcp__time__now\\u{1b} changed: '-' was accepted, '+' is new, the rest is the same\n  | {\n- |   \"name\": \"now\"\n\
                    + |   \"name\": \"now\",\n+ |   \"description\": \"\\u{202e}x\"\n  | }";
    assert_eq!(changes(&server), expected);
    let other = self::server("time", "ff", "workspace", "shadowed");
    let words = show(&server, std::iter::once(&other));
    assert!(words.contains("not used:  another with this name: workspace, .mcp.json, hash ff\n"), "{words}");
    assert!(
        words.contains("tools:\n  mcp__time__a\n      The a\n  mcp__time__now\\u{1b} (changed)\n"),
        "{words}"
    );
    assert!(words.contains(expected) && words.ends_with("`sandbridge mcp-server accept time`"), "{words}");
    // A tool that was not there before, and one that lost its definition.
    assert_eq!(difference("", "a\nb"), "+ | a\n+ | b");
    assert_eq!(difference("a\nb\na", "a"), "  | a\n- | b\n- | a");
    assert_eq!(difference("a\na", "a\na\na"), "  | a\n  | a\n+ | a");
    server.tools.clear();
    assert!(!show(&server, std::iter::empty()).contains("tools:"));
}

#[test]
fn a_check_lists_the_tools() {
    let mut hostile = tool("b", "changed", Some("{}"));
    hostile.description = "b\u{7}\nmcp__time__c".to_owned();
    let words = checked(&time(vec![tool("long_name", "ready", None), hostile]));
    let expected = "the MCP server time has 2 tools\n  mcp__time__long_name  The long_name\n  mcp__time__b          (changed) \
                    b\\u{7}\\nmcp__time__c\n";
    assert!(words.starts_with(expected) && words.ends_with("accept time`"), "{words}");
    let invalid = checked(&time(vec![tool("c", "invalid", None)]));
    assert!(invalid.contains("mcp__time__c  (invalid) its schema contains invisible"), "{invalid}");
    assert_eq!(checked(&time(Vec::new())), "the MCP server time has no tools");
    assert!(checked(&time(vec![tool("a", "ready", None)])).starts_with("the MCP server time has 1 tool\n"));
    assert!(
        hidden("time", &ExtensionLayer::Managed).contains("the administrator's MCP server time comes first")
    );
}

#[test]
fn the_words_of_a_program_are_marked_as_its_own() {
    let words =
        quoted("it ended with code 1; its standard error ends with:\nno key\u{1b}[2J\u{202e}\r\nbye\n");
    assert_eq!(
        words,
        "it ended with code 1; its standard error ends with:\n  | no key\\u{1b}[2J\\u{202e}\\r\n  | bye"
    );
}

#[test]
fn an_import_names_each_server() {
    let mut done = Imported::default();
    done.add("time".to_owned(), Vec::new());
    done.add("git".to_owned(), vec!["cwd".to_owned(), "a\nb".to_owned()]);
    done.turned_off.push("old".to_owned());
    done.refuse("x\u{202e}".to_owned(), "it is not\nan object".to_owned());
    let expected = "the MCP server time was added; `sandbridge mcp-server check time` lists its tools\n\
                    the MCP server git was added; `sandbridge mcp-server check git` lists its tools\n\
                    warning: these fields of git are not used: cwd, a\\nb\nthe MCP server old was left out: the document turns it off\n\
                    the MCP server x\\u{202e} was refused: it is not\\nan object";
    assert_eq!(imported(&done), expected);
}
