//! Users' logins to Feishu through the app of a channel: agents use Feishu's tools only with their own user's token.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::platforms::feishu::{APP_SECRET, Feishu};
use tests::platforms::serve::Reply as Answer;
use tests::{Asked, Reply, Server, eventually};

use crate::agent::{messages, new_chat, say};
use crate::groups::Team;
use crate::groups::private::{obedient, wish};
use crate::http_tools::OPEN;
use crate::mcp_over_http::sent_back;
use crate::mcp_servers::calls;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(90);

/// The redirect URL.
const BACK: &str = "http://127.0.0.1:9/callback";

/// The marker that the stand-in puts into people's tokens and codes.
const PLANTED: &str = "planted";

const LIST: &str = "http__feishu_wiki_v2_space_list";
const CREATE: &str = "http__feishu_docx_v1_document_create";

/// Adds a Feishu channel that every user may use, without connecting it.
fn add(world: &World, feishu: &Feishu) {
    let values = format!("app_secret={APP_SECRET}\n");
    let domain = format!("domain={}", feishu.url());
    let app = format!("app_id={}", tests::platforms::feishu::APP_ID);
    let add = [
        "channel",
        "add",
        "lark",
        "feishu",
        "--secrets-stdin",
        "--off",
        "--shared",
        "--set",
        &domain,
        "--set",
        &app,
    ];
    let added = world.alice.with_stdin(&add, values.as_bytes());
    assert_eq!(added.code, 0, "{added:?}");
}

/// Begins a login; returns the URL of the page to open.
fn begin(client: &Client) -> String {
    let start = json!({"redirect_uri": BACK}).to_string();
    let begun = client.send("POST", "/channels/lark/login", start.as_bytes());
    assert_eq!(begun.status, 200, "{begun:?}");
    begun.json()["url"].as_str().unwrap().to_owned()
}

/// Ends a login; returns the status, and the error's message.
fn end(client: &Client, url: &str) -> (u16, String) {
    let ended = client.send("POST", "/channel-logins", json!({"url": url}).to_string().as_bytes());
    let why = ended.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    (ended.status, why)
}

fn log_in(client: &Client) {
    let ended = end(client, &sent_back(&begin(client)));
    assert_eq!(ended.0, 200, "{ended:?}");
}

fn state(client: &Client) -> Value {
    client.call("GET", "/channel-logins").json()["logins"][0]["state"].clone()
}

/// A world with a channel, and alice's client.
fn world(script: impl FnMut(&Asked) -> Reply + Send + 'static, feishu: &Feishu) -> (World, Client) {
    let world = World::on(script, OPEN, Server::start_logged);
    feishu.logs_in(BACK, Some("ou_alice"));
    add(&world, feishu);
    let client = Client::login(&world.server, "alice");
    (world, client)
}

/// The requests of the official package, one for each tool, with the tool's arguments.
fn official() -> Vec<Value> {
    let official = include_str!("../../server-bridge/crates/http_tools/src/feishu/official.json");
    let official: Value = serde_json::from_str(official).unwrap();
    official["requests"].as_array().unwrap().clone()
}

fn wire_name(official: &Value) -> &'static str {
    format!("http__feishu_{}", official["name"].as_str().unwrap().replace('.', "_")).leak()
}

