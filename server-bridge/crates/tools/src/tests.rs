use std::collections::BTreeSet;
use std::sync::Arc;

use api::tui::TuiAction;
use execs::Ledger;
use futures_util::future::BoxFuture;
use llm::{Assistant, ToolCall};
use sandbox::{RouterConfig, SandboxRouter};
use serde_json::{Value, json};
use store::{Store, TurnId, UserId};
use tokio_util::sync::CancellationToken;

use crate::internet::{Fetcher, Internet, Searcher};
use crate::{Clients, Controlled, Services, Terminals, add_all};
use agent::approval::Access;
use agent::library::{Library, Role};
use agent::limits::ARGUMENTS_BYTES;
use agent::tool::{
    DelegationRequest, Failure, Host, Program, Registry, ToolCaller, ToolContext, Toolbox, Understood, kept,
};

/// All tools with this access to the internet, on a server without machines: they can be described and parsed.
fn registry(internet: Internet) -> Registry {
    struct Nobody;
    impl Clients for Nobody {
        fn active_runner_changed(&self, _: UserId, _: Option<&str>) {}
        fn exec_ended(&self, _: UserId, _: &execs::Recorded) {}
    }
    impl Terminals for Nobody {
        fn control(&self, _: TurnId, _: TuiAction) -> BoxFuture<'_, Controlled> {
            Box::pin(async { Controlled::NoTerminal })
        }
    }
    // Some tests already run in a runtime, which does not allow waiting for another one.
    let opened = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Store::open_in_memory()).unwrap()
    });
    let store = opened.join().unwrap();
    let router = SandboxRouter::new(RouterConfig::default());
    let execs = Ledger::new(store.clone(), router.clone());
    let registry = Registry::default();
    add_all(
        &registry,
        &Services {
            meaning: memory::Meaning::new(store.clone()),
            store,
            router,
            execs,
            internet,
            library: Library::default(),
            clients: Arc::new(Nobody),
            terminals: Arc::new(Nobody),
            models: Arc::default(),
        },
    );
    registry
}

/// The tools that models are offered.
fn all(internet: Internet) -> Toolbox {
    registry(internet).snapshot().for_models()
}

fn call(name: &str, arguments: &str) -> Result<Understood, String> {
    let call = ToolCall { id: String::new(), name: name.to_owned(), arguments: arguments.to_owned() };
    all(web()).understand(&call)
}

/// The error message for an invalid call.
fn refused(name: &str, arguments: &str) -> String {
    call(name, arguments).err().expect("it is understood")
}

/// All kinds of access to the internet.
fn web() -> Internet {
    let search = Searcher::new("searxng", Some("http://127.0.0.1:1"), None).unwrap();
    Internet { fetch: Some(Fetcher::new(&[])), search: Some(search) }
}

/// Programs have used these names since the server first spoke their protocol; a new name is added in its place in the list.
#[test]
fn programs_are_offered_their_tools_by_the_names_that_they_know() {
    let registry = registry(Internet::default());
    let all = registry.snapshot();
    let offered: Vec<&str> = all.for_programs().map(|(name, _)| name).collect();
    let known = [
        "exec",
        "read_file",
        "write_file",
        "list_directory",
        "glob",
        "grep",
        "task_start",
        "task_status",
        "task_read",
        "task_kill",
    ];
    assert_eq!(offered, known);
    for (name, tool) in all.for_programs() {
        let schema = tool.parameters();
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
        assert!(!schema["properties"].as_object().unwrap().contains_key("runner"), "{name} knows no place");
        for (argument, schema) in schema["properties"].as_object().unwrap() {
            assert!(schema["description"].is_string() && !schema.to_string().contains("$ref"), "{argument}");
        }
    }
    let models = all.for_models();
    assert!(models.holds("Glob") && models.holds("task_read") && models.holds("Shell"));
    assert!(!models.holds("exec") && !models.holds("task_start") && !models.holds("write_file"));
}

