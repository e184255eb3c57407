//! Two hundred tools of MCP servers: their cost in the requests that a model really gets, and how well `search_tools` finds them in a turn.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Reply, eventually};

use crate::agent::{ended, messages, new_chat, say};
use crate::mcp_servers::results_since;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(120);

/// Tools of services that people use, and requests with the tool that each wants; the search's unit tests use them too.
const LIST: &str = include_str!("../../server-bridge/crates/extensions/src/search/tools.json");

/// What all tools together may add to a request, in tokens.
const MOST_TOKENS: usize = 2_000;

/// A token has about 4 bytes.
const BYTES_PER_TOKEN: usize = 4;

/// The requests that may miss their tool: 5 %.
const MOST_MISSED: usize = 3;

struct List {
    /// The service, the name, the description and the arguments of each tool.
    tools: Vec<(String, String, String, Vec<String>)>,
    /// Queries, each with the service and the tool that it wants.
    requests: Vec<(String, (String, String))>,
}

impl List {
    fn new() -> Self {
        let list: Value = serde_json::from_str(LIST).unwrap();
        let tools: Vec<_> = serde_json::from_value(list["tools"].clone()).unwrap();
        let requests: Vec<_> = serde_json::from_value(list["requests"].clone()).unwrap();
        assert_eq!((tools.len(), requests.len()), (200, 60));
        Self { tools, requests }
    }
}

/// The name by which models call a tool.
fn wire(service: &str, tool: &str) -> String {
    format!("mcp__{service}__{tool}")
}

/// Searches with each query of the list in turn, one search in each answer, if its user wants that; then it calls a tool that it found.
fn searches(list: &List) -> impl FnMut(&Asked) -> Reply + Send + 'static {
    let queries: Vec<String> = list.requests.iter().map(|(query, _)| query.clone()).collect();
    move |asked| {
        if asked.last_of_user() != "search" {
            return Reply::Say("that is all".to_owned());
        }
        let done = results_since(asked);
        match queries.get(done) {
            Some(query) => Reply::Call(vec![("search_tools", json!({"query": query}))]),
            None if done == queries.len() => {
                Reply::Call(vec![("mcp__github__list_issues", json!({"repo": "x"}))])
            }
            None => Reply::Say("that is all".to_owned()),
        }
    }
}

impl World {
    /// Adds one server for each service of the list, and waits until all their tools are known.
    fn add_services(&self, list: &List) {
        self.put("service.py", include_str!("../fixtures/mcp_service.py"));
        self.put("tools.json", LIST);
        let services: BTreeSet<&str> = list.tools.iter().map(|(service, ..)| service.as_str()).collect();
        let entry = |service: &&str| {
            let definition = json!({"command": "python3", "args": ["service.py", "tools.json", service]});
            ((*service).to_owned(), definition)
        };
        let entries: serde_json::Map<String, Value> = services.iter().map(entry).collect();
        let document = json!({"mcpServers": entries}).to_string();
        let imported = self.alice.with_stdin(&["mcp-server", "import", "-"], document.as_bytes());
        assert_eq!(imported.code, 0, "{imported:?}");
        // The first turn asks each server for its tools.
        self.chat("full");
        eventually("all tools are listed", PATIENCE, || {
            let servers = self.alice.json(&["mcp-server", "list", "--json"])["servers"].clone();
            let ready = |tool: &&Value| tool["state"] == "ready";
            let count = |server: &Value| {
                server["tools"].as_array().map_or(0, |tools| tools.iter().filter(ready).count())
            };
            let listed: usize = servers.as_array().unwrap().iter().map(count).sum();
            (listed == list.tools.len()).then_some(())
        });
    }
}

/// A request to a chat's agent, and not one for a title.
fn is_of_agent(asked: &Asked) -> bool {
    asked.tools().iter().any(|tool| tool == "Shell")
}

/// The request that a first message causes, and its size: by the server's own estimate, which `/context` shows, and of the request's bytes.
fn cost(world: &World) -> (Asked, usize, usize) {
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "hello");
    ended(&client, &chat, 1);
    let asked = world.model.asked().into_iter().rfind(is_of_agent).unwrap();
    say(&client, &chat, "/context");
    let shown = eventually("the context is shown", PATIENCE, || {
        let mut texts = messages(&client, &chat)
            .into_iter()
            .filter_map(|message| Some(message["text"].as_str()?.to_owned()));
        texts.next_back().filter(|text| text.contains("the descriptions of the tools"))
    });
    // Lines such as `1,234  the system prompt`; those of its parts are deeper.
    let kinds = shown.lines().filter_map(|line| line.trim_start().split_once("  "));
    let kinds = kinds.filter(|(_, kind)| !kind.starts_with(' '));
    let tokens = kinds.filter_map(|(tokens, _)| tokens.replace(',', "").parse::<usize>().ok());
    let estimate = tokens.sum::<usize>();
    let bytes = asked.raw.len();
    (asked, estimate, bytes)
}

#[test]
fn two_hundred_tools_add_little_to_a_request_and_searches_in_a_turn_find_them() {
    let list = List::new();
    let world = World::new(searches(&list));
    let (_, estimate_before, bytes_before) = cost(&world);
    world.add_services(&list);
    let (asked, estimate, bytes) = cost(&world);
    let (estimated, in_bytes) =
        (estimate - estimate_before, (bytes - bytes_before).div_ceil(BYTES_PER_TOKEN));
    println!("200 tools add {estimated} tokens by the server's estimate, {in_bytes} by bytes");
    assert!(estimated.max(in_bytes) <= MOST_TOKENS, "{estimated} and {in_bytes}");
    assert!(estimated > 0 && asked.tools().contains(&"search_tools".to_owned()), "{:?}", asked.tools());
    assert!(!asked.tools().iter().any(|tool| tool.starts_with("mcp__")), "{:?}", asked.tools());

    let before = world.model.asked().len();
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "search");
    ended(&client, &chat, 1);
    let asked = world.model.asked().split_off(before).into_iter().filter(is_of_agent).collect::<Vec<_>>();
    assert_eq!(asked.len(), list.requests.len() + 2);
    let missed: Vec<String> = list
        .requests
        .iter()
        .zip(&asked[1..])
        .filter_map(|((query, (service, tool)), after)| {
            let (wanted, result) = (wire(service, tool), after.results().pop().unwrap());
            let is_found = result.lines().any(|line| line.starts_with(&format!("{wanted}: ")));
            let is_declared = after.tools().contains(&wanted);
            (!is_found || !is_declared).then(|| format!("{query:?} wants {wanted}: {result}"))
        })
        .collect();
    println!("{} of 60 requests find their tool", list.requests.len() - missed.len());
    assert!(missed.len() <= MOST_MISSED, "{} of 60 are missed:\n{}", missed.len(), missed.join("\n"));
    assert_eq!(world.last_result(), "github did list_issues");
}