#[test]
fn every_tool_sends_the_official_packages_request_with_its_users_hidden_token() {
    let feishu = Feishu::start();
    let requests = official();
    let names: Vec<&str> = requests.iter().map(wire_name).collect();
    // A search finds at most 20 tools.
    let search = |names: &[&str]| {
        ("search_tools", json!({"query": format!("select:{}", names.join(",")), "limit": 20}))
    };
    let mut script = vec![search(&names[..20]), search(&names[20..])];
    script.extend(requests.iter().map(|request| (wire_name(request), request["arguments"].clone())));
    let (world, alice) = world(calls(script), &feishu);
    world.chat("full");
    assert_eq!(feishu.calls_of_people().len(), 0);
    assert!(!world.model.asked()[0].tools().contains(&"search_tools".to_owned()), "nobody is logged in");
    log_in(&alice);
    assert_eq!(state(&alice), "logged_in");
    world.chat("full");
    let called = feishu.calls_of_people();
    assert_eq!(called.len(), requests.len(), "{:?}", world.model.asked().last().map(Asked::results));
    let sorted = |target: &str| {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut query: Vec<String> = query.split('&').map(|pair| pair.replace('+', "%20")).collect();
        query.sort();
        (path.to_owned(), query)
    };
    for (call, wanted) in called.iter().zip(&requests) {
        let name = &wanted["name"];
        assert_eq!(call.method, wanted["method"].as_str().unwrap(), "{name}");
        assert_eq!(sorted(&call.target), sorted(wanted["target"].as_str().unwrap()), "{name}");
        assert_eq!(call.body, wanted["body"], "{name}");
        assert_eq!(call.person, "ou_alice", "{name}");
    }
    assert!(world.last_result().contains("[secret FEISHU_USER_TOKEN]"), "{}", world.last_result());

    // A user who has not logged in has none of the tools, even with the same channel.
    let bob = world.server.person("bob");
    assert_eq!(state(&Client::login(&world.server, "bob")), "none");
    let asked = world.model.asked().len();
    let chat = bob.run(&["chat", "--new", "--approval", "full", "go"]);
    assert_eq!(chat.code, 0, "{chat:?}");
    assert!(!world.model.asked()[asked].tools().contains(&"search_tools".to_owned()));
    assert_eq!(feishu.calls_of_people().len(), requests.len());
    let listed = bob.run(&["channel", "logins"]).stdout;
    assert!(listed.contains("not logged in") && listed.contains("bitable.v1.app.create"), "{listed}");

    let text = |path: &str| String::from_utf8_lossy(&alice.call("GET", path).body).into_owned();
    let mut seen = vec![("the log".to_owned(), world.server.log())];
    for path in ["/channel-logins", "/channels", "/audit?limit=500"] {
        seen.push((path.to_owned(), text(path)));
    }
    for chat in world.alice.json(&["chat", "list", "--json"]).as_array().unwrap() {
        let path = format!("/chats/{}/messages", chat["id"].as_str().unwrap());
        seen.push((path.clone(), text(&path)));
    }
    seen.extend(world.model.asked().into_iter().map(|asked| ("a prompt".to_owned(), asked.raw)));
    for (what, text) in &seen {
        assert!(!text.is_empty() && !text.contains(PLANTED), "{what}: {text}");
    }
    assert!(text("/audit?limit=500").contains("channel.login"));
    for file in fs::read_dir(world.server.home()).unwrap().flatten().filter(|file| file.path().is_file()) {
        let content = String::from_utf8_lossy(&fs::read(file.path()).unwrap()).into_owned();
        assert!(!content.contains(PLANTED), "{:?}", file.path());
    }
}

#[test]
fn a_login_is_completed_once_in_its_session_and_a_refusal_is_reported() {
    let feishu = Feishu::start();
    let (world, alice) = world(calls(Vec::new()), &feishu);
    let back = sent_back(&begin(&alice));
    // Another user, another session of the same user, another state and another redirect URL cannot end the login.
    world.server.person("bob");
    for other in [Client::login(&world.server, "bob"), Client::login(&world.server, "alice")] {
        let (status, why) = end(&other, &back);
        assert!(status == 422 && why.contains("no login of this session"), "{status} {why}");
    }
    for wrong in [back.replace("state=", "state=x"), BACK.to_owned(), "no address".to_owned()] {
        assert_eq!(end(&alice, &wrong).0, 422, "{wrong}");
    }
    assert_eq!(end(&alice, &back).0, 200);
    assert_eq!(end(&alice, &back).0, 422, "a state is accepted once");
    assert_eq!(alice.call("DELETE", "/channels/lark/login").status, 204);
    assert_eq!(alice.call("DELETE", "/channels/lark/login").status, 404);
    let elsewhere = sent_back(&begin(&alice)).replace("/callback", "/elsewhere");
    assert!(end(&alice, &elsewhere).1.contains("different address"));
    // The code of one login with the state of another fails, because the verifiers differ.
    let (one, two) = (sent_back(&begin(&alice)), sent_back(&begin(&alice)));
    let part =
        |url: &str, name: &str| url.split(['?', '&']).find(|pair| pair.starts_with(name)).unwrap().to_owned();
    let mixed = format!("{BACK}?{}&{}", part(&one, "code="), part(&two, "state="));
    let (status, why) = end(&alice, &mixed);
    assert!(status == 422 && why.contains("PKCE"), "{status} {why}");

    feishu.logs_in(BACK, None);
    let (status, why) = end(&alice, &sent_back(&begin(&alice)));
    assert!(status == 422 && why.contains("access_denied no thanks"), "{status} {why}");
    feishu.logs_in(BACK, Some("ou_alice"));
    let echo = json!({"code": 20_050, "error": "server_error", "error_description": format!("{APP_SECRET} is wrong")});
    for (reply, words) in [
        (Answer::json(400, &echo), "[secret FEISHU_APP_SECRET] is wrong (20050)"),
        (Answer::json(200, &json!({"code": 0})), "no token"),
        (Answer::json(200, &json!({"code": 0, "access_token": "u-1\nx: y"})), "no token"),
        (Answer::json(503, &json!({})), "(503)"),
        (Answer::moved("http://169.254.169.254/latest"), "login to Feishu failed"),
        (Answer::Cut, "login to Feishu failed"),
    ] {
        feishu.fail_next_token(reply);
        let (status, why) = end(&alice, &sent_back(&begin(&alice)));
        assert!(status == 422 && why.contains(words), "{words}: {status} {why}");
        assert!(!why.contains(APP_SECRET) && !why.contains("code-planted"), "{why}");
    }
    assert_eq!(state(&alice), "none");
    let start = |path: &str, to: &str| {
        alice.send("POST", path, json!({"redirect_uri": to}).to_string().as_bytes()).status
    };
    assert_eq!(start("/channels/lark/login", "http://evil.example/"), 400);
    assert_eq!(start("/channels/lark/login", "javascript:alert(1)"), 400);
    assert_eq!(start("/channels/none/login", BACK), 404);
    let key = world.alice.json(&["key", "add", "bot", "--json"])["key"].as_str().unwrap().to_owned();
    let key = Client::with_token(&world.server, &key);
    assert_eq!(
        key.send("POST", "/channels/lark/login", json!({"redirect_uri": BACK}).to_string().as_bytes()).status,
        403
    );
    assert!(!world.server.log().contains("code-planted"));
}

