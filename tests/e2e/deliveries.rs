//! Webhooks in large numbers, with each kind of signature: some are sent at the same time, a fifth of them are forged or repeated, and the server is
//! killed in between. `SANDBRIDGE_DELIVERIES` sets the number; `scripts/soak` sends more.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use serde_json::{Value, json};
use sha2::Sha256;
use tests::http::Client;
use tests::random::{Random, count};
use tests::{Habits, Person, Reply, ScriptedModel, Server, eventually};

use crate::agent::messages;
use crate::automations::signature;

/// How many are sent by default.
const FEW: u64 = 300;
/// The server is killed once per this many deliveries.
const KILL_EVERY: usize = 150;
/// How many are sent at the same time.
const AT_ONCE: usize = 8;
/// The number of runs that one user's triggers get at most: less than the daily limit of 500.
const RUNS_PER_USER: usize = 400;
/// How long all runs may take to end.
const PATIENCE: Duration = Duration::from_secs(900);
/// How long the server may take to respond.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// How many reasons a refused delivery of this test can have.
const REASONS: usize = 3;
/// The address of the honest senders.
const HONEST: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// The server accepts this many refused deliveries a minute from one address.
const REFUSED_PER_MINUTE: usize = 60;

const KINDS: [&str; 4] = ["github", "standard", "gitlab", "slack"];

/// A trigger, as its sender knows it.
struct Trigger {
    owner: usize,
    name: String,
    kind: &'static str,
    path: String,
    secret: String,
}

/// What is sent.
#[derive(Clone, Copy, Debug)]
enum Plan {
    /// The genuine delivery with this number.
    Genuine(usize),
    /// Again a genuine delivery, which may still be on its way.
    Repeated(usize),
    /// A forged one: its number, the trigger, and the way in which it is forged.
    Forged { number: usize, trigger: usize, way: u64 },
}

/// A signed request.
#[derive(Clone, Debug)]
struct Signed {
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
}

/// The responses to the deliveries of a trigger.
#[derive(Debug, Default)]
struct Seen {
    taken: usize,
    taken_as_new: usize,
    refused: usize,
    /// Requests without a response: the server was killed, before or after it recorded them.
    unknown: usize,
}

fn now_s() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Signs a body as a sender of this kind does, at this time.
fn signed(kind: &str, path: &str, secret: &str, id: &str, at_s: i64, body: String) -> Signed {
    let headers = match kind {
        "github" => vec![
            ("x-hub-signature-256", format!("sha256={}", hex(&hmac(secret.as_bytes(), &body)))),
            ("x-github-event", "push".to_owned()),
        ],
        "standard" => {
            let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
            let signature = STANDARD.encode(hmac(&key, &format!("{id}.{at_s}.{body}")));
            vec![
                ("webhook-id", id.to_owned()),
                ("webhook-timestamp", at_s.to_string()),
                ("webhook-signature", format!("v1,{signature}")),
            ]
        }
        "gitlab" => vec![("x-gitlab-token", secret.to_owned()), ("idempotency-key", id.to_owned())],
        "slack" => {
            let signature = hex(&hmac(secret.as_bytes(), &format!("v0:{at_s}:{body}")));
            vec![
                ("x-slack-request-timestamp", at_s.to_string()),
                ("x-slack-signature", format!("v0={signature}")),
            ]
        }
        other => panic!("{other}"),
    };
    Signed { path: path.to_owned(), headers, body }
}

fn secret(kind: &str, salt: &str) -> String {
    match kind {
        "standard" => format!("whsec_{}", STANDARD.encode(format!("{salt} of sixteen bytes or more"))),
        _ => format!("{salt} of sixteen bytes or more"),
    }
}

impl Trigger {
    /// A delivery of the sender, whose body contains this mark.
    fn genuine(&self, mark: &str) -> Signed {
        let body = json!({"type": "message", "mark": mark}).to_string();
        signed(self.kind, &self.path, &self.secret, mark, now_s(), body)
    }

    /// A delivery of somebody who knows the address, another trigger's secret, and what the sender sent; its body contains this mark.
    fn forged(&self, mark: &str, way: u64, neighbour: &Trigger) -> Signed {
        let body = json!({"type": "message", "mark": mark}).to_string();
        let of = |secret: &str, at_s: i64| signed(self.kind, &self.path, secret, mark, at_s, body.clone());
        match (way, self.kind) {
            (0, _) => of(&secret(self.kind, "a guess"), now_s()),
            // The signature of another body.
            (1, "github" | "standard" | "slack") => {
                let headers = self.genuine("g0").headers;
                Signed { headers, ..of(&self.secret, now_s()) }
            }
            (1, _) => of(&self.secret[..self.secret.len() - 1], now_s()),
            // Ten minutes old.
            (2, "standard" | "slack") => of(&self.secret, now_s() - 600),
            (2, _) => of(&neighbour.secret, now_s()),
            _ => Signed { headers: vec![("x-github-event", "push".to_owned())], ..of(&self.secret, now_s()) },
        }
    }
}

