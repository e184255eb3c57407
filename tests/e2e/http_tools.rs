//! HTTP tools without code: the requests that they send, the hosts that they reach, and the secrets that they never
//! reveal.

use std::fs;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Page, Pages, Server, eventually};

use crate::agent::{messages, new_chat, say};
use crate::mcp_servers::calls;
use crate::world::World;

/// A secret with characters that must be escaped in each position.
pub(crate) const SECRET: &str = "s3cr3t-\"key\"/+&=42";

/// The options of a server that lets tools reach this machine.
pub(crate) const OPEN: &[&str] = &["--fetch-allow", "127.0.0.1"];

/// A service that sends back each request that it gets.
pub(crate) fn echo() -> Pages {
    Pages::start(|_| Page::Echo)
}

/// An OpenAPI document of a service on this port, with a tool that needs a secret.
fn openapi(port: u16) -> String {
    json!({
        "openapi": "3.1.0",
        "servers": [{"url": format!("http://127.0.0.1:{port}/v1")}],
        "paths": {
            "/items/{id}": {"get": {
                "operationId": "get_item", "summary": "Reads an item of the shop",
                "parameters": [
                    {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
                    {"name": "view", "in": "query", "schema": {"type": "string"}},
                ],
            }},
            "/items": {"post": {
                "operationId": "add_item", "summary": "Adds an item to the shop",
                "requestBody": {"required": true, "content": {"application/json": {"schema": {
                    "type": "object", "required": ["title"], "properties": {"title": {"type": "string"}, "price": {"type": "number"}},
                }}}},
            }},
            "/tree": {"post": {"operationId": "grow", "requestBody": {"required": true, "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}}}}},
        },
        "components": {
            "schemas": {"Tree": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}, "key": {"type": "apiKey", "in": "query", "name": "key"}},
        },
        "security": [{"token": [], "key": []}],
    })
    .to_string()
}

/// The document of a tool at this URL.
pub(crate) fn document(name: &str, url: &str, more: Value) -> Value {
    let mut document = json!({"name": name, "description": "Asks the shop", "url": url});
    for (field, value) in more.as_object().unwrap() {
        document[field] = value.clone();
    }
    document
}

pub(crate) struct Tools(Client);

impl Tools {
    pub(crate) fn of(world: &World) -> Self {
        Self(Client::login(&world.server, "alice"))
    }

    pub(crate) fn put(&self, document: &Value) -> Result<Value, String> {
        let name = document["name"].as_str().unwrap_or("x");
        let draft = json!({"text": document.to_string()}).to_string();
        let answer = self.0.send("PUT", &format!("/http-tools/{name}"), draft.as_bytes());
        if answer.status == 200 {
            Ok(answer.json())
        } else {
            Err(answer.json()["error"]["message"].as_str().unwrap().to_owned())
        }
    }

    pub(crate) fn set(&self, tool: &str, secret: &str, value: &str) -> u16 {
        let value = json!({"value": value}).to_string();
        self.0.send("PUT", &format!("/http-tools/{tool}/secrets/{secret}"), value.as_bytes()).status
    }

    fn import(&self, text: String, secrets: Value) -> Value {
        let import = json!({"text": text, "secrets": secrets}).to_string();
        let answer = self.0.send("POST", "/http-tool-imports", import.as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Tries a tool: true if the request was sent and succeeded, and the reported text.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> (bool, String) {
        let call = json!({"arguments": arguments.to_string()}).to_string();
        let answer = self.0.send("POST", &format!("/http-tools/{tool}/try"), call.as_bytes());
        let told = answer.json();
        if answer.status != 200 {
            return (false, told["error"]["message"].as_str().unwrap().to_owned());
        }
        (!told["is_error"].as_bool().unwrap(), told.to_string())
    }

    pub(crate) fn list(&self) -> Value {
        self.0.call("GET", "/http-tools").json()
    }

    fn named(&self, name: &str) -> Value {
        let list = self.list();
        let tools = list["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{list}")).clone()
    }
}

/// The forms in which the secret could appear in a text.
pub(crate) fn forms() -> Vec<String> {
    let json = Value::from(SECRET).to_string();
    vec![
        SECRET.to_owned(),
        json[1..json.len() - 1].to_owned(),
        json[1..json.len() - 1].replace('\\', "\\\\"),
        "s3cr3t-%22key%22%2F%2B%26%3D42".to_owned(),
        "s3cr3t-%22key".to_owned(),
        "s3cr3t-".to_owned(),
    ]
}

#[test]
fn a_tool_of_an_openapi_file_calls_a_service_with_a_secret_that_nobody_sees() {
    let service = echo();
    let script = calls(vec![
        ("search_tools", json!({"query": "read an item of the shop"})),
        ("http__get_item", json!({"id": "a/b", "view": "whole&more"})),
    ]);
    let world = World::on(script, OPEN, Server::start_logged);
    let tools = Tools::of(&world);
    let imported = tools.import(openapi(service.port()), json!({"token": SECRET, "key": SECRET}));
    assert_eq!(imported["added"], json!(["add_item", "get_item"]), "{imported}");
    assert!(imported["problems"][0].as_str().unwrap().contains("grow"), "{imported}");
    assert_eq!(imported["missing_secrets"], json!([]));
    let lines = world.chat("full");
    let result = world.last_result();
    assert!(result.starts_with("HTTP 200") && result.contains("[secret token]"), "{result}");
    let [request] = &service.asked()[..] else { panic!("{:?}", service.asked()) };
    let first = request.lines().next().unwrap();
    assert!(first.starts_with("GET /v1/items/a%2Fb?") && first.contains("view=whole%26more"), "{request}");
    assert!(first.contains("key=s3cr3t-%22key%22%2F%2B%26%3D42"), "{request}");
    assert!(request.contains(&format!("authorization: Bearer {SECRET}")), "{request}");
    let declared = |at: usize| world.model.asked()[at].tools();
    assert!(
        declared(0).contains(&"search_tools".to_owned())
            && !declared(0).contains(&"http__get_item".to_owned())
    );
    assert!(declared(1).contains(&"http__get_item".to_owned()));

    let (sent, tried) = tools.call("add_item", json!({"title": "a \"book\"", "price": 2.5}));
    assert!(sent, "{tried}");
    let body = service.asked()[1].rsplit("\r\n\r\n").next().unwrap().to_owned();
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), json!({"title": "a \"book\"", "price": 2.5}));
    // A service that is unreachable, and one that redirects, do not reveal the secret either.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let headers = json!({"headers": {"X-Key": "{{secret.k}}"}, "queryParams": {"k": "{{secret.k}}"}});
    tools.put(&document("away", &format!("http://127.0.0.1:{closed}/"), headers)).unwrap();
    assert_eq!(tools.set("away", "k", SECRET), 204);
    let (sent, failed) = tools.call("away", json!({}));
    assert!(!sent && failed.contains("cannot be reached"), "{failed}");

    let chat = lines
        .iter()
        .find_map(|line| line["chat"]["id"].as_str().or(line["chat_id"].as_str()))
        .map(str::to_owned);
    let chat = chat.unwrap_or_else(|| {
        tools.0.call("GET", "/chats").json()["chats"][0]["id"].as_str().unwrap().to_owned()
    });
    let text = |path: &str| String::from_utf8_lossy(&tools.0.call("GET", path).body).into_owned();
    let mut seen: Vec<(String, String)> = vec![
        ("lines of the chat".to_owned(), lines.iter().map(Value::to_string).collect()),
        ("the try".to_owned(), tried),
        ("the failure".to_owned(), failed),
        ("the log".to_owned(), world.server.log()),
        ("the list".to_owned(), world.alice.run(&["http-tool", "show", "get_item"]).stdout),
    ];
    for path in [
        "/http-tools",
        "/audit?limit=500",
        &format!("/chats/{chat}/messages"),
        &format!("/chats/{chat}/export?format=markdown"),
        &format!("/chats/{chat}/export?format=json"),
    ] {
        seen.push((path.to_owned(), text(path)));
    }
    seen.extend(world.model.asked().into_iter().map(|asked| ("a prompt".to_owned(), asked.raw)));
    for (what, text) in &seen {
        assert!(!text.is_empty(), "{what} is empty");
        for form in forms() {
            assert!(!text.contains(&form), "{what} contains {form}: {text}");
        }
    }
    assert!(text("/audit?limit=500").contains("http_tool.put"));
    assert!(text(&format!("/chats/{chat}/export?format=markdown")).contains("[secret token]"));
    assert!(world.server.log().contains("DEBUG"), "everything is logged: {}", world.server.log());
    for file in fs::read_dir(world.server.home()).unwrap().flatten().filter(|file| file.path().is_file()) {
        let content = String::from_utf8_lossy(&fs::read(file.path()).unwrap()).into_owned();
        assert!(!content.contains(SECRET), "{:?}", file.path());
    }
}

#[test]
fn a_deny_rule_applies_in_every_mode_by_name_and_by_host() {
    let service = echo();
    let script =
        calls(vec![("http__get_item", json!({"id": "1"})), ("http__add_item", json!({"title": "x"}))]);
    let world = World::with(script, OPEN);
    let tools = Tools::of(&world);
    tools.import(openapi(service.port()), json!({"token": SECRET, "key": SECRET}));
    for rule in ["Http", "Http(*_item)", "http__*", "Fetch(domain:127.0.0.1)"] {
        world.run(&["rule", "add", "deny", rule]);
        for mode in ["plan", "ask", "auto-edit", "full"] {
            world.chat(mode);
            assert_eq!(service.asked(), Vec::<String>::new(), "{rule} {mode}: {}", world.last_result());
        }
        let rules = world.alice.json(&["rule", "list", "--json"]);
        let id = rules.as_array().unwrap().iter().find(|known| known["rule"] == rule).unwrap()["id"].clone();
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        world.run(&["rule", "remove", &id]);
    }
    // Without a deny rule the tool is still not allowed, unless an allow rule covers it.
    world.chat("ask");
    world.chat("plan");
    assert_eq!(service.asked(), Vec::<String>::new());
    world.run(&["rule", "add", "allow", "Http(get_item)"]);
    world.chat("ask");
    let asked = service.asked();
    assert!(asked.len() == 1 && asked[0].starts_with("GET /v1/items/1?"), "{asked:?}");
}

#[test]
fn the_approval_shows_the_request_without_secrets_and_a_changed_tool_is_not_called() {
    let service = echo();
    let world = World::with(calls(vec![("http__get_item", json!({"id": "a b", "view": "x"}))]), OPEN);
    let tools = Tools::of(&world);
    tools.import(openapi(service.port()), json!({"token": SECRET, "key": SECRET}));
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "ask");
    say(&client, &chat, "go");
    let card = eventually("it asks", std::time::Duration::from_secs(60), || {
        messages(&client, &chat).into_iter().find(|message| message["agent"]["approval"].is_object())
    });
    let approval = card["agent"]["approval"].to_string();
    let host = format!("127.0.0.1:{}", service.port());
    for shown in ["GET", &host, "/v1/items/a%20b", "get_item", "SECRET.key"] {
        assert!(approval.contains(shown), "{shown}: {approval}");
    }
    assert!(forms().iter().all(|form| !approval.contains(form)), "{approval}");
    // The approved request is the one that was shown: a tool that changed meanwhile is not called.
    let mut changed: Value =
        serde_json::from_str(tools.named("get_item")["document"].as_str().unwrap()).unwrap();
    changed["url"] = json!(format!("http://{host}/elsewhere/{{{{id}}}}"));
    tools.put(&changed).unwrap();
    let said = json!({"message_id": card["id"], "allow": true, "always": true}).to_string();
    assert_eq!(client.send("POST", &format!("/chats/{chat}/approvals"), said.as_bytes()).status, 204);
    let done = || (world.last_result().contains("changed or removed")).then_some(());
    eventually("it is not called", std::time::Duration::from_secs(60), done);
    assert_eq!(service.asked(), Vec::<String>::new());
}

#[test]
fn a_workspaces_tool_needs_an_approval_that_ends_with_a_change_and_has_no_secrets() {
    let service = echo();
    let world = World::with(calls(vec![("http__repo", json!({"a": "from the repository"}))]), OPEN);
    let tools = Tools::of(&world);
    let of = |path: &str| {
        document(
            "repo",
            &format!("http://127.0.0.1:{}/{path}", service.port()),
            json!({"queryParams": {"a": "{{a}}"}, "parameters": {"a": "string"}}),
        )
    };
    let with_secret = document(
        "keyed",
        &format!("http://127.0.0.1:{}/", service.port()),
        json!({"headers": {"X": "{{secret.token}}"}}),
    );
    let put =
        |documents: Value| world.put(".sandbridge/http-tools.json", &json!({"tools": documents}).to_string());
    put(json!([of("one"), with_secret]));
    world.chat("full");
    assert!(!world.model.asked()[0].tools().contains(&"search_tools".to_owned()));
    let list = tools.list();
    assert_eq!(list["tools"].as_array().unwrap().len(), 1, "{list}");
    assert!(list["problems"][0]["text"].as_str().unwrap().contains("can use no secrets"), "{list}");
    assert_eq!(tools.named("repo")["state"], "waiting");
    assert!(tools.call("repo", json!({})).1.contains("waits for your approval"));
    let refused = world.alice.run(&["http-tool", "approve", "repo"]);
    assert!(refused.code != 0, "nobody was asked: {refused:?}");
    assert_eq!(service.asked(), Vec::<String>::new());
    world.run(&["http-tool", "approve", "repo", "--yes"]);
    world.chat("full");
    assert!(world.last_result().starts_with("HTTP 200"), "{}", world.last_result());
    put(json!([of("two")]));
    assert_eq!(tools.named("repo")["state"], "waiting");
    world.chat("full");
    assert_eq!(service.asked().len(), 1);
    put(json!([of("one")]));
    assert_eq!(tools.named("repo")["state"], "ready");
    world.run(&["http-tool", "revoke", "repo"]);
    assert_eq!(tools.named("repo")["state"], "waiting");
    // A tool of the user's own with this name takes precedence, and the administrator's tool over that.
    tools.put(&of("own")).unwrap();
    assert_eq!(tools.named("repo")["layer"], "user");
    let managed = json!({"tools": [of("managed")], "secrets": {}});
    fs::write(world.server.home().join("http-tools.json"), managed.to_string()).unwrap();
    assert_eq!(tools.named("repo")["layer"], "managed");
    world.chat("full");
    assert!(service.asked()[1].starts_with("GET /managed?a="), "{:?}", service.asked());
}

#[test]
fn a_secret_is_sent_to_the_host_that_it_was_set_for_and_to_no_other() {
    let (service, other) = (echo(), echo());
    let world = World::with(calls(Vec::new()), OPEN);
    let tools = Tools::of(&world);
    let at = |port: u16, path: &str| {
        document(
            "a",
            &format!("http://127.0.0.1:{port}/{path}"),
            json!({"headers": {"X-Key": "{{secret.KEY}}"}}),
        )
    };
    let saved = tools.put(&at(service.port(), "one")).unwrap();
    assert_eq!(saved["missing_secrets"], json!(["KEY"]));
    assert!(tools.call("a", json!({})).1.contains("needs the secret KEY"));
    for (secret, value, status) in [
        ("KEY", "short", 400),
        ("KEY", "with\r\nX: a break", 400),
        ("OTHER", SECRET, 400),
        ("KEY", SECRET, 204),
    ] {
        assert_eq!(tools.set("a", secret, value), status, "{secret} {value:?}");
    }
    assert!(tools.call("a", json!({})).0);
    assert_eq!(tools.put(&at(service.port(), "two")).unwrap()["dropped_secrets"], json!([]));
    assert!(tools.call("a", json!({})).0, "another path keeps it");
    assert_eq!(tools.put(&at(other.port(), "two")).unwrap()["dropped_secrets"], json!(["KEY"]));
    assert!(!tools.call("a", json!({})).0 && other.asked().is_empty());
    assert_eq!(
        tools.put(&at(service.port(), "one")).unwrap()["missing_secrets"],
        json!(["KEY"]),
        "the secret does not come back"
    );
    assert_eq!(service.asked().len(), 2);

    // Everybody can use the administrator's secrets, but nobody can read them.
    let managed = json!({
        "tools": [document("shared", &format!("http://127.0.0.1:{}/", service.port()), json!({"headers": {"X-Key": "{{secret.SHARED}}"}}))],
        "secrets": {"SHARED": {"server": format!("http://127.0.0.1:{}", service.port()), "value": SECRET}},
    });
    fs::write(world.server.home().join("http-tools.json"), managed.to_string()).unwrap();
    let (sent, told) = tools.call("shared", json!({}));
    assert!(sent && told.contains("[secret SHARED]") && !told.contains("s3cr3t-"), "{told}");
    assert!(service.asked()[2].contains(&format!("x-key: {SECRET}")));
    assert!(!tools.list().to_string().contains("s3cr3t-"));
}
