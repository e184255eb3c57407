//! The metrics of nodes: each number changes when the counted event happens, at the node where it happens.

use super::*;

/// The metrics of a node, as a monitoring client reads them.
struct Scraper<'a> {
    node: &'a Server,
    token: String,
}

impl<'a> Scraper<'a> {
    fn new(node: &'a Server, admin: &str) -> Self {
        Self { node, token: Client::login(node, admin).token().to_owned() }
    }

    /// The value of a series; 0 if it does not exist yet.
    fn value(&self, series: &str) -> f64 {
        let request = ureq::get(format!("{}/metrics", self.node.url()));
        let answer = request.header("authorization", format!("Bearer {}", self.token)).call().unwrap();
        let page = answer.into_body().read_to_string().unwrap();
        let of_series = |line: &str| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok();
        page.lines().find_map(of_series).unwrap_or(0.0)
    }

    fn becomes(&self, series: &str, expected: f64) {
        eventually(&format!("{series} is {expected}"), PATIENCE, || {
            (self.value(series) == expected).then_some(())
        });
    }
}

const HOMES: &str = "sandbridge_homes";
const CLAIMS: &str = "sandbridge_home_claims_total";
const REFUSED: &str = "sandbridge_refused_fences_total";
const REDIALS: &str = "sandbridge_runner_redials_total";
const OF_RUNNERS: &str = r#"sandbridge_pipes{of="runner"}"#;
const OF_CLIENTS: &str = r#"sandbridge_pipes{of="client"}"#;
const MOST_WRITING: &str = r#"sandbridge_database_connections_max{purpose="write"}"#;

#[test]
fn homes_claims_pipes_and_redials_are_counted_at_their_nodes() {
    let cluster = Cluster::new();
    let nodes = [cluster.start(&[]), cluster.start(&[]), cluster.start(&[])];
    let alice = nodes[0].person("alice");
    let token = alice.add_runner("laptop");
    let [home, passing, third] = [0, 1, 2].map(|number| Scraper::new(&nodes[number], "alice"));
    home.becomes(HOMES, 1.0);
    assert_eq!((home.value(CLAIMS), home.value(MOST_WRITING)), (1.0, 4.0));
    assert_eq!((third.value(HOMES), third.value(CLAIMS)), (0.0, 0.0));

    let mut machine = Machine::start_with_token(&nodes[1], "laptop", &token, &[]);
    passing.becomes(OF_RUNNERS, 1.0);
    eventually("it is online", PATIENCE, || alice.is_online("laptop").then_some(()));
    assert_eq!((home.value(OF_RUNNERS), home.value(REDIALS)), (0.0, 0.0));

    let elsewhere = alice.at(nodes[2].url());
    let mut terminal = Terminal::start(elsewhere.command(&["shell", "--on", "laptop"]), 24, 80);
    terminal.wait_raw(true);
    third.becomes(OF_CLIENTS, 1.0);
    terminal.types("exit 0\r");
    assert_eq!(terminal.ends(), 0);
    third.becomes(OF_CLIENTS, 0.0);
    assert_eq!(passing.value(OF_CLIENTS), 0.0);

    machine.stop();
    passing.becomes(OF_RUNNERS, 0.0);
    machine.restart(&nodes[2], "laptop", &token, &[]);
    home.becomes(REDIALS, 1.0);
    third.becomes(OF_RUNNERS, 1.0);

    let bob = nodes[1].person("bob");
    bob.add_runner("work");
    passing.becomes(HOMES, 1.0);
    assert_eq!((passing.value(CLAIMS), home.value(CLAIMS)), (1.0, 1.0));
}

#[test]
fn a_moved_home_is_counted_as_claimed_by_one_node_and_refused_by_the_other() {
    let cluster = Cluster::new();
    let (answer, may_answer) = std::sync::mpsc::channel::<()>();
    let may_answer = std::sync::Mutex::new(Some(may_answer));
    let asked = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::start({
        let asked = Arc::clone(&asked);
        move |_| {
            let first = may_answer.lock().unwrap().take();
            asked.fetch_add(1, Ordering::SeqCst);
            if let Some(frozen) = first {
                frozen.recv().unwrap();
            }
            Reply::Say("It is done.".to_owned())
        }
    });
    let options = model.options("openai");
    let (home, other) = (cluster.start(&options), cluster.start(&options));
    let alice = home.person("alice");
    alice.add_runner("laptop");
    let (at_home, client) = (Client::login(&home, "alice"), Client::login(&other, "alice"));
    let (here, there) = (Scraper::new(&home, "alice"), Scraper::new(&other, "alice"));
    let chat = crate::agent::new_chat(&at_home, "full");
    crate::agent::say(&at_home, &chat, "go");
    eventually("the model is asked", PATIENCE, || (asked.load(Ordering::SeqCst) == 1).then_some(()));
    assert_eq!((here.value(HOMES), here.value(CLAIMS), here.value(REFUSED)), (1.0, 1.0, 0.0));
    assert_eq!((there.value(HOMES), there.value(CLAIMS)), (0.0, 0.0));
    process::signal(home.pid(), Signal::STOP);
    answer.send(()).unwrap();
    eventually("the other node works for her", TAKEN_OVER_WITHIN + Duration::from_secs(5), || {
        (client.send("POST", "/chats", b"{}").status == 201).then_some(())
    });
    assert_eq!((there.value(HOMES), there.value(CLAIMS)), (1.0, 1.0));
    process::signal(home.pid(), Signal::CONT);
    // The answer that arrived during the freeze is recorded only by the other node.
    eventually("a change is refused", PATIENCE, || (here.value(REFUSED) >= 1.0).then_some(()));
    here.becomes(HOMES, 0.0);
    assert_eq!((here.value(CLAIMS), there.value(REFUSED)), (1.0, 0.0));
    let said =
        || messages(&client, &chat).into_iter().filter(|message| message["text"] == "It is done.").count();
    eventually("the turn ends", PATIENCE, || (said() > 0).then_some(()));
    assert_eq!(said(), 1);
}