/// Sends a request from an address of this machine; returns the status and the body of the response.
fn send(from: Ipv4Addr, server: SocketAddrV4, signed: &Signed) -> io::Result<(u16, String)> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrV4::new(from, 0))?;
    connect(&socket, &server)?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    let mut request = format!(
        "POST /api/v1{} HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        signed.path,
        signed.body.len()
    );
    for (name, value) in &signed.headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{request}\r\n{}", signed.body).as_bytes())?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let status = response.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut)?;
    let (_, body) = response.split_once("\r\n\r\n").ok_or_else(cut)?;
    Ok((status, body.to_owned()))
}

/// The mark in a request to the model, or in a message.
fn mark(text: &str) -> Option<String> {
    let rest = text.rsplit_once("mark\\\":\\\"").or_else(|| text.rsplit_once("mark\":\""))?.1;
    Some(rest.chars().take_while(char::is_ascii_alphanumeric).collect())
}

struct World {
    model: ScriptedModel,
    server: Server,
    people: Vec<Person>,
    triggers: Vec<Trigger>,
    /// The marks that the model read.
    read: Arc<Mutex<HashSet<String>>>,
}

impl World {
    fn new(people: usize) -> Self {
        let read: Arc<Mutex<HashSet<String>>> = Arc::default();
        let its_read = Arc::clone(&read);
        let habits = Habits { remembers: false, counts: false, pauses: false };
        let model = ScriptedModel::start_with(habits, move |asked| {
            its_read.lock().unwrap_or_else(PoisonError::into_inner).extend(mark(&asked.last_of_user()));
            Reply::Say("seen".to_owned())
        });
        let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
        let people: Vec<Person> = (0..people).map(|number| server.person(&format!("p{number}"))).collect();
        let mut triggers = Vec::new();
        for (owner, person) in people.iter().enumerate() {
            for kind in KINDS {
                let secret = secret(kind, &format!("{kind} {owner}"));
                let words = [
                    "trigger",
                    "add",
                    kind,
                    "Look at it.",
                    "--from",
                    kind,
                    "--secret-stdin",
                    "--new-chats",
                    "--json",
                ];
                let added = person.with_stdin(&words, format!("{secret}\n").as_bytes());
                assert_eq!(added.code, 0, "{added:?}");
                let saved: Value = serde_json::from_str(&added.stdout).unwrap();
                let path =
                    saved["delivery_path"].as_str().unwrap().strip_prefix("/api/v1").unwrap().to_owned();
                triggers.push(Trigger { owner, name: kind.to_owned(), kind, path, secret });
            }
        }
        Self { model, server, people, triggers, read }
    }

    fn address(&self) -> SocketAddrV4 {
        self.server.url().trim_start_matches("http://").parse().unwrap()
    }

    /// All runs of a trigger.
    fn runs(&self, trigger: &Trigger) -> Vec<Value> {
        let client = Client::with_token(&self.server, &self.people[trigger.owner].token());
        let mut runs: Vec<Value> = Vec::new();
        loop {
            let before = runs.last().map_or_else(String::new, |run| format!("?before={}", run["id"]));
            let page = client.call("GET", &format!("/automations/{}/runs{before}", trigger.name)).json();
            let page = page.as_array().unwrap().clone();
            if page.is_empty() {
                return runs;
            }
            runs.extend(page);
        }
    }
}

fn kill_and_restart(server: &mut Server, model: &ScriptedModel) {
    server.kill();
    server.restart(&[&["--docker", "off"], &model.options("openai")[..]].concat());
}

/// Chooses what is sent: of ten, eight are genuine, one repeats an earlier one, and one is forged.
fn plans(total: usize, triggers: usize, random: &mut Random) -> Vec<Plan> {
    let mut genuine = 0;
    let mut plan = |number: usize| match random.within(0..10) {
        0 if genuine > 0 => Plan::Repeated(genuine - 1 - random.within(0..genuine.min(40) as u64) as usize),
        1 => {
            let trigger = random.within(0..triggers as u64) as usize;
            Plan::Forged { number, trigger, way: random.within(0..4) }
        }
        _ => {
            genuine += 1;
            Plan::Genuine(genuine - 1)
        }
    };
    (0..total).map(&mut plan).collect()
}

/// Sends everything that is planned, several at once, as senders do that try again until they get a response.
struct Sending<'a> {
    server: SocketAddrV4,
    triggers: &'a [Trigger],
    plans: &'a [Plan],
    genuine: Vec<OnceLock<Signed>>,
    next: AtomicUsize,
    seen: Vec<Mutex<Seen>>,
}