#[tokio::test]
async fn a_tool_that_works_on_a_chat_refuses_a_program_in_words() {
    struct Nowhere;
    impl Host for Nowhere {
        fn hidden<'a>(
            &'a self,
            _: &'a str,
            paths: &'a [String],
        ) -> BoxFuture<'a, Result<Vec<bool>, Failure>> {
            Box::pin(async { Ok(vec![false; paths.len()]) })
        }

        fn sandbox(&self) -> BoxFuture<'_, Result<sandbox::Sandbox, Failure>> {
            Box::pin(async { Err(Failure::unreachable()) })
        }
        fn ask<'a>(&'a self, _: &'a agent::tool::Question) -> BoxFuture<'a, Result<Option<String>, Failure>> {
            Box::pin(async { Ok(None) })
        }
        fn sample(
            &self,
            _: agent::tool::SampleRequest,
        ) -> BoxFuture<'_, Result<agent::tool::Sampled, Failure>> {
            Box::pin(async { Err(Failure::Message("no model here".to_owned())) })
        }

        fn delegate<'a>(
            &'a self,
            _: DelegationRequest<'a>,
        ) -> BoxFuture<'a, Result<agent::tool::Outcome, Failure>> {
            Box::pin(async { Err(Failure::unreachable()) })
        }

        fn is_at_work(&self, _: &store::ChatId) -> bool {
            false
        }
    }
    let user = store::User { id: UserId(1), name: "ada".to_owned(), admin: false, created_at_ms: 0 };
    let cancelled = CancellationToken::new();
    let context = ToolContext {
        host: &Nowhere,
        user: &user,
        caller: ToolCaller::Program(Program { on: None, is_trusted: true }),
        cancelled: &cancelled,
        is_plan: false,
        approval: None,
        bound: agent::tool::Bound::default(),
    };
    let (all, mut live) = (registry(Internet::default()).snapshot(), |_: &str| {});
    for (name, arguments) in [
        ("todo_list", json!({})),
        ("tui_control", json!({"action": "new_chat"})),
        ("ChatHistory", json!({"query": "a", "this_chat": true})),
        ("offload_recall", json!({"id": "a"})),
    ] {
        let tool = all.iter().find(|tool| tool.name() == name).unwrap();
        let arguments = arguments.as_object().unwrap().clone();
        let done = tool.understand(arguments).unwrap().run(&context, &mut live).await;
        let failure = done.err().unwrap_or_else(|| panic!("{name} works"));
        let is_refused = failure.kind() == "invalid" && failure.to_string().contains("only in a chat");
        assert!(is_refused, "{name}: {failure}");
    }
}

fn catalogue(internet: Internet) -> Vec<llm::Tool> {
    all(internet).catalogue()
}

/// An example value that fits a property.
fn sample(property: &Value) -> Value {
    match (property["type"].as_str(), property["format"].as_str(), property["enum"].get(0)) {
        (_, _, Some(first)) => first.clone(),
        (Some("array"), ..) => json!([]),
        (_, Some("uri"), _) => json!("https://example.com/"),
        _ if property["type"] == "integer" => json!(1),
        _ => json!("x"),
    }
}

