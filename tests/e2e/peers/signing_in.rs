//! Signing in at several nodes: tickets, codes, failed logins, the secret for the first account.

use std::collections::BTreeMap;

use super::*;

/// The path of the downloads in these tests, for which tickets are issued.
const PATH: &str = "/api/v1/files?path=file&on=laptop";
/// The limit on failed logins for one name from one address, per minute.
const FAILED_LOGINS: usize = 10;

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).build().into()
}

/// A new ticket of a page.
pub(super) fn ticket(page: &Client) -> String {
    let ticket = page.send("POST", "/tickets", json!({ "path": PATH }).to_string().as_bytes());
    assert_eq!(ticket.status, 201, "{ticket:?}");
    ticket.json()["ticket"].as_str().unwrap().to_owned()
}

/// Downloads with a ticket of this page; returns the status and the content.
pub(super) fn fetch(node: &Server, page: &Client, ticket: &str) -> (u16, String) {
    let fetch = agent().get(format!("{}{PATH}&ticket={ticket}", node.url())).header("cookie", page.cookie());
    let mut answer = fetch.call().unwrap();
    (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
}

/// Posts JSON to a node without a login; returns the status and the response.
fn post(node: &Server, path: &str, body: &Value) -> (u16, Value) {
    let request =
        agent().post(format!("{}/api/v1{path}", node.url())).header("content-type", "application/json");
    let mut answer = request.send(body.to_string().as_bytes()).unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or_default())
}

#[test]
fn a_ticket_used_at_two_nodes_at_once_is_accepted_once() {
    let cluster = Cluster::new();
    let nodes = [cluster.start(&[]), cluster.start(&[])];
    let alice = nodes[0].person("alice");
    let machine = Machine::start(&nodes[0], &alice, "laptop");
    fs::write(machine.workspace().join("file"), "its content").unwrap();
    let page = Client::log_in_as_page(&nodes[1], "alice");
    for _ in 0..20 {
        let ticket = ticket(&page);
        let answers = std::thread::scope(|scope| {
            let fetches = nodes.each_ref().map(|node| scope.spawn(|| fetch(node, &page, &ticket).0));
            fetches.map(|fetch| fetch.join().unwrap())
        });
        let counts = answers.into_iter().fold(BTreeMap::new(), |mut counts: BTreeMap<u16, u32>, status| {
            *counts.entry(status).or_default() += 1;
            counts
        });
        assert_eq!(counts, BTreeMap::from([(200, 1), (401, 1)]));
    }
}

#[test]
fn a_ticket_outlives_the_node_that_issued_it() {
    let cluster = Cluster::new();
    let (mut home, other) = (cluster.start(&[]), cluster.start(&[]));
    let alice = home.person("alice");
    let (_elsewhere, machine) = online_at(&alice, &other);
    fs::write(machine.workspace().join("file"), "its content").unwrap();
    let page = Client::log_in_as_page(&other, "alice");
    let ticket = ticket(&page);
    home.kill();
    eventually("the other node works for her", TAKEN_OVER_WITHIN + Duration::from_secs(5), || {
        (page.send("POST", "/chats", b"{}").status == 201).then_some(())
    });
    let there = alice.at(other.url());
    eventually("the runner is back", PATIENCE, || there.is_online("laptop").then_some(()));
    assert_eq!(fetch(&other, &page, &ticket), (200, "its content".to_owned()));
    assert_eq!(fetch(&other, &page, &ticket).0, 401);
}

#[test]
fn failed_logins_are_counted_across_all_nodes() {
    let cluster = Cluster::new();
    let nodes = [cluster.start(&[]), cluster.start(&[])];
    nodes[0].person("alice");
    // The right password does not use up an attempt, and this address has logged in before.
    let guess = json!({ "user": "alice", "password": "a wrong password" });
    let began = Instant::now();
    let checked = (0..4 * FAILED_LOGINS).filter(|at| post(&nodes[at % 2], "/login", &guess).0 == 401).count();
    // The number of allowed attempts grows while the guesses are made.
    let back = usize::try_from(began.elapsed().as_secs()).unwrap() * FAILED_LOGINS / 60 + 1;
    assert!((FAILED_LOGINS..=FAILED_LOGINS + back).contains(&checked), "{checked} in {:?}", began.elapsed());
    for node in &nodes {
        // One more attempt is allowed every six seconds.
        eventually("it refuses another guess", PATIENCE, || {
            let (status, answer) = post(node, "/login", &guess);
            (status == 429 && answer["error"]["kind"] == "rate_limited").then_some(())
        });
    }
    let other = json!({ "user": "bob", "password": "a wrong password" });
    assert_eq!(post(&nodes[1], "/login", &other).0, 401, "another account is not affected");
}

#[test]
fn the_secret_printed_by_one_node_creates_the_first_account_at_another() {
    let cluster = Cluster::new();
    let nodes = [cluster.start(&[]), cluster.start(&[])];
    let secrets = nodes.each_ref().map(|node| node.setup_secret());
    assert_ne!(secrets[0], secrets[1]);
    let account =
        |secret: &str| json!({ "secret": secret, "name": "alice", "password": tests::server::PASSWORD });
    assert_eq!(post(&nodes[1], "/setup", &account("a guess")).0, 403);
    let (status, answer) = post(&nodes[1], "/setup", &account(&secrets[0]));
    assert_eq!((status, &answer["user"]["name"]), (201, &json!("alice")), "{answer}");
    for (node, secret) in nodes.iter().zip(&secrets) {
        assert_eq!(post(node, "/setup", &account(secret)).0, 409);
        let status: Value =
            serde_json::from_str(&tests::http::text(&format!("{}/api/v1/status", node.url()))).unwrap();
        assert_eq!(status["setup_due"], json!(false));
    }
}

#[test]
fn a_code_from_one_node_signs_a_page_in_at_another_once() {
    let cluster = Cluster::new();
    let nodes = [cluster.start(&[]), cluster.start(&[])];
    nodes[0].person("alice");
    let program = Client::login(&nodes[0], "alice");
    let code = program.send("POST", "/sign-ins", b"").json()["code"].as_str().unwrap().to_owned();
    let redeem = |node: &Server| {
        let request = agent().post(format!("{}/api/v1/sign-ins/redeem", node.url()));
        let request = request.header("origin", node.url()).header("content-type", "application/json");
        let mut answer = request.send(json!({ "code": code }).to_string().as_bytes()).unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        (answer.status().as_u16(), text)
    };
    let (status, answer) = redeem(&nodes[1]);
    assert!(status == 200 && answer.contains("alice"), "{status} {answer}");
    assert_eq!(redeem(&nodes[0]).0, 401);
}