impl<'a> Sending<'a> {
    fn new(server: SocketAddrV4, triggers: &'a [Trigger], plans: &'a [Plan]) -> Self {
        let genuine = plans.iter().filter(|plan| matches!(plan, Plan::Genuine(_))).count();
        Self {
            server,
            triggers,
            plans,
            genuine: (0..genuine).map(|_| OnceLock::new()).collect(),
            next: AtomicUsize::new(0),
            seen: triggers.iter().map(|_| Mutex::default()).collect(),
        }
    }

    /// The trigger that the genuine delivery with this number is for.
    fn place(&self, number: usize) -> usize {
        number % self.triggers.len()
    }

    fn genuine(&self, number: usize) -> &Signed {
        self.genuine[number].get_or_init(|| self.triggers[self.place(number)].genuine(&format!("g{number}")))
    }

    fn work(&self) {
        while let Some(plan) = self.plans.get(self.next.fetch_add(1, Ordering::SeqCst)) {
            match *plan {
                Plan::Genuine(number) | Plan::Repeated(number) => {
                    let (place, signed) = (self.place(number), self.genuine(number));
                    let (status, body) = self.until_answered(HONEST, place, signed);
                    assert_eq!(status, 202, "{plan:?}: {body}");
                    let is_repeated = serde_json::from_str::<Value>(&body).unwrap()["is_repeated"] == true;
                    let mut seen = self.seen[place].lock().unwrap();
                    seen.taken += 1;
                    seen.taken_as_new += usize::from(!is_repeated);
                }
                Plan::Forged { number, trigger, way } => {
                    let neighbour = &self.triggers[(trigger + 1) % self.triggers.len()];
                    let signed = self.triggers[trigger].forged(&format!("f{number}"), way, neighbour);
                    // Each forger has an address, so that the limit per address does not refuse them first.
                    let [.., high, low] = (number as u32).to_be_bytes();
                    let (status, body) =
                        self.until_answered(Ipv4Addr::new(127, 1, high, low), trigger, &signed);
                    assert!(status == 401 && body.contains("unauthorized"), "{plan:?}: {status} {body}");
                    self.seen[trigger].lock().unwrap().refused += 1;
                }
            }
        }
    }

    /// Sends a request until there is a response other than "later".
    fn until_answered(&self, from: Ipv4Addr, place: usize, signed: &Signed) -> (u16, String) {
        eventually("the delivery is answered", PATIENCE, || match send(from, self.server, signed) {
            Ok((429 | 503, _)) => None,
            Ok(answer) => Some(answer),
            Err(error) => {
                if error.kind() != io::ErrorKind::ConnectionRefused {
                    self.seen[place].lock().unwrap().unknown += 1;
                }
                None
            }
        })
    }
}