#[test]
fn every_tool_is_described_with_all_its_arguments_and_can_be_called() {
    for tool in catalogue(web()) {
        assert!(!tool.description.is_empty() && tool.parameters["type"] == "object", "{}", tool.name);
        let properties = tool.parameters["properties"].as_object().unwrap();
        for (name, property) in properties {
            let is_described = property["description"].as_str().is_some_and(|words| !words.is_empty());
            assert!(is_described, "{} of {}", name, tool.name);
        }
        // The call has the required properties and nothing else.
        let required = tool.parameters["required"].as_array().cloned().unwrap_or_default();
        let arguments: serde_json::Map<_, _> = required
            .iter()
            .map(|name| name.as_str().unwrap())
            .map(|name| (name.to_owned(), sample(&properties[name])))
            .collect();
        let understood = call(&tool.name, &serde_json::to_string(&arguments).unwrap());
        assert!(understood.is_ok(), "{}: {:?}", tool.name, understood.err());
        assert!(call(&tool.name, r#"{"nonsense":1}"#).is_err(), "{} takes what it does not know", tool.name);
    }
}

#[test]
fn the_catalogue_is_the_same_each_time_and_names_each_tool_once() {
    let (once, again) = (catalogue(web()), catalogue(web()));
    assert_eq!(once, again);
    let names: BTreeSet<String> = once.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names.len(), once.len());
}

#[test]
fn what_is_not_set_up_is_not_offered() {
    let without: BTreeSet<String> =
        catalogue(Internet::default()).into_iter().map(|tool| tool.name).collect();
    let with: BTreeSet<String> = catalogue(web()).into_iter().map(|tool| tool.name).collect();
    let difference: Vec<&str> = with.difference(&without).map(String::as_str).collect();
    assert_eq!(difference, ["Fetch", "WebSearch"]);
    let fetch = r#"{"url":"https://example.com"}"#.to_owned();
    let fetch = ToolCall { id: String::new(), name: "Fetch".to_owned(), arguments: fetch };
    assert!(all(web()).understand(&fetch).is_ok());
    assert!(all(Internet::default()).understand(&fetch).err().unwrap().contains("there is no tool"));
}

#[test]
fn arguments_that_are_too_long_are_refused_and_not_kept() {
    let of = |bytes: usize| format!(r#"{{"path":"{}"}}"#, "x".repeat(bytes - 11));
    assert!(call("Read", &of(ARGUMENTS_BYTES)).is_ok());
    let long = of(10 * 1024 * 1024);
    assert!(refused("Read", &long).contains("do it in parts"));
    assert!(call("Read", &of(ARGUMENTS_BYTES + 1)).is_err());
    let said = |arguments: String| Assistant {
        tool_calls: vec![ToolCall { arguments, ..ToolCall::default() }],
        ..Assistant::default()
    };
    let short = said(of(ARGUMENTS_BYTES));
    assert_eq!(kept(short.clone()), short);
    let shortened = kept(said(long));
    assert_eq!(shortened.tool_calls[0].arguments, r#"{"left_out":"10485760 bytes, too long"}"#);
}

#[tokio::test]
async fn what_a_user_is_to_allow_is_shown_with_what_cannot_be_seen() {
    let of = |name: &str, arguments: Value| call(name, &arguments.to_string()).ok().unwrap();
    let write = of("FileCreate", json!({"path": "a\nok\u{1b}[2J", "content": "x"}));
    assert_eq!(write.hint(), "a\nok\\u{1b}[2J");
    assert!(write.look(None).await.is_err(), "nothing is said of a file without its machine");
    let fetch = of("Fetch", json!({"url": "HTTP://Example.com:80/\u{202e}?q=a b"})).look(None).await.unwrap();
    let expected = "this server reads a page from the internet\naddress:\n  | http://example.com/%E2%80%AE?q=a%20b\nalways: pages of \
                    http://example.com, in this chat";
    assert_eq!(fetch.proposal.to_text(), expected);
    let other = of("Fetch", json!({"url": "http://example.com:8080/"})).look(None).await.unwrap();
    assert_ne!(other.subject, fetch.subject, "another port is another thing");
    let other = of("Fetch", json!({"url": "https://example.com/"})).look(None).await.unwrap();
    assert_ne!(other.subject, fetch.subject, "and so is another scheme");
    let set = of("config", json!({"action": "set", "key": "language", "value": "de\nnew value:\u{e0041}"}));
    let text = set.look(None).await.unwrap().proposal.to_text();
    assert_eq!(set.access(), Access::Settings);
    assert!(text.ends_with("new value:\n  | de\n  | new value:\\u{e0041}"), "{text}");
    assert_eq!(of("config", json!({"action": "list"})).access(), Access::Read);
}

#[test]
fn a_url_that_is_no_pages_is_refused_before_anybody_is_asked() {
    for url in ["", "a", "file:///etc/passwd", "ftp://a/b", "http://u:p@a/", "data:text/html,x", "http://"] {
        let arguments = json!({"url": url}).to_string();
        assert!(refused("Fetch", &arguments).contains("the arguments are invalid"), "{url}");
    }
    let long = json!({"url": format!("http://a/{}", "x".repeat(9_000))}).to_string();
    assert!(refused("Fetch", &long).contains("too long"));
}

#[test]
fn parameters_have_the_names_that_models_know() {
    let known = [
        ("Shell", &["command", "timeout", "background", "run_as", "reason"][..]),
        ("Read", &["path", "offset", "max_lines"]),
        ("FileCreate", &["path", "content", "rewrite"]),
        (
            "FileReplace",
            &["path", "old_string", "new_string", "replace_all", "regex", "start_line", "end_line"],
        ),
        ("Glob", &["pattern", "path"]),
        ("Grep", &["pattern", "path", "include", "ignore_case", "context_lines"]),
        ("offload_recall", &["id", "offset", "limit"]),
        ("todo_write", &["items"]),
        ("AskUser", &["question", "options"]),
        ("DownloadFile", &["url", "path"]),
        ("Fetch", &["url", "max_chars", "format"]),
        ("WebSearch", &["query", "max_results"]),
        ("config", &["action", "key", "value"]),
        ("tui_control", &["action", "chat", "view", "text"]),
        ("SubAgent", &["task", "role", "tools", "model", "instance", "on", "worktree", "background"]),
        ("Worktree", &["action", "name"]),
        ("Skill", &["name"]),
        ("memory_write", &["name", "text", "kind", "scope", "replaces", "valid_until"]),
        ("memory_edit", &["id", "text"]),
        ("memory_search", &["query"]),
        ("memory_list", &[]),
    ];
    let catalogue = catalogue(web());
    for (name, parameters) in known {
        let tool = catalogue.iter().find(|tool| tool.name == name).unwrap();
        let properties: BTreeSet<&str> =
            tool.parameters["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(properties, parameters.iter().copied().collect(), "{name}");
    }
}

#[test]
fn what_a_model_does_wrong_is_told_in_words() {
    assert!(refused("Fly", "{}").contains("the tools are Shell, Read"));
    assert!(refused("Read", "{\"path\":").contains("not a JSON object"));
    assert!(refused("Read", "{}").contains("path"));
    assert!(refused("Read", r#"{"path":1}"#).contains("string"));
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_sub_agent_gets_no_more_than_its_parent_and_some_things_only_where_they_are_named() {
    let all = all(Internet::default());
    let unasked = all.for_sub_agent(None, None).unwrap();
    assert!(unasked.holds("Shell") && !unasked.holds("SubAgent") && !unasked.holds("memory_write"));
    let named = all.for_sub_agent(None, Some(&names(&["Read", "SubAgent"]))).unwrap();
    assert_eq!(named.names(), "Read, SubAgent");
    assert_eq!(all.of_json(&named.to_json()).names(), named.names());
    assert!(all.for_sub_agent(None, Some(&names(&["memory_write"]))).is_err());
    assert!(named.for_sub_agent(None, Some(&names(&["Shell"]))).err().unwrap().contains("can have Read"));
    let below = named.for_sub_agent(None, None).unwrap();
    assert_eq!(below.names(), "Read");
    assert_eq!(below.catalogue().len(), 1);
    assert_eq!(named.without_sub_agents().names(), "Read");
}

#[test]
fn a_role_narrows_and_its_parent_narrows_further() {
    let all = all(Internet::default());
    let role = |head: &str| Role::of_text("x", Default::default(), &format!("---\n{head}\n---\nBe."));
    let others = role("tools: Read, Bash(git *), NotHere\ndisallowedTools: Bash(rm *)");
    assert_eq!(all.for_sub_agent(Some(&others), None).unwrap().names(), "Read", "in peers' words");
    assert!(all.for_sub_agent(Some(&role("disallowedTools: Write")), None).unwrap().holds("Shell"));
    let role = role("tools: [Read, Grep, NotHere]");
    assert_eq!(all.for_sub_agent(Some(&role), None).unwrap().names(), "Read, Grep");
    assert_eq!(all.for_sub_agent(Some(&role), Some(&names(&["Grep"]))).unwrap().names(), "Grep");
    assert!(all.for_sub_agent(Some(&role), Some(&names(&["Shell"]))).is_err());
    let none = Role::of_text("x", Default::default(), "---\ntools: NotHere\n---");
    assert!(all.for_sub_agent(Some(&none), None).err().unwrap().contains("without tools"));
    assert!(all.for_sub_agent(None, Some(&[])).is_err());
    assert_eq!(all.of_json("nonsense").names(), "");
}