#[test]
fn ten_calls_with_an_expired_token_refresh_it_once_and_a_revoked_login_gives_advice() {
    let feishu = Feishu::start();
    let (world, alice) = world(calls(vec![(LIST, json!({}))]), &feishu);
    feishu.tokens_of_people_live(Duration::from_secs(3));
    log_in(&alice);
    feishu.tokens_of_people_live(Duration::from_secs(7200));
    eventually("the token has expired", PATIENCE, || (feishu.tokens_of_people().0 == 0).then_some(()));
    let go = || {
        let mut command = world.alice.command(&["chat", "--new", "--json", "--approval", "full", "go"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let chats: Vec<_> = (0..10).map(|_| go()).collect();
    for chat in chats {
        let output = chat.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && told.contains("ou_alice"), "{told}");
    }
    assert_eq!(feishu.tokens_of_people(), (1, 1), "all calls share one refresh");
    // Feishu ends the token early: the call is sent again with a new token.
    feishu.revoke_people(false);
    world.chat("full");
    assert!(world.last_result().contains("ou_alice"), "{}", world.last_result());
    assert_eq!(feishu.tokens_of_people().1, 2);
    // An unavailable provider does not end the login.
    feishu.revoke_people(false);
    feishu.fail_next_token(Answer::json(503, &json!({})));
    world.chat("full");
    assert!(world.last_result().contains("try again later"), "{}", world.last_result());
    assert_eq!(state(&alice), "logged_in");
    world.chat("full");
    assert!(world.last_result().contains("ou_alice"), "{}", world.last_result());
    // The user removed the app at Feishu.
    feishu.revoke_people(true);
    world.chat("full");
    let result = world.last_result();
    assert!(result.contains("has ended") && result.contains("sandbridge channel login lark"), "{result}");
    assert_eq!(state(&alice), "ended");
    let refreshes = feishu.tokens_of_people().1;
    world.chat("full");
    assert_eq!(feishu.tokens_of_people().1, refreshes, "an ended login is not refreshed again");
    log_in(&alice);
    world.chat("full");
    assert!(world.last_result().contains("ou_alice"), "{}", world.last_result());
    // Changing the channel's app ends the login, since its token belongs to the old app.
    let other = world.alice.with_stdin(
        &["channel", "add", "lark", "--secrets-stdin", "--off", "--shared", "--set", "app_id=cli_another"],
        format!("app_secret={APP_SECRET}\n").as_bytes(),
    );
    assert_eq!(other.code, 0, "{other:?}");
    assert_eq!(state(&alice), "none");
}

#[test]
fn a_call_follows_the_rules_of_http_tools_and_a_failure_of_feishu_is_an_error() {
    let feishu = Feishu::start();
    let script = calls(vec![
        (CREATE, json!({"title": "Plan"})),
        (LIST, json!({})),
        ("http__feishu_bitable_v1_app_get", json!({"app_token": "forbidden"})),
    ]);
    let (world, alice) = world(script, &feishu);
    log_in(&alice);
    // In the mode `plan` a write is denied; a read would need an approval, which nobody can give.
    world.chat("plan");
    assert_eq!(feishu.calls_of_people().len(), 0);
    let chat = new_chat(&alice, "auto-edit");
    say(&alice, &chat, "go");
    let card = eventually("it asks", PATIENCE, || {
        messages(&alice, &chat).into_iter().find(|message| message["agent"]["approval"].is_object())
    });
    let approval = card["agent"]["approval"].to_string();
    assert!(approval.contains("docx/v1/documents") && approval.contains("Plan"), "{approval}");
    assert!(!approval.contains(PLANTED), "{approval}");
    let said = json!({"message_id": card["id"], "allow": true, "always": false}).to_string();
    assert_eq!(alice.send("POST", &format!("/chats/{chat}/approvals"), said.as_bytes()).status, 204);
    let called = eventually("the document is made", PATIENCE, || feishu.calls_of_people().pop());
    assert_eq!((called.method.as_str(), &called.body), ("POST", &json!({"title": "Plan"})));
    world.run(&["rule", "add", "deny", "Http(feishu_wiki_v2_space_list)"]);
    world.chat("full");
    let asked = feishu.calls_of_people();
    assert!(asked.iter().all(|call| !call.target.contains("/wiki/")), "{asked:?}");
    let result = world.last_result();
    assert!(result.contains("1254302") && result.contains("[secret FEISHU_USER_TOKEN]"), "{result}");
}

#[test]
fn an_agent_of_a_group_cannot_use_a_persons_login() {
    let feishu = Feishu::start();
    let team = Team::with(obedient, OPEN);
    feishu.logs_in(BACK, Some("ou_alice"));
    add(&team.world, &feishu);
    log_in(&Client::login(&team.world.server, "alice"));
    let wanted = wish(&[("search_tools", json!({"query": format!("select:{LIST}")})), (LIST, json!({}))]);
    team.world.run(&["chat", "--new", "--approval", "full", &wanted]);
    assert_eq!(feishu.calls_of_people().len(), 1, "her own agent has it");
    let below = wish(&[("SubAgent", json!({"task": wanted, "tools": [LIST, "search_tools"]}))]);
    for wish in [&wanted, &below] {
        let from = team.world.model.asked().len();
        let call = team.post(&team.world.alice, &format!("@coder look\n{wish}"))["calls"][0]["id"].clone();
        team.until_call(&call, "done");
        assert!(team.world.model.asked().len() > from);
        for asked in &team.world.model.asked()[from..] {
            assert!(!asked.tools().iter().any(|tool| tool.contains("feishu")), "{:?}", asked.tools());
        }
    }
    assert_eq!(feishu.calls_of_people().len(), 1);
}

#[test]
fn the_command_line_waits_for_the_browser_and_says_why_a_login_failed() {
    let feishu = Feishu::start();
    let (world, alice) = world(calls(Vec::new()), &feishu);
    let log_in = |person: Option<&str>| {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        feishu.logs_in(&format!("http://127.0.0.1:{port}/callback"), person);
        let words = ["channel", "login", "lark", "--port", &port.to_string(), "--json"];
        let mut command = world.alice.command(&words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let opened: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let back = sent_back(opened["url"].as_str().unwrap());
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let shown = agent.get(&back).call().unwrap().body_mut().read_to_string().unwrap();
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let all = format!("{}{errors}{shown}", rest.join("\n"));
        assert!(!all.contains(PLANTED), "{all}");
        (output.status.success(), shown, all)
    };
    let (is_done, shown, all) = log_in(Some("ou_alice"));
    assert!(is_done && shown.contains("You are logged in") && all.contains("lark"), "{all}");
    assert_eq!(state(&alice), "logged_in");
    world.run(&["channel", "logout", "lark"]);
    assert_eq!(state(&alice), "none");
    let (is_done, shown, all) = log_in(None);
    assert!(!is_done && shown.contains("The login failed") && all.contains("declined"), "{all}");
    assert_eq!(state(&alice), "none");
    let none = world.alice.run(&["channel", "logout", "lark"]);
    assert!(none.code != 0 && none.stderr.contains("not logged in with the channel lark"), "{none:?}");
}