/// Checks the list of a trigger's runs against the responses to its deliveries; returns the chats of its runs.
fn check(trigger: &Trigger, runs: &[Value], wanted: usize, seen: &Seen) -> Vec<String> {
    let shown = format!("{} of {}: {seen:?}", trigger.name, trigger.owner);
    let times = |is_of: &dyn Fn(&Value) -> bool| -> usize {
        runs.iter().filter(|run| is_of(run)).map(|run| run["times"].as_u64().unwrap() as usize).sum()
    };
    let is_refused = |run: &Value| run["outcome"] == "refused";
    let done: Vec<&Value> = runs.iter().filter(|run| run["outcome"] == "done").collect();
    let refused = runs.iter().filter(|run| is_refused(run)).count();
    assert_eq!(done.len(), wanted, "{shown}");
    assert_eq!(done.len() + refused, runs.len(), "{shown}: {runs:?}");
    // A run that lasts over a full hour has two rows for a reason.
    assert!(refused <= 2 * REASONS, "{shown}: {refused} rows of refused deliveries");
    let on_record = (times(&is_refused), times(&|run| !is_refused(run)));
    assert!((seen.refused..=seen.refused + seen.unknown).contains(&on_record.0), "{shown}: {on_record:?}");
    assert!((seen.taken..=seen.taken + seen.unknown).contains(&on_record.1), "{shown}: {on_record:?}");
    assert!(seen.taken_as_new <= wanted, "{shown}");
    done.iter().map(|run| run["chat_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn of_many_concurrent_webhooks_the_genuine_ones_run_once_in_spite_of_kills_and_the_others_are_recorded() {
    let total = count("SANDBRIDGE_DELIVERIES", FEW) as usize;
    let mut random = Random::seeded();
    // The signatures of this test agree with those of another program.
    let checked = signed("github", "", "any secret", "", 0, "{\"n\":1}".to_owned());
    assert_eq!(checked.headers[0].1, signature("any secret", &checked.body));

    let mut world = World::new((total * 4 / 5).div_ceil(RUNS_PER_USER));
    let plans = plans(total, world.triggers.len(), &mut random);
    let sending = Sending::new(world.address(), &world.triggers, &plans);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(|| sending.work())).collect();
        for kill in 1..=total / KILL_EVERY {
            let begun =
                || (sending.next.load(Ordering::SeqCst) >= kill * KILL_EVERY - KILL_EVERY / 2).then_some(());
            eventually("half of them are sent", PATIENCE, begun);
            kill_and_restart(&mut world.server, &world.model);
        }
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    let Sending { genuine, seen, .. } = sending;
    let mut wanted: HashMap<usize, HashSet<String>> = HashMap::new();
    for number in 0..genuine.len() {
        wanted.entry(number % world.triggers.len()).or_default().insert(format!("g{number}"));
    }
    let (mut chats, mut times) = (HashSet::new(), 0);
    for (place, trigger) in world.triggers.iter().enumerate() {
        let wanted = wanted.remove(&place).unwrap_or_default();
        let client = Client::with_token(&world.server, &world.people[trigger.owner].token());
        let runs = eventually("the runs are over", PATIENCE, || {
            let runs = world.runs(trigger);
            let is_open = |run: &Value| run["outcome"] == "waiting" || run["outcome"] == "running";
            (!runs.iter().any(is_open)).then_some(runs)
        });
        let seen = seen[place].lock().unwrap();
        times += seen.refused;
        let mut marks = HashSet::new();
        for chat in check(trigger, &runs, wanted.len(), &seen) {
            let said = messages(&client, &chat);
            let roles: Vec<&str> = said.iter().map(|message| message["role"].as_str().unwrap()).collect();
            assert_eq!(roles, ["user", "assistant"], "{said:?}");
            marks.extend(mark(said[0]["text"].as_str().unwrap()));
            assert!(chats.insert(chat), "two runs posted to one chat");
        }
        assert_eq!(marks, wanted, "{}", trigger.name);
    }
    assert_eq!(chats.len(), genuine.len());
    let forged = plans.iter().filter(|plan| matches!(plan, Plan::Forged { .. })).count();
    assert_eq!(times, forged, "each forged delivery was refused");
    let read = world.read.lock().unwrap().clone();
    assert_eq!(read, (0..genuine.len()).map(|number| format!("g{number}")).collect(), "what the model read");
    println!("{total} deliveries, {} of them genuine, {forged} forged", genuine.len());
}

#[test]
fn a_flood_of_forged_webhooks_fills_no_database_and_holds_up_no_other_trigger() {
    const FLOOD: usize = 400;
    let world = World::new(1);
    let [flooded, spared, ..] = &world.triggers[..] else { panic!() };
    let sent = AtomicUsize::new(0);
    let refused = Mutex::new(HashMap::<u16, usize>::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = sent.fetch_add(1, Ordering::SeqCst);
                    if number >= FLOOD {
                        return;
                    }
                    let forged = flooded.forged(&format!("f{number}"), number as u64 % 4, spared);
                    let (status, _) = send(HONEST, world.address(), &forged).unwrap();
                    *refused.lock().unwrap().entry(status).or_default() += 1;
                }
            });
        }
    });
    let refused = refused.into_inner().unwrap();
    assert_eq!(refused.keys().collect::<HashSet<_>>(), HashSet::from([&401, &429]), "{refused:?}");
    let runs = world.runs(flooded);
    let times: u64 = runs.iter().map(|run| run["times"].as_u64().unwrap()).sum();
    assert_eq!(times as usize, refused[&401], "{runs:?}");
    assert!(runs.len() <= 2 * REASONS && refused[&401] < FLOOD / 2, "{refused:?} {runs:?}");
    // From the same address, another trigger still gets its deliveries; a genuine one to the flooded trigger has to wait.
    let (status, body) = send(HONEST, world.address(), &spared.genuine("g1")).unwrap();
    assert_eq!(status, 202, "{body}");
    let (status, body) = send(HONEST, world.address(), &flooded.genuine("g2")).unwrap();
    assert!(status == 202 || (status == 429 && body.contains("rate_limited")), "{status} {body}");
    // A stranger without an address is limited as well.
    let unknown = Signed { path: "/deliveries/0000".to_owned(), ..flooded.genuine("g3") };
    let statuses: HashSet<u16> =
        (0..2 * REFUSED_PER_MINUTE).map(|_| send(HONEST, world.address(), &unknown).unwrap().0).collect();
    assert_eq!(statuses, HashSet::from([404, 429]));
    let (status, body) = send(Ipv4Addr::new(127, 2, 0, 1), world.address(), &flooded.genuine("g4")).unwrap();
    assert_eq!(status, 202, "{body}");
}
